import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { packageRoot } from '../lib/package-info.ts';

/** The command that installs those of these packages that are missing, of the versions that were tested. Undefined = none is. */
export function missingPackages(names: readonly string[]): string | undefined {
  const { resolve } = createRequire(import.meta.url);
  const isMissing = (name: string): boolean => {
    try {
      resolve(name);
      return false;
    } catch {
      return true; // whatever is wrong with it, installing it anew is the way out
    }
  };
  const missing = names.filter(isMissing);
  if (missing.length === 0) return undefined;
  const { peerDependencies } = JSON.parse(readFileSync(join(packageRoot(), 'package.json'), 'utf8')) as {
    readonly peerDependencies: Readonly<Record<string, string>>;
  };
  return `npm install -E ${missing.map((name) => `${name}@${peerDependencies[name]}`).join(' ')}`;
}
