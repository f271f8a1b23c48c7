// the data directory -> what can go: leftovers and old copies, or with --all everything but config and logins
import { type Dirent, existsSync, lstatSync, statSync } from 'node:fs';
import { lstat, readdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { chatDirOf } from '../../../config/paths.ts';
import { GatehouseError } from '../../core/errors.ts';
import { lockDataDir } from '../../journal/lock.ts';
import { counted } from '../../lib/counted.ts';
import { isErrno } from '../../lib/errno.ts';
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
const STATE = ['journal.db', 'journal.db-wal', 'journal.db-shm', 'users', 'workspaces', 'outgoing', 'upload-days', 'chat'];

interface Found {
  readonly path: string;
  readonly bytes: number;
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
  for (const { path } of found) await remove(path);
  out.data(`${out.mark('ok')} freed ${sizeText(bytes)} in ${counted(found.length, 'place')}`);
  out.document(document);
  return EXIT.ok;
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
  return await Promise.all([...old, ...copies, ...state].map(async (path) => ({ path, bytes: await sizeOf(path) })));
}

/** Of a file, or of all files below a directory; links are not followed. */
async function sizeOf(path: string): Promise<number> {
  const found = await lstat(path);
  if (!found.isDirectory()) return found.size;
  const entries: Dirent[] = await readdir(path, { withFileTypes: true, recursive: true });
  let bytes = 0;
  for (const entry of entries) if (!entry.isDirectory()) bytes += (await lstat(join(entry.parentPath, entry.name))).size;
  return bytes;
}

async function remove(path: string): Promise<void> {
  try {
    await rm(path, { recursive: true, force: true });
  } catch (error) {
    if (!isErrno(error, 'EACCES', 'EPERM', 'EROFS')) throw error;
    throw new GatehouseError('GH1202', `${path} cannot be removed`, { hint: 'run it as the user of the daemon', cause: error });
  }
}
