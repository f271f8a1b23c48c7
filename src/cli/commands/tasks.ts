import { remainsFor } from '../../app/compose/store.ts';
import type { Authority } from '../../core/authority.ts';
import { GatehouseError } from '../../core/errors.ts';
import type { RunEvent } from '../../core/events.ts';
import { LOCAL_OPERATOR } from '../../core/job.ts';
import type { Task } from '../../core/task.ts';
import { OF_PEOPLE } from '../../core/wait.ts';
import { printable, printableBlock } from '../../lib/printable.ts';
import { TaskBook } from '../../tasks/book.ts';
import { type Command, type CommandContext, dataDirOf, readConfig } from '../context.ts';
import { countOf } from '../count-option.ts';
import { askDaemon } from '../daemon-status.ts';
import type { OpenJournal } from '../deps.ts';
import { EXIT } from '../exit-codes.ts';
import { formatDuration, formatRelative, isoTime } from '../format-time.ts';
import { formatTable } from '../output.ts';
import { withJournal } from '../read-journal.ts';
import { lineOf } from './logs.ts';

/** The person at the machine itself. What they may do is what the config says of the owner, now and later. */
export const OPERATOR: Authority = { principal: LOCAL_OPERATOR, role: 'owner', mode: 'full', policies: [] };

/** What an operator does about a task that asks. */
const ANSWER_IT = '→ gatehouse questions list, then gatehouse questions answer CODE …';

const MOST_LISTED = 50;
const TITLE_CHARS = 50;

export interface TasksListOptions {
  readonly all?: boolean;
  readonly limit?: string;
}

/** Tasks as the operator sees and changes them. A running daemon notices within a second. */
export const tasksList: Command<TasksListOptions> = async (context, { all = false, limit = String(MOST_LISTED) }) => {
  const { deps, out } = context;
  const most = countOf('--limit', limit);
  const query = { limit: most, ...(all ? {} : { isOpen: true }) };
  const tasks = (await withTasks(context, (book) => book.list(OPERATOR, query))) ?? [];
  out.document({ tasks: tasks.map(taskDocument) });
  if (tasks.length === 0) out.data(all ? 'no tasks' : 'no task is under way');
  else
    out.data(
      formatTable([
        ['NUMBER', 'STATUS', 'DONE', 'BEGUN', 'WHOSE', 'TITLE'],
        ...tasks.map((task) => cells(task, deps.clock.now())),
      ]),
    );
  await sayWithoutDaemon(context, tasks);
  if (!all) out.say('→ those that are over: gatehouse tasks list --all');
  else if (tasks.length === most) out.say(`→ the newest ${most}; --limit shows more`);
  return EXIT.ok;
};

interface Named {
  /** Number or key. */
  readonly task: string;
}

export const tasksShow: Command<Named> = async (context, { task: words }) => {
  const { deps, out } = context;
  const { task, children, isAsking } = await found(context, words, async (book, { waits }) => {
    const shown = await book.show(OPERATOR, words);
    const all = await Promise.all([shown.task, ...shown.children].map(({ number }) => waits.of(number)));
    return { ...shown, isAsking: all.flat().some(({ isOpen, kind }) => isOpen && OF_PEOPLE.includes(kind)) };
  });
  out.document({ task: taskDocument(task), children: children.map(taskDocument) });
  const now = deps.clock.now();
  out.data(`Task ${task.number}  ${printable(task.title)}`);
  out.data(`  ${statusText(task, now)}`);
  out.data(
    `  asked for by ${printable(task.principal)} ${formatRelative(task.createdAt, now)}, ran ${formatDuration(task.ranMs)}`,
  );
  if (task.keepUntil !== undefined) out.data(`  kept until ${isoTime(task.keepUntil).slice(0, 10)}`);
  if (children.length > 0) out.data(formatTable(children.map((child) => ['  part', ...cells(child, now)])));
  if (task.text !== task.title) out.data(`\n${printableBlock(task.text)}`);
  if (task.result) out.data(`\n${printableBlock(task.result.output)}`);
  await sayWithoutDaemon(context, [task]);
  if (task.status === 'failed') out.say(`→ gatehouse tasks resume ${task.number} goes on where it stopped`);
  if (isAsking) out.say(ANSWER_IT);
  return EXIT.ok;
};

export const tasksCancel: Command<Named> = async (context, { task: words }) => {
  const { out } = context;
  const task = await found(context, words, (book) => book.cancel(OPERATOR, words));
  out.document({ task: taskDocument(task) });
  const what = `${task.number} ${printable(task.title)}`;
  if (task.status === 'cancelled') out.data(`${out.mark('ok')} ${what} is cancelled, with all that it began`);
  else out.data(`${out.mark('none')} ${what} is over already: ${task.status}`);
  return EXIT.ok;
};

export const tasksResume: Command<Named> = async (context, { task: words }) => {
  const { out } = context;
  const task = await found(context, words, (book) => book.resume(OPERATOR, words));
  out.document({ task: taskDocument(task) });
  out.data(`${out.mark('ok')} ${task.number} ${printable(task.title)} goes on where it stopped`);
  await sayWithoutDaemon(context, [task]);
  return EXIT.ok;
};

export interface TasksLogsOptions extends Named {
  readonly follow?: boolean;
}

/**
 * What is recorded of a task and of what it began; with `--json` each event is one document on a line of its
 * own.
 */
export const tasksLogs: Command<TasksLogsOptions> = async (context, { task: words, follow = false }) => {
  const { out } = context;
  await found(context, words, async (book) => {
    const events = book.follow(OPERATOR, words, { signal: new AbortController().signal, waits: follow });
    for await (const entry of events) out.raw(`${out.json ? JSON.stringify(entry) : lineOf(entry.event)}\n`);
  });
  return EXIT.ok;
};

/** Shows how far a task is until it is over, then its result. Resolves with the exit code. */
export async function followTask(context: CommandContext, book: TaskBook, { number }: Task): Promise<number> {
  const { out } = context;
  const words = String(number);
  for await (const { event } of book.follow(OPERATOR, words, { signal: new AbortController().signal })) {
    const told = stepText(event);
    if (told !== undefined) out.say(`  ${told}`);
  }
  const { task } = await book.show(OPERATOR, words);
  out.document({ task: taskDocument(task) });
  if (task.result) out.data(printableBlock(task.result.output));
  const isDone = task.status === 'completed';
  if (!isDone)
    out.say(
      `${out.mark('bad', 'stderr')} task ${number} is ${task.status}${task.outcome ? ` (${printable(task.outcome)})` : ''}`,
    );
  return isDone ? EXIT.ok : EXIT.failed;
}

/** What a person who waits at a terminal wants to know; undefined = nothing. */
function stepText(event: RunEvent): string | undefined {
  switch (event.type) {
    case 'started':
      return 'begun';
    case 'model.started':
      return `asks the model (${event.iteration})`;
    case 'tool.started':
      return `uses ${printable(event.tool)}`;
    case 'parked':
      return OF_PEOPLE.some((kind) => event.kinds.split(' ').includes(kind))
        ? `waits for a person's answer ${ANSWER_IT}`
        : `waits (${event.kinds})`;
    case 'finished':
      return `over: ${printable(event.outcome)}`;
    default:
      return undefined;
  }
}

/** The tasks of a journal that is open. */
export async function bookOn({ journal }: Pick<OpenJournal, 'journal'>, context: CommandContext): Promise<TaskBook> {
  const { tasks, gateway } = (await readConfig(context)).config;
  return new TaskBook({
    ...{ journal, clock: context.deps.clock, keepDays: () => tasks.keep_days },
    reserve: Math.floor(gateway.high_water / 2),
  });
}

/** Says so where some of the tasks are not over, and no daemon works on them. */
export async function sayWithoutDaemon(context: CommandContext, tasks: readonly Task[]): Promise<void> {
  const { out } = context;
  if (tasks.every(({ finishedAt }) => finishedAt !== undefined)) return;
  if ((await askDaemon(dataDirOf(context))).kind === 'down')
    out.say(`${out.mark('warn', 'stderr')} no daemon is running: open tasks go on once you start \`gatehouse gateway\``);
}

/** What a command does with the tasks of a journal. */
type Use<T> = (book: TaskBook, journal: OpenJournal['journal']) => Promise<T>;

async function withTasks<T>(context: CommandContext, use: Use<T>): Promise<T | undefined> {
  return await withJournal(context, async (opened) => await use(await bookOn(opened, context), opened.journal), {
    remains: remainsFor(context.deps),
  });
}

async function found<T>(context: CommandContext, words: string, use: Use<T>): Promise<T> {
  let isThere = false;
  const done = await withTasks(context, async (book, journal) => {
    isThere = true;
    return await use(book, journal);
  });
  if (!isThere)
    throw new GatehouseError('GH1003', `there is no task ${printable(words.slice(0, 100))}`, { hint: 'nothing ran here yet' });
  return done as T;
}

function cells(task: Task, now: number): string[] {
  const { number, title, status, progress, createdAt, principal } = task;
  const short = title.length > TITLE_CHARS ? `${title.slice(0, TITLE_CHARS)}…` : title;
  return [String(number), status, `${progress} %`, formatRelative(createdAt, now), principal, short].map(printable);
}

function statusText({ status, progress, finishedAt, outcome }: Task, now: number): string {
  if (finishedAt === undefined) return `${status}, ${progress} %`;
  return `${status} ${formatRelative(finishedAt, now)}${outcome === undefined ? '' : ` (${printable(outcome)})`}`;
}

export function taskDocument(task: Task): Record<string, unknown> {
  const { createdAt, finishedAt, keepUntil, ...rest } = task;
  return {
    ...rest,
    createdAt: isoTime(createdAt),
    finishedAt: finishedAt === undefined ? null : isoTime(finishedAt),
    keepUntil: keepUntil === undefined ? null : isoTime(keepUntil),
  };
}
