// the data directory, in use or not -> a directory that a daemon can be started on
import { existsSync, realpathSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, isAbsolute, join, relative, resolve, sep } from 'node:path';
import { chatDirOf } from '../../../config/paths.ts';
import { errorText, GatehouseError, isGatehouseError } from '../../core/errors.ts';
import { copyDatabase } from '../../journal/backup.ts';
import { syncDirectory } from '../../lib/atomic-file.ts';
import { counted } from '../../lib/counted.ts';
import { printable } from '../../lib/printable.ts';
import { copyTree } from '../backup/copy-tree.ts';
import { type Command, type CommandContext, dataDirOf, lastConfig } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { withJournal } from '../read-journal.ts';
import { sizeText } from './sessions.ts';

/**
 * Copied by SQLite, of one process alone, half written, or a copy of before an upgrade: in the data directory
 * and in `chat/`.
 */
const NOT_COPIED = new RegExp(
  `^(${[
    ...['journal\\.db(-wal|-shm|\\.v\\d+\\.bak|\\.upgrade.*)?', 'lock\\.db.*', 'daemon\\.json', 'mcp\\.so.*'],
    ...['.*\\.new-\\d+', '\\.[0-9a-f]{16}\\.tmp', '.*\\.partial'],
  ].join('|')})$`,
);
/** A channel's own: `channels/NAME/login.db` of WhatsApp is written to with each message. */
const OF_CHANNEL = /^channels[/\\][^/\\]+[/\\][^/\\]+\.db$/;
const OF_CHANNEL_LOG = /^channels[/\\][^/\\]+[/\\][^/\\]+\.db-(wal|shm)$/;

/**
 * Copies the data directory while its daemon works: the journal as it was at one moment, then files. What was
 * said since that moment may be in a file and not in the journal; a file knows which lines it has. The copy
 * is made beside its place and takes it in one step. Rejects with GH1003 where there is nothing to copy,
 * GH1005 where something is in its place, and GH1301 where it cannot be written.
 */
export const backup: Command<{ readonly target: string }> = async (context, { target }) => {
  const { out, deps } = context;
  const dataDir = dataDirOf(context);
  const path = resolve(deps.cwd, target);
  if (!existsSync(join(dataDir, 'journal.db')))
    throw new GatehouseError('GH1003', `${dataDir} holds no journal, so there is nothing to back up`, {
      hint: 'name the data directory with --data-dir',
    });
  refusePlace(dataDir, path);
  const copied = await written(path, async (draft) => await copyAll(context, realpathSync(dataDir), draft));
  const { files, bytes, left } = copied;
  const config = await lastConfig(context);
  const isElsewhere = config !== undefined && !isBelow(config, dataDir);
  out.data(`${out.mark('ok')} ${path}: ${counted(files, 'file')}, ${sizeText(bytes)}`);
  if (isElsewhere) out.say(`the config is not in it: keep a copy of ${config}`);
  out.say('it holds conversations, keys and tokens: keep it as you keep those');
  const document = { path, files, bytes, left, ...(isElsewhere ? { config } : {}) };
  if (left.length === 0) {
    out.document(document);
    return EXIT.ok;
  }
  const message = `not in the copy: ${left.map(printable).join(', ')}`;
  out.fail({ code: 'GH1202', message, hint: 'copy by hand what you need of it; the rest is in the copy' }, document);
  return EXIT.failed;
};

function refusePlace(dataDir: string, path: string): void {
  if (existsSync(path)) throw new GatehouseError('GH1005', `${path} is there already`, { hint: 'name a directory that is not' });
  if (isBelow(path, dataDir))
    throw new GatehouseError('GH1005', `${path} is in the data directory, and would be part of the next backup`, {
      hint: 'name a directory outside of it',
    });
}

/** By where links lead; what is not there yet counts by the directory that it would be in. */
function isBelow(path: string, directory: string): boolean {
  const way = relative(realpathSync(directory), whereItLies(resolve(path)));
  return way !== '..' && !way.startsWith(`..${sep}`) && !isAbsolute(way);
}

function whereItLies(path: string): string {
  if (existsSync(path) || dirname(path) === path) return realpathSync(path);
  return join(whereItLies(dirname(path)), basename(path));
}

/** What `write` makes of a draft takes the place of `path`; nothing is left of one that fails. */
async function written<T>(path: string, write: (draft: string) => Promise<T>): Promise<T> {
  const parent = dirname(path);
  let draft: string | undefined;
  try {
    await mkdir(parent, { recursive: true });
    draft = await mkdtemp(join(parent, `.${basename(path)}.partial-`));
    const result = await write(draft);
    await syncDirectory(draft);
    await rename(draft, path);
    await syncDirectory(parent);
    return result;
  } catch (error) {
    if (draft !== undefined) await rm(draft, { recursive: true, force: true });
    if (isGatehouseError(error)) throw error;
    throw new GatehouseError('GH1301', `no backup was written to ${path}: ${errorText(error)}`, {
      hint: 'check that its directory can be written to and has room',
      cause: error,
    });
  }
}

async function copyAll(context: CommandContext, dataDir: string, draft: string) {
  // First the journals: lines that they hold no more are in the files then.
  const chat = relative(dataDir, chatDirOf(dataDir));
  const journals = [
    await copyJournal(context, dataDir, draft),
    await copyJournal(context, join(dataDir, chat), join(draft, chat)),
  ].filter((bytes) => bytes > 0);
  context.out.say('copying files …');
  const copied = await copyTree({
    from: dataDir,
    to: draft,
    takes(path) {
      const isOfProcess = ['.', chat].includes(dirname(path)) && NOT_COPIED.test(basename(path));
      return !isOfProcess && !OF_CHANNEL_LOG.test(path);
    },
    database: (path) => (OF_CHANNEL.test(path) ? copyLive(join(dataDir, path), join(draft, path)) : undefined),
  });
  const bytes = journals.reduce((sum, size) => sum + size, copied.bytes);
  return { left: copied.left, files: copied.files + journals.length, bytes };
}

async function copyLive(source: string, target: string): Promise<number> {
  await copyDatabase(source, target);
  return (await stat(target)).size;
}

/** Its size in bytes; 0 where there is none. */
async function copyJournal(context: CommandContext, from: string, to: string): Promise<number> {
  const source = join(from, 'journal.db');
  if (!existsSync(source)) return 0;
  context.out.say(`copying ${source}, ${sizeText((await stat(source)).size)} …`);
  await mkdir(to, { recursive: true, mode: 0o700 });
  const target = join(to, 'journal.db');
  await withJournal(context, (open) => open.backup(target), { dir: from });
  return (await stat(target)).size;
}
