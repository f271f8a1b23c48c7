// the data directory, in use or not -> a directory that a daemon can be started on
import { realpathSync } from 'node:fs';
import { mkdir, stat } from 'node:fs/promises';
import { basename, dirname, join, relative, resolve } from 'node:path';
import { chatDirOf } from '../../../config/paths.ts';
import { GatehouseError } from '../../core/errors.ts';
import { counted } from '../../lib/counted.ts';
import { printable } from '../../lib/printable.ts';
import { copyChannelDatabase } from '../backup/channel-database.ts';
import { copyTree } from '../backup/copy-tree.ts';
import { isBelow, refusePlace, shortened, unfinishedBeside, written } from '../backup/place.ts';
import { type Command, type CommandContext, dataDirOf, lastConfig } from '../context.ts';
import { EXIT } from '../exit-codes.ts';
import { exists, withJournal } from '../read-journal.ts';
import { shellWord } from '../shell-word.ts';
import { sizeText } from './sessions.ts';

/**
 * In the data directory and in `chat/`, by the exact names that the program gives: what SQLite copies, what
 * is of one process alone, a copy of before an upgrade, and writes that were cut off.
 */
const NOT_COPIED = new RegExp(
  `^(${[
    ...['journal\\.db(-wal|-shm|-journal)?', 'journal\\.db\\.v\\d+\\.bak(\\.partial)?'],
    ...['journal\\.db\\.upgrade(-lock)?(-journal|-wal|-shm)?', 'lock\\.db(-journal|-wal|-shm)?', '(lock|daemon)\\.json'],
    ...['(auth|config|config\\.schema)\\.json\\.new-\\d+', '\\.[0-9a-f]{16}\\.tmp'],
  ].join('|')})$`,
);
/** A channel's own: `channels/NAME/login.db` of WhatsApp is written to with each message. */
const OF_CHANNEL = /^channels[/\\][^/\\]+[/\\][^/\\]+\.db$/;
const OF_CHANNEL_LOG = /^channels[/\\][^/\\]+[/\\][^/\\]+\.db-(wal|shm)$/;

/** More of them are counted; `--json` has all. */
const MOST_NAMED = 20;

/**
 * Copies the data directory while its daemon works: the journal as it was at one moment, then files. What was
 * said since that moment may be in a file and not in the journal; a file knows which lines it has. The copy
 * is made beside its place and takes it in one step. Rejects with GH1003 where there is nothing to copy,
 * GH1005 where something is in its place, GH1202 where this user may not look, GH1301 where it cannot be
 * written, GH1302 where a journal is damaged, and GH1010 where a signal stopped it.
 */
export const backup: Command<{ readonly target: string }> = async (context, { target }) => {
  const { out, deps } = context;
  const dataDir = dataDirOf(context);
  const path = resolve(deps.cwd, target);
  if (!(await hasJournal(dataDir)))
    throw new GatehouseError('GH1003', `${dataDir} holds no journal, so there is nothing to back up`, {
      hint: 'name the data directory with --data-dir',
    });
  refusePlace(dataDir, path);
  const unfinished = await unfinishedBeside(path);
  const config = await lastConfig(context);
  const isElsewhere = config !== undefined && !isBelow(config, dataDir);
  const copied = await written(
    path,
    async (draft, stop) => await copyAll(context, { dataDir: realpathSync(dataDir), draft, stop }),
  );
  const { files, bytes, left } = copied;
  out.data(`${out.mark('ok')} ${printable(path)}: ${counted(files, 'file')}, ${sizeText(bytes)}`);
  if (isElsewhere) out.say(`the config is not in it: keep a copy of ${printable(config)}`);
  out.say('it holds conversations, keys and tokens: keep it as you keep those');
  for (const draft of unfinished)
    out.say(`a backup that was killed left this; unless one is being made there now: rm -r ${printable(shellWord(draft))}`);
  const document = { path, files, bytes, left, unfinished, ...(isElsewhere ? { config } : {}) };
  if (left.length === 0) {
    out.document(document);
    return EXIT.ok;
  }
  const message = `not in the copy: ${namesOf(left)}`;
  out.fail({ code: 'GH1202', message, hint: 'copy by hand what you need of it; the rest is in the copy' }, document);
  return EXIT.failed;
};

function namesOf(left: readonly string[]): string {
  const more = left.length - MOST_NAMED;
  const names = left.slice(0, MOST_NAMED).map(shortened).join(', ');
  return more > 0 ? `${names} and ${more} more` : names;
}

/** Rejects with the system's error where this user may not look for it or for that of `gatehouse chat`. */
async function hasJournal(dataDir: string): Promise<boolean> {
  await exists(join(chatDirOf(dataDir), 'journal.db'));
  return await exists(join(dataDir, 'journal.db'));
}

interface Copying {
  /** Without links on its way. */
  readonly dataDir: string;
  readonly draft: string;
  readonly stop: AbortSignal;
}

async function copyAll(context: CommandContext, { dataDir, draft, stop }: Copying) {
  // First the journals: lines that they hold no more are in the files then.
  const chat = relative(dataDir, chatDirOf(dataDir));
  const journals = [
    await copyJournal(context, dataDir, draft),
    await copyJournal(context, join(dataDir, chat), join(draft, chat)),
  ].filter((bytes) => bytes > 0);
  stop.throwIfAborted();
  context.out.say('copying files …');
  const copied = await copyTree({
    from: dataDir,
    to: draft,
    stop,
    takes(path) {
      const isOfProcess = ['.', chat].includes(dirname(path)) && NOT_COPIED.test(basename(path));
      return !isOfProcess && !OF_CHANNEL_LOG.test(path);
    },
    database: (path, source) => (OF_CHANNEL.test(path) ? copyChannelDatabase(source, join(draft, path)) : undefined),
  });
  const bytes = journals.reduce((sum, size) => sum + size, copied.bytes);
  return { left: copied.left, files: copied.files + journals.length, bytes };
}

/** Its size in bytes; 0 where there is none. */
async function copyJournal(context: CommandContext, from: string, to: string): Promise<number> {
  const source = join(from, 'journal.db');
  if (!(await exists(source))) return 0;
  context.out.say(`copying ${source}, ${sizeText((await stat(source)).size)}, and checking the copy …`);
  await mkdir(to, { recursive: true, mode: 0o700 });
  const target = join(to, 'journal.db');
  await withJournal(context, (open) => open.backup(target), { dir: from });
  return (await stat(target)).size;
}
