import { readFile, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import type { LockFile } from '../../src/lib/lock-closure.ts';
import { PACKAGE_LIST, renderPackageList } from '../../src/lib/package-list.ts';
import { bundle, ROOT } from './bundle.ts';

const NAMES = [
  'src/cli/main',
  // Runs in a process of its own, which imports it by its place.
  'src/journal/file-check',
  // Programs of their own that the daemon starts for each page or document.
  ...['src/tools/read-page', 'src/tools/open-document', 'src/tools/make-docx', 'src/tools/browser/driver'],
];

/** Makes the published program below `dir`: `dir/src/cli/main.js` and what it imports. */
export async function buildProgram(dir: string): Promise<void> {
  const entries = Object.fromEntries(NAMES.map((name) => [name, join(ROOT, `${name}.ts`)]));
  await bundle({ entries, dir, ending: '.js', places: 'output' });
  const lock = JSON.parse(await readFile(join(ROOT, 'package-lock.json'), 'utf8')) as LockFile;
  await writeFile(join(dir, basename(PACKAGE_LIST)), renderPackageList(lock));
}
