import { randomUUID } from 'node:crypto';
import { access, constants, copyFile, mkdir, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { NOT_LINKED } from '../../core/channel.ts';
import { GatehouseError } from '../../core/errors.ts';
import type { Address } from '../../core/message.ts';
import type { TaskRequest } from '../../core/task-request.ts';
import { readFailureText } from '../../lib/errno.ts';
import { giveToOwner } from '../../lib/give-to-owner.ts';
import { printable } from '../../lib/printable.ts';
import { UPLOADS } from '../../media/fetch-file.ts';
import { sessionWorkspace } from '../../runs/workspace.ts';
import { attachmentName } from '../../tools/attachment-name.ts';
import { type Command, type CommandContext, dataDirOf } from '../context.ts';
import { countOf } from '../count-option.ts';
import { askDaemon } from '../daemon-status.ts';
import type { OpenJournal } from '../deps.ts';
import { EXIT } from '../exit-codes.ts';
import { openOrMake } from '../read-journal.ts';
import { ownerChat } from './cron.ts';
import { bookOn, followTask, OPERATOR, sayWithoutDaemon, taskDocument } from './tasks.ts';

export interface TasksAddOptions {
  readonly words: readonly string[];
  readonly title?: string;
  readonly file: readonly string[];
  readonly channel?: string;
  readonly to?: string;
  readonly follow?: boolean;
  readonly key?: string;
  readonly keepDays?: string;
  readonly maxTokens?: string;
  readonly maxIterations?: string;
}

/** Begins a task. Its files are in its directory before the run is, which a daemon may take at once. */
export const tasksAdd: Command<TasksAddOptions> = async (context, options) => {
  const { out } = context;
  const { follow = false, file: files } = options;
  await using opened = await openOrMake(context);
  const book = await bookOn(opened, context);
  const replyTo = follow ? undefined : await answersIn(context, opened, options);
  const request = { ...requestOf(options, files.map(nameOf)), ...(replyTo ? { replyTo } : {}) };
  if (files.length > 0) {
    const { key, session } = await book.plan(request);
    // In the directory of one that began, an agent may have put a link in place of the folder.
    if (!(await opened.journal.tasks.get(key))) await copyFiles(context, files, session);
  }
  const task = await book.add(request);
  if (follow) {
    out.say(`${out.mark('ok', 'stderr')} task ${task.number}  ${printable(task.title)}`);
    await sayWithoutDaemon(context, [task]);
    return await followTask(context, book, task);
  }
  out.document({ task: taskDocument(task) });
  out.data(`${out.mark('ok')} task ${task.number}  ${printable(task.title)}`);
  if (!replyTo)
    out.say(`${out.mark('warn', 'stderr')} its result goes to no chat: \`gatehouse tasks show ${task.number}\` has it`);
  await sayWithoutDaemon(context, [task]);
  return EXIT.ok;
};

function requestOf(options: TasksAddOptions, names: readonly string[]): TaskRequest {
  const { words, title, key = randomUUID(), keepDays, maxTokens, maxIterations } = options;
  const said = words.join(' ');
  const text =
    names.length === 0
      ? said
      : `${said}\n\nFiles of this task in your workspace: ${names.map((name) => `${UPLOADS}/${name}`).join(', ')}`;
  return {
    ...{ text, client: 'cli', key, authority: OPERATOR },
    title: title ?? said,
    ...(keepDays === undefined ? {} : { keepDays: countOf('--keep-days', keepDays) }),
    ...(maxTokens === undefined ? {} : { maxTokens: countOf('--max-tokens', maxTokens) }),
    ...(maxIterations === undefined ? {} : { maxIterations: countOf('--max-iterations', maxIterations) }),
  };
}

/** One name may stand for two files: the place in the list tells them apart. */
function nameOf(path: string, place: number): string {
  const name = attachmentName(path);
  return place === 0 ? name : `${place + 1}-${name}`;
}

async function copyFiles(context: CommandContext, files: readonly string[], session: string): Promise<void> {
  const from = (path: string): string => resolve(context.deps.cwd, path);
  // Before anything is made: no task would ever take its directory away.
  for (const path of files)
    await reading(path, async () => {
      if (!(await stat(from(path))).isFile()) throw new Error('it is no file');
      await access(from(path), constants.R_OK);
    });
  const dataDir = dataDirOf(context);
  const workspace = sessionWorkspace(dataDir, session);
  const folder = join(workspace, UPLOADS);
  await mkdir(folder, { recursive: true, mode: 0o700 });
  for (const [place, path] of files.entries())
    await reading(path, async () => await copyFile(from(path), join(folder, nameOf(path, place))));
  await giveToOwner(dataDir, workspace);
}

async function reading(path: string, read: () => Promise<void>): Promise<void> {
  try {
    await read();
  } catch (error) {
    throw new GatehouseError('GH1003', `${printable(path)} cannot be read: ${readFailureText(error)}`, {
      hint: 'nothing was begun; name a file',
    });
  }
}

/** The daemon's: nothing is sent under an earlier one. Undefined: there is no login, or no channel. */
async function accountNow(context: CommandContext, channel: string): Promise<string | undefined> {
  const daemon = await askDaemon(dataDirOf(context));
  const found = daemon.kind === 'up' ? daemon.status.channels.find(({ name }) => name === channel) : undefined;
  return found?.account === NOT_LINKED ? undefined : found?.account || undefined;
}

/** Undefined = the result is kept, and no chat is told. */
async function answersIn(
  context: CommandContext,
  { journal }: OpenJournal,
  { channel, to }: TasksAddOptions,
): Promise<Address | undefined> {
  if ((channel === undefined) !== (to === undefined))
    throw new GatehouseError('GH1001', 'name --channel and --to together', { hint: '--to is the id of the chat there' });
  const { chat, channels } = await ownerChat(context);
  const wanted = channel !== undefined && to !== undefined ? { channel, chatId: to } : chat;
  if (!wanted) return undefined;
  if (!channels.includes(wanted.channel))
    throw new GatehouseError('GH1003', `there is no channel ${printable(wanted.channel)}`, {
      hint: `in the config: ${channels.join(', ')}`,
    });
  const first = await journal.chats.firstAccount(wanted.channel);
  // Known from the first message on.
  if (first !== undefined) return { ...wanted, account: (await accountNow(context, wanted.channel)) ?? first };
  if (channel === undefined) return undefined;
  throw new GatehouseError(
    'GH1003',
    `no message came in on ${printable(channel)} yet, so it is not known which account writes there`,
    {
      hint: 'write to the agent there once, or leave --channel and --to out',
    },
  );
}
