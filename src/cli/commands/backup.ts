// the data directory, in use or not -> a directory that a daemon can be started on
import { existsSync } from 'node:fs';
import { mkdir, mkdtemp, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve, sep } from 'node:path';
import { chatDirOf } from '../../../config/paths.ts';
import { errorText, GatehouseError, isGatehouseError } from '../../core/errors.ts';
import { syncDirectory } from '../../lib/atomic-file.ts';
import { counted } from '../../lib/counted.ts';
import { type Command, type CommandContext, dataDirOf, lastConfig } from '../context.ts';
import { copyTree } from '../copy-tree.ts';
import { EXIT } from '../exit-codes.ts';
import { withJournal } from '../read-journal.ts';
import { sizeText } from './sessions.ts';

/** Copied by SQLite, of one process alone, half written, or a copy of before an upgrade. */
const NOT_COPIED = /^(journal\.db(-wal|-shm|\.v\d+\.bak)?|lock\.db.*|daemon\.json|.*\.new-\d+|\.[0-9a-f]{16}\.tmp|.*\.partial)$/;

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
  refusePlace(dataDir, path);
  if (!existsSync(join(dataDir, 'journal.db')))
    throw new GatehouseError('GH1003', `${dataDir} holds no journal, so there is nothing to back up`, {
      hint: 'name the data directory with --data-dir',
    });
  const { journals, ...copied } = await written(path, async (draft) => await copyAll(context, dataDir, draft));
  const bytes = copied.bytes + journals;
  const config = await lastConfig(context);
  const isElsewhere = config !== undefined && !isBelow(config, dataDir);
  out.data(`${out.mark('ok')} ${path}: ${counted(copied.files + 1, 'file')}, ${sizeText(bytes)}`);
  if (copied.left.length > 0) out.say(`not copied, since they are no files: ${copied.left.join(', ')}`);
  if (isElsewhere) out.say(`the config is not in it: keep a copy of ${config}`);
  out.say('it holds conversations, keys and tokens: keep it as you keep those');
  out.document({ path, files: copied.files + 1, bytes, left: copied.left, ...(isElsewhere ? { config } : {}) });
  return EXIT.ok;
};

function refusePlace(dataDir: string, path: string): void {
  if (existsSync(path)) throw new GatehouseError('GH1005', `${path} is there already`, { hint: 'name a directory that is not' });
  if (isBelow(path, dataDir))
    throw new GatehouseError('GH1005', `${path} is in the data directory, and would be part of the next backup`, {
      hint: 'name a directory outside of it',
    });
}

function isBelow(path: string, directory: string): boolean {
  const way = relative(resolve(directory), resolve(path));
  return way !== '..' && !way.startsWith(`..${sep}`);
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
  // First the journals: lines that it holds no more are in the files then.
  const chat = relative(dataDir, chatDirOf(dataDir));
  const journals =
    (await copyJournal(context, dataDir, draft)) + (await copyJournal(context, join(dataDir, chat), join(draft, chat)));
  context.out.say('copying files …');
  const isTaken = (path: string): boolean => {
    const inChat = dirname(path) === chat;
    return !((dirname(path) === '.' || inChat) && NOT_COPIED.test(basename(path)));
  };
  return { ...(await copyTree(dataDir, draft, isTaken)), journals };
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
