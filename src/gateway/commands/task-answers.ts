// /task and /tasks -> what is answered at once, and the rows that come with it in commit 1
import { addressOf } from '../../core/address.ts';
import { GatehouseError, isGatehouseError } from '../../core/errors.ts';
import { chatKey } from '../../core/ids.ts';
import type { InboundMessage } from '../../core/message.ts';
import type { Task } from '../../core/task.ts';
import type { TaskRequest } from '../../core/task-request.ts';
import { nameInMark } from '../../lib/marks.ts';
import { oneLine } from '../../lib/one-line.ts';
import { plainName } from '../../lib/plain-name.ts';
import type { Prompted, PromptPorts, TaskCommand } from './command.ts';
import type { Conversation } from './conversation.ts';

/** A list in a chat is for finding one. */
const MOST_LISTED = 15;
const TITLE_CHARS = 80;
const TEXT_CHARS = 500;
const RESULT_CHARS = 3_000;

/** Decides only: the commit of the message makes it true, once, however often it is delivered. */
export async function answerTask(command: TaskCommand, at: Conversation, ports: PromptPorts): Promise<Prompted> {
  const outcome = command.kind;
  try {
    const rows = command.kind === 'task' ? await started(command.text, at, ports) : await asked(command, at, ports);
    return { outcome, ...rows };
  } catch (error) {
    if (!isGatehouseError(error) || !REFUSALS.includes(error.code)) throw error;
    const { message: reason, hint } = error;
    const text = `${reason[0]?.toUpperCase()}${reason.slice(1)}: ${hint}. Nothing was changed.`;
    return { outcome, parts: ports.answer(at.message, text) };
  }
}

type Rows = Omit<Prompted, 'outcome'>;

const REFUSALS: readonly string[] = ['GH1003', 'GH1710', 'GH1711'];

async function started(text: string, { message, session }: Conversation, options: PromptPorts): Promise<Rows> {
  const { authority, taint } = await options.standing(message);
  const run = await options.tasks.plan({
    ...{ text, client: 'chat', key: message.id, authority, taint, session, replyTo: addressOf(message) },
    ...fromOf(message, text),
  });
  const title = titleOf(run.record?.title ?? '');
  const said = (number: number): string =>
    `Task ${number} “${title}” is on its way; its result comes here. \`/tasks\` shows how far it is, \`/tasks cancel ${number}\` ends it.`;
  return {
    parts: [],
    writes: [{ kind: 'run', run }],
    partsAfter: (number) => options.answer(message, said(number(run.key))),
  };
}

/** What of the message the words alone do not say: its files, and what it is a reply to. */
function fromOf(message: InboundMessage, text: string): Pick<TaskRequest, 'from'> {
  if (message.media.length === 0 && !message.replyTo) return {};
  const gone = message.text.lastIndexOf(text);
  const marks = message.marks?.filter(([from]) => from >= gone).map(([from, to]) => [from - gone, to - gone] as const);
  const { marks: _marks, ...rest } = message;
  return { from: { ...rest, text, ...(marks && marks.length > 0 ? { marks } : {}) } };
}

async function asked(
  { act, number = '' }: Extract<TaskCommand, { readonly kind: 'tasks' }>,
  { message }: Conversation,
  { tasks, standing, answer }: PromptPorts,
): Promise<Rows> {
  const { authority } = await standing(message);
  if (act === 'list') {
    // In a group only what was asked for there: others read along.
    const here = message.isGroup ? { chat: addressOf(message) } : {};
    const open = await tasks.list(authority, { ...here, isOpen: true, limit: MOST_LISTED });
    const newest = await tasks.list(authority, { ...here, limit: MOST_LISTED });
    const over = newest.filter((task) => open.every((other) => other.number !== task.number));
    return { parts: answer(message, listText([...open, ...over].slice(0, MOST_LISTED))) };
  }
  const { task, children } = await tasks.show(authority, number);
  if (message.isGroup) await mustBeOfChat(task, message, (parent) => tasks.show(authority, String(parent)));
  const name = `Task ${task.number} “${titleOf(task.title)}”`;
  if (act === 'show') return { parts: answer(message, showText(task, children)) };
  if (act === 'resume') {
    if (task.status !== 'failed') return { parts: answer(message, `${name} is ${said(task)}, and did not fail.`) };
    const { key } = await tasks.planResume(authority, number);
    return { parts: answer(message, `${name} goes on where it stopped.`), writes: [{ kind: 'resume', run: key }] };
  }
  return {
    parts: answer(message, `${name} is over already: ${said(task)}.`),
    cancels: { where: { run: task.key }, parts: () => answer(message, `🛑 ${name} is cancelled.`) },
  };
}

/**
 * Rejects with GH1003 for the task of another chat, and for what a turn began. What a task began is of the
 * chat of that task.
 */
async function mustBeOfChat(
  task: Task,
  message: InboundMessage,
  show: (number: number) => Promise<{ readonly task: Task }>,
): Promise<void> {
  const { number } = task;
  let root = task;
  try {
    while (root.parent !== undefined) root = (await show(root.parent)).task;
  } catch (cause) {
    // A turn is no task. Its number was not asked for.
    if (!isGatehouseError(cause) || cause.code !== 'GH1003') throw cause;
    throw new GatehouseError('GH1003', `there is no task ${number} here`, { hint: '`/tasks` shows what there is', cause });
  }
  if (root.replyTo && chatKey(root.replyTo) === chatKey(message)) return;
  const hint = 'ask about it in the chat it was started in';
  throw new GatehouseError('GH1003', `task ${number} does not belong to this chat`, { hint });
}

const SIGNS: Readonly<Record<Task['status'], string>> = {
  pending: '⏳',
  running: '▶️',
  waiting_input: '❓',
  waiting_subagents: '⏸️',
  completed: '✅',
  failed: '⚠️',
  cancelled: '🛑',
};

function listText(tasks: readonly Task[]): string {
  if (tasks.length === 0) return 'There are no tasks. `/task WHAT` begins one.';
  const lines = tasks.map((task) => `${SIGNS[task.status]} ${task.number} “${titleOf(task.title)}” – ${said(task)}`);
  return [...lines, '', '`/tasks NUMBER` shows one, `/tasks cancel NUMBER` ends it.'].join('\n');
}

function showText(task: Task, children: readonly Task[]): string {
  const { number, title, text, result } = task;
  return [
    `${SIGNS[task.status]} Task ${number} “${titleOf(title)}” – ${said(task)}`,
    ...(text === title ? [] : [`Asked: ${plainName(oneLine(text, TEXT_CHARS))}`]),
    ...children.map((child) => `- ${SIGNS[child.status]} ${child.number} “${titleOf(child.title)}” – ${said(child)}`),
    ...(result ? ['', cut(result.output)] : []),
    ...(task.status === 'failed' ? ['', `\`/tasks resume ${number}\` goes on where it stopped.`] : []),
  ].join('\n');
}

function cut(text: string): string {
  return text.length <= RESULT_CHARS ? text : `${text.slice(0, RESULT_CHARS)}…`;
}

/** Its status in words. */
function said({ status, progress }: Task): string {
  if (status === 'waiting_input') return 'waits for an answer';
  if (status === 'waiting_subagents') return `waits for what it began, ${progress} %`;
  return status === 'running' ? `running, ${progress} %` : status;
}

function titleOf(title: string): string {
  return nameInMark(title, { limit: TITLE_CHARS });
}
