// the data directory -> what can go: leftovers and old copies, or with --all everything but config and logins
import { existsSync, lstatSync, statSync } from 'node:fs';
import { lstat, readdir, readlink } from 'node:fs/promises';
import { join } from 'node:path';
import { chatDirOf } from '../../../config/paths.ts';
import { errorText, GatehouseError } from '../../core/errors.ts';
import { lockDataDir } from '../../journal/lock.ts';
import { counted } from '../../lib/counted.ts';
import { isErrno } from '../../lib/errno.ts';
import { removeTree } from '../../lib/remove-tree.ts';
import { type Command, type CommandContext, dataDirOf } from '../context.ts';
import { oldLeftovers } from '../doctor/files.ts';
import { EXIT } from '../exit-codes.ts';
import { formatTable } from '../output.ts';
import { confirmed } from '../questions.ts';
import { sizeText } from './sessions.ts';

export interface CleanOptions {
  /** Conversations and all state of work, too. */
  readonly all?: boolean;
  readonly dryRun?: boolean;
  readonly yes?: boolean;
}

/** The file of before an upgrade (`journal/upgrade.ts`). */
const OLD_COPY = /^journal\.db\.v\d+\.bak$/;
/** State of work, and what people said and sent. Not here: config, logins, tool settings, packages. */
const STATE = [
  ...['journal.db', 'journal.db-wal', 'journal.db-shm', 'users', 'workspaces', 'outgoing', 'upload-days', 'chat'],
  // Where an earlier version kept conversations; one that was not opened since still lies there.
  'sessions',
  // What was typed on the terminal.
  'history',
];
/** The daemon, or a command, has made at least one of these in a directory of its own. */
const MARKS = ['journal.db', 'lock.db', 'auth.json'];

interface Found {
  readonly path: string;
  readonly bytes: number;
  /** It is a link, and what it leads to stays. */
  readonly leadsTo?: string;
}

/**
 * Removes what the daemon does not miss: files of writes that were cut off, and copies of before an upgrade.
 * With `all` also every conversation, file and record; what would have to be typed again stays. Asks before,
 * and rejects with GH1201 while a daemon runs.
 */
export const clean: Command<CleanOptions> = async (context, { all = false, dryRun = false, yes = false }) => {
  const { out, deps } = context;
  const dataDir = dataDirOf(context);
  if (!existsSync(dataDir)) return nothing(context, dataDir, dryRun);
  if (!statSync(dataDir).isDirectory())
    throw new GatehouseError('GH1202', `${dataDir} is no directory`, { hint: 'name the data directory with --data-dir' });
  const names = await readdir(dataDir);
  if (names.length > 0 && !MARKS.some((mark) => names.includes(mark)))
    throw new GatehouseError('GH1005', `${dataDir} holds no journal, lock or login: it is no data directory`, {
      hint: 'name the data directory with --data-dir',
    });
  await using _lock = dryRun ? undefined : await lockDataDir(dataDir, deps.clock);
  await using _chat =
    dryRun || !isOwnDirectory(chatDirOf(dataDir)) ? undefined : await lockDataDir(chatDirOf(dataDir), deps.clock);
  const found = await removable(context, dataDir, all);
  if (found.length === 0) return nothing(context, dataDir, dryRun);
  const bytes = found.reduce((sum, one) => sum + one.bytes, 0);
  out.data(formatTable(found.map((one) => [one.path, sizeText(one.bytes)])));
  const document = { dryRun, dataDir, removed: dryRun ? [] : found, bytes };
  if (dryRun) {
    out.data(`would free ${sizeText(bytes)}; nothing was removed`);
    out.document({ ...document, would: found });
    return EXIT.ok;
  }
  if (!(yes || (await confirmed(context, `remove ${all ? 'every conversation with its files' : 'these'}?`)))) return EXIT.failed;
  const failed = await removeAll(found);
  const removed = found.filter(({ path }) => !failed.has(path));
  const freed = removed.reduce((sum, one) => sum + one.bytes, 0);
  if (removed.length > 0 || failed.size === 0)
    out.data(`${out.mark('ok')} freed ${sizeText(freed)} in ${counted(removed.length, 'place')}`);
  for (const { path, leadsTo } of removed)
    if (leadsTo !== undefined) out.say(`${path} was a link; what it led to stays: ${leadsTo}`);
  if (failed.size === 0) {
    out.document({ ...document, removed, bytes: freed });
    return EXIT.ok;
  }
  const left = [...failed].map(([path, why]) => ({ path, why }));
  const message = `not removed: ${left.map(({ path, why }) => `${path} (${why})`).join(', ')}`;
  const hint = 'see whose it is with `ls -l`, and run it as that user; the rest is removed';
  out.fail({ code: 'GH1202', message, hint }, { ...document, removed, bytes: freed, left });
  return EXIT.failed;
};

/** Nothing is written through a link that leads elsewhere. */
function isOwnDirectory(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() === true;
}

function nothing({ out }: CommandContext, dataDir: string, dryRun: boolean): number {
  out.data(`there is nothing to remove in ${dataDir}`);
  out.document({ dryRun, dataDir, removed: [], bytes: 0, ...(dryRun ? { would: [] } : {}) });
  return EXIT.ok;
}

async function removable({ deps }: CommandContext, dataDir: string, all: boolean): Promise<readonly Found[]> {
  const names = await readdir(dataDir);
  const old = await oldLeftovers(dataDir, deps.clock.now());
  const copies = names.filter((name) => OLD_COPY.test(name)).map((name) => join(dataDir, name));
  const state = all ? STATE.filter((name) => names.includes(name)).map((name) => join(dataDir, name)) : [];
  return await Promise.all([...old, ...copies, ...state].map(found));
}

async function found(path: string): Promise<Found> {
  const leadsTo = await readlink(path).catch(() => undefined);
  return { path, bytes: await sizeOf(path), ...(leadsTo === undefined ? {} : { leadsTo }) };
}

/** Of a file, or of all files below a directory, as far as this user may look; links are not followed. */
async function sizeOf(path: string): Promise<number> {
  try {
    const about = await lstat(path);
    if (!about.isDirectory()) return about.size;
    const names = await readdir(path);
    const sizes = await Promise.all(names.map((name) => sizeOf(join(path, name))));
    return sizes.reduce((sum, size) => sum + size, 0);
  } catch (error) {
    if (isErrno(error, 'EACCES', 'EPERM', 'ENOENT')) return 0;
    throw error;
  }
}

/** What could not be removed, and why. */
async function removeAll(found: readonly Found[]): Promise<ReadonlyMap<string, string>> {
  const failed = new Map<string, string>();
  for (const { path } of found) {
    await removeTree(path).catch((error: unknown) => {
      const isDenied = isErrno(error, 'EACCES', 'EPERM');
      failed.set(path, isDenied ? 'this user may not' : errorText(error));
    });
  }
  return failed;
}
