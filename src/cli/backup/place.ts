// Where the copy is made: beside its place, which it takes in one step
import { existsSync, lstatSync, readdirSync, realpathSync } from 'node:fs';
import { mkdir, mkdtemp, readdir, rename, rm } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { errorText, GatehouseError, isGatehouseError } from '../../core/errors.ts';
import { syncDirectory } from '../../lib/atomic-file.ts';
import { printable } from '../../lib/printable.ts';

const PARTIAL = '.partial-';
/** What `mkdtemp` makes of it. */
const DRAFT = /^\..+\.partial-[A-Za-z0-9]{6}$/;

/** Throws GH1005 where something has the place, and where the copy would become a part of what it copies. */
export function refusePlace(dataDir: string, path: string): void {
  const shown = printable(path);
  if (isThere(path)) throw new GatehouseError('GH1005', `${shown} is there already`, { hint: 'name a directory that is not' });
  if (isBelow(path, dataDir))
    throw new GatehouseError('GH1005', `${shown} is in the data directory, and would be part of the next backup`, {
      hint: 'name a directory outside of it',
    });
  const link = linkedDirectories(dataDir).find((each) => isBelow(path, each));
  if (link !== undefined)
    throw new GatehouseError('GH1005', `${shown} is in what ${printable(link)} leads to, and would be part of the next backup`, {
      hint: 'name a directory outside of it',
    });
}

/** Also a link that leads nowhere. Where this cannot be known, nothing can be written either. */
function isThere(path: string): boolean {
  try {
    return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
  } catch {
    return false;
  }
}

/** State that links put on another disk: `copyTree` follows them. */
function linkedDirectories(dataDir: string): readonly string[] {
  return readdirSync(dataDir)
    .map((name) => join(dataDir, name))
    .filter((path) => lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink() && existsSync(join(path, '.')))
    .filter((path) => !isBelow(dataDir, path));
}

/** By where links lead; what is not there yet counts by the directory that it would be in. */
export function isBelow(path: string, directory: string): boolean {
  const way = relative(realpathSync(directory), whereItLies(resolve(path)));
  return way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

function whereItLies(path: string): string {
  if (existsSync(path) || dirname(path) === path) return realpathSync(path);
  return join(whereItLies(dirname(path)), basename(path));
}

/** Not SIGHUP: under `nohup` a backup goes on. */
const SIGNALS = ['SIGINT', 'SIGTERM'] as const;

/** The first signal stops the work, so that its draft is removed; a second one ends the process as ever. */
function untilSignalled(): Disposable & { readonly stop: AbortSignal } {
  const stop = new AbortController();
  const onSignal = (signal: NodeJS.Signals): void =>
    stop.abort(new GatehouseError('GH1010', `${signal} stopped the backup, and nothing was written`));
  for (const name of SIGNALS) process.once(name, onSignal);
  return {
    stop: stop.signal,
    [Symbol.dispose]: () => {
      for (const name of SIGNALS) process.off(name, onSignal);
    },
  };
}

/**
 * What `write` makes of a draft takes the place of `path`; nothing is left of one that fails or that a signal
 * stops. Rejects with GH1010 after a signal, with GH1301 where the draft cannot be written or, as the message
 * says, where it is in its place and the disk does not confirm that; else as `write` does.
 */
export async function written<T>(
  path: string,
  write: (draft: string, stop: AbortSignal) => Promise<T>,
  sync = syncDirectory,
): Promise<T> {
  const parent = dirname(path);
  const result = await inPlace(path, async (draft, stop) => {
    const done = await write(draft, stop);
    await sync(draft);
    stop.throwIfAborted();
    await rename(draft, path);
    return done;
  });
  try {
    await sync(parent);
  } catch (error) {
    const about = `${printable(path)} is written, but the disk did not confirm its name: ${shortened(errorText(error))}`;
    throw new GatehouseError('GH1301', about, { hint: 'call `sync`, and look whether it is still there', cause: error });
  }
  return result;
}

async function inPlace<T>(path: string, write: (draft: string, stop: AbortSignal) => Promise<T>): Promise<T> {
  using signals = untilSignalled();
  let draft: string | undefined;
  try {
    await mkdir(dirname(path), { recursive: true });
    draft = await mkdtemp(join(dirname(path), `.${basename(path)}${PARTIAL}`));
    return await write(draft, signals.stop);
  } catch (error) {
    if (draft !== undefined) await rm(draft, { recursive: true, force: true });
    if (isGatehouseError(error)) throw error;
    throw new GatehouseError('GH1301', `no backup was written to ${printable(path)}: ${shortened(errorText(error))}`, {
      hint: 'check that its directory can be written to and has room',
      cause: error,
    });
  }
}

/** Drafts of backups that were killed, beside `path`; also one that another process is writing. */
export async function unfinishedBeside(path: string): Promise<readonly string[]> {
  const parent = dirname(path);
  const names = await readdir(parent).catch(() => []);
  return names
    .filter((name) => DRAFT.test(name))
    .map((name) => join(parent, name))
    .filter((draft) => ['journal.db', 'journal.db.partial'].some((name) => existsSync(join(draft, name))));
}

/** A path of 4,096 characters hides what is said of it. */
export function shortened(text: string): string {
  const half = 70;
  return text.length <= 2 * half ? printable(text) : `${printable(text.slice(0, half))}…${printable(text.slice(-half))}`;
}
