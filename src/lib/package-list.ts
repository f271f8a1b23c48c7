import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { type LockFile, lockClosure } from './lock-closure.ts';
import { OPTIONAL_PACKAGES } from './optional-packages.ts';
import { packageRoot } from './package-info.ts';

/** Below `dist`: npm publishes no package-lock.json. */
export const PACKAGE_LIST = 'dist/optional-packages.json';

/** What may be installed later, with all that it needs: exact versions and digests. */
export function packageList(root = packageRoot()): LockFile {
  const published = join(root, PACKAGE_LIST);
  const lock = join(root, 'package-lock.json');
  return JSON.parse(readFileSync(existsSync(lock) ? lock : published, 'utf8')) as LockFile;
}

/** The text of `PACKAGE_LIST`, from the lock of a checkout. */
export function renderPackageList(lock: LockFile): string {
  const roots = Object.values(OPTIONAL_PACKAGES).flatMap((sets) => Object.values(sets).flat());
  return `${JSON.stringify({ packages: lockClosure(lock, roots) }, null, 1)}\n`;
}
