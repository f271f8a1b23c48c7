/**
 * Runs once before the tests (`globalSetup` of vitest.config.ts), and before a sweep, and puts the program
 * together into a few files, which `startChild` and the sweep run in place of the sources: two fifths of the
 * CPU of a start went into finding and linking 500 modules. The code is that of the sources, and what a module is told of its own place
 * (`import.meta`) stays true. Kept from run to run until a source changes.
 */
import { createHash } from 'node:crypto';
import { globSync, statSync } from 'node:fs';
import { mkdir, readdir, rename, rm, stat, utimes } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { pathToFileURL } from 'node:url';

const ROOT = join(import.meta.dirname, '../..');
/** Below node_modules, where the imports of packages lead to the same files. Checkouts may share it. */
const BUILDS = join(ROOT, 'node_modules/.cache/gatehouse-daemon');
const DAY_MS = 24 * 60 * 60_000;
const ENTRIES = {
  main: join(ROOT, 'src/cli/main.ts'),
  'fault-daemon': join(ROOT, 'src/testing/fault-daemon.ts'),
  'sweep-daemon': join(ROOT, 'src/testing/sweep/daemon.ts'),
};

/** What is put together: our own modules, and the 95 of zod. Other packages are imported where they lie. */
const INSIDE = /^[./]|^zod(\/|$)/;

/** Names the directory in the environment of the workers. */
export async function setup(): Promise<void> {
  const directory = await builtDaemon();
  if (directory !== undefined) process.env['GATEHOUSE_BUILT'] = directory;
}

/** The directory with the programs put together, one file for each entry; undefined where that fails. */
export async function builtDaemon(): Promise<string | undefined> {
  const directory = join(BUILDS, sourcesHash());
  try {
    if (!(await exists(directory))) await build(directory);
    const now = new Date();
    await utimes(directory, now, now);
    await removeUnused(now.getTime() - DAY_MS);
    return directory;
  } catch (error) {
    process.stderr.write(`the program was not put together, daemons run from their sources: ${String(error)}\n`);
    return undefined;
  }
}

function sourcesHash(): string {
  const hash = createHash('sha256');
  const files = globSync(['{src,channels,config,sessions}/**/*.{ts,mjs,json}', 'package-lock.json'], { cwd: ROOT }).sort();
  for (const file of files) {
    const { mtimeMs, size } = statSync(join(ROOT, file));
    hash.update(`${join(ROOT, file)}\n${mtimeMs}\n${size}\n`);
  }
  return hash.digest('hex').slice(0, 32);
}

async function build(directory: string): Promise<void> {
  // Here, because only the first run after a change needs it.
  const { rolldown } = await import('rolldown');
  const bundle = await rolldown({
    input: ENTRIES,
    cwd: ROOT,
    platform: 'node',
    treeshake: false,
    external: (id: string) => !INSIDE.test(id),
    plugins: [{ name: 'place', transform: withPlace }],
  });
  const unfinished = `${directory}.${process.pid}`;
  await mkdir(unfinished, { recursive: true });
  await bundle.write({ dir: unfinished, format: 'esm', entryFileNames: '[name].mjs', chunkFileNames: '[name]-[hash].mjs' });
  await bundle.close();
  // Another run of the same sources may have been quicker.
  await rename(unfinished, directory).catch(async (error: unknown) => {
    await rm(unfinished, { recursive: true, force: true });
    if (!(await exists(directory))) throw error;
  });
}

/** A module that asks where it lies is told the place of its source. */
function withPlace(code: string, id: string): string | undefined {
  if (!code.includes('import.meta.')) return undefined;
  return code
    .replaceAll('import.meta.dirname', JSON.stringify(dirname(id)))
    .replaceAll('import.meta.filename', JSON.stringify(id))
    .replaceAll('import.meta.url', JSON.stringify(pathToFileURL(id).href));
}

async function removeUnused(before: number): Promise<void> {
  for (const name of await readdir(BUILDS)) {
    const path = join(BUILDS, name);
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
