/**
 * The program of this checkout in a few files, kept until a source changes: for `npm start`, for daemons that
 * tests start, and for the sweep. The code is that of the sources, and what a module is told of its own place
 * (`import.meta`) is the place of its source.
 */
import { createHash } from 'node:crypto';
import { readdirSync, statSync } from 'node:fs';
import { mkdir, readdir, rename, rm, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { bundle, ROOT } from './bundle.ts';

/** Below node_modules, where the imports of packages lead to the same files. Checkouts may share it. */
const KEPT = join(ROOT, 'node_modules/.cache/gatehouse');
/** Of a bundle that nothing uses. */
const KEPT_MS = 2 * 24 * 60 * 60_000;
const ENTRIES = {
  main: join(ROOT, 'src/cli/main.ts'),
  'fault-daemon': join(ROOT, 'src/testing/fault-daemon.ts'),
  'sweep-daemon': join(ROOT, 'src/testing/sweep/daemon.ts'),
};
const SOURCES = ['src', 'channels', 'config', 'sessions', 'scripts/bundle'];
const SOURCE = /\.(?:ts|mjs|json)$/;
const SUITE = /\.test\.ts$/;

/**
 * The directory with `main.mjs`, `fault-daemon.mjs` and `sweep-daemon.mjs`. To put them together takes half
 * a second after a change. Rejects where that fails: in an installation without what only development needs,
 * or where `node_modules` cannot be written.
 */
export async function keptBundle(): Promise<string> {
  const directory = join(KEPT, sourcesHash());
  if (await exists(directory)) {
    await keepLonger(directory);
    return directory;
  }
  const unfinished = `${directory}.${process.pid}`;
  await mkdir(unfinished, { recursive: true });
  try {
    await bundle({ entries: ENTRIES, dir: unfinished, ending: '.mjs', places: 'source' });
    await rename(unfinished, directory);
  } catch (error) {
    await rm(unfinished, { recursive: true, force: true });
    // Another run of the same sources may have been quicker.
    if (!(await exists(directory))) throw error;
  }
  await removeUnused(Date.now() - KEPT_MS);
  return directory;
}

/** Call it at least once a day for a bundle in use: what is loaded on demand is read later. */
export async function keepLonger(directory: string): Promise<void> {
  const now = new Date();
  await utimes(directory, now, now);
}

/** Of the paths, times and sizes of all sources: it takes a fiftieth of a second. */
function sourcesHash(): string {
  const hash = createHash('sha256');
  const add = (path: string): void => {
    const { mtimeMs, size } = statSync(path);
    hash.update(`${path}\n${mtimeMs}\n${size}\n`);
  };
  const walk = (directory: string): void => {
    const found = readdirSync(directory, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1));
    for (const entry of found) {
      const path = `${directory}/${entry.name}`;
      if (entry.isDirectory()) walk(path);
      else if (SOURCE.test(entry.name) && !SUITE.test(entry.name)) add(path);
    }
  };
  for (const directory of SOURCES) walk(join(ROOT, directory));
  add(join(ROOT, 'package-lock.json'));
  return hash.digest('hex').slice(0, 32);
}

async function removeUnused(before: number): Promise<void> {
  for (const name of await readdir(KEPT)) {
    const path = join(KEPT, name);
    const { mtimeMs } = await stat(path).catch(() => ({ mtimeMs: before }));
    if (mtimeMs < before) await rm(path, { recursive: true, force: true });
  }
}

async function exists(path: string): Promise<boolean> {
  return await stat(path).then(
    () => true,
    () => false,
  );
}
