import { existsSync, readFileSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** The directory of our package.json, in a checkout or an installed package, from `src` as from `dist`. */
export function packageRoot(): string {
  let directory = import.meta.dirname;
  while (!existsSync(join(directory, 'package.json'))) {
    const parent = dirname(directory);
    if (parent === directory) throw new Error('package.json of gatehouse is missing');
    directory = parent;
  }
  return directory;
}

/** The version in package.json. */
export function packageVersion(): string {
  const { version } = JSON.parse(readFileSync(join(packageRoot(), 'package.json'), 'utf8')) as { version: string };
  return version;
}
