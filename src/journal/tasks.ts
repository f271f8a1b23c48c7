/** Tasks as people see them: the view `task` with what it leaves out. */
import type { Address } from '../core/message.ts';
import type { Profile } from '../core/new-run.ts';
import type { Task, TaskQuery, TaskRows, TaskStatus } from '../core/task.ts';
import type { ToolResult } from '../core/tool.ts';
import type { CommitQueue } from './commit-queue.ts';
import { LIMIT } from './database.ts';
import { readJson, type Store } from './store.ts';

interface TaskRecord {
  readonly seq: number;
  readonly key: string;
  readonly title: string | null;
  readonly status: TaskStatus;
  readonly progress: number;
  readonly profile: Profile;
  readonly text: string | null;
  readonly principal: string;
  readonly session: string;
  readonly workspace: string | null;
  readonly reply_to: string | null;
  readonly parent: number | null;
  readonly accepted_at: number;
  readonly finished_at: number | null;
  readonly keep_until: number | null;
  readonly ran_ms: number;
  readonly outcome: string | null;
  readonly result: string | null;
}

/** A sub-agent is called what people are told of it. */
const COLUMNS = `run.seq, run.key, coalesce(run.title, run.input ->> '$.child.label') AS title, task.status,
  -- Over, and not done: as far as it came.
  iif(task.status = 'cancelled', coalesce(run.progress, 0), task.progress) AS progress,
  run.profile, run.input ->> '$.text' AS text, run.principal, run.session, run.workspace, run.reply_to, run.parent, run.accepted_at, run.finished_at, run.keep_until, run.ran_ms, run.outcome,
  run.result`;
/** The same row of the view: a key may come again once its row was purged. */
const FROM = 'FROM run JOIN task ON task.id = run.key AND task.created_at = run.accepted_at';
/** In the words of the index `run_profile`, which holds no conversations. */
const TASKS = "run.profile <> 'session' AND run.profile = 'task'";
const OPEN = "run.state IN ('NEW', 'RUNNING', 'PARKED')";
const OVER = "run.state IN ('DONE', 'DEAD')";
const IN_CHAT = `(run.reply_to ->> '$.channel') = ? AND (run.reply_to ->> '$.account') = ? AND (run.reply_to ->> '$.chatId') = ?`;

/** For `Journal.tasks`. */
export function readTasks(store: Store, queue: CommitQueue): TaskRows {
  return {
    list: (query) => queue.read(() => listTasks(store, query)),
    get: (numberOrKey) => queue.read(() => getTask(store, numberOrKey)),
    children: (number) => queue.read(() => select(store, "run.parent = ? AND run.profile <> 'session' ORDER BY run.seq", number)),
    countOpen: (principal) => queue.read(() => countOpen(store, principal)),
    taintTold: (chat, platformId) => queue.read(() => taintTold(store, chat, platformId)),
  };
}

/**
 * Those behind `after` whose time to be kept is over, oldest first: by aging time, so that a clock that is
 * ahead takes nothing.
 */
export function expiredTasks(store: Store, after: number, limit: number): readonly Task[] {
  const where = `${TASKS} AND ${OVER} AND run.seq > ? AND run.keep_until < ? AND NOT EXISTS (${UNDER_WAY})
    ORDER BY run.seq ${LIMIT}`;
  return select(store, where, after, store.aging.cut(0), limit);
}

/**
 * What a task began that still runs, and what tells of it: background sub-agents outlive it and
 * use its files.
 */
const UNDER_WAY = `WITH RECURSIVE tree(id) AS (
    SELECT child.seq FROM run AS child WHERE child.parent = run.seq UNION
    SELECT child.seq FROM run AS child JOIN tree ON child.parent = tree.id)
  SELECT 1 FROM tree CROSS JOIN run AS begun ON begun.seq = tree.id WHERE begun.state IN ('NEW', 'RUNNING', 'PARKED')`;

function listTasks(store: Store, { principal, chat, isOpen = false, limit }: TaskQuery): readonly Task[] {
  const [where, values] = [[TASKS], [] as (string | number)[]];
  if (isOpen) where.push(OPEN);
  if (principal !== undefined) {
    where.push('run.principal = ?');
    values.push(principal);
  }
  if (chat !== undefined) {
    where.push(IN_CHAT);
    values.push(chat.channel, chat.account, chat.chatId);
  }
  return select(store, `${where.join(' AND ')} ORDER BY run.seq DESC ${LIMIT}`, ...values, limit);
}

function getTask(store: Store, numberOrKey: number | string): Task | undefined {
  const is = typeof numberOrKey === 'number' ? 'run.seq = ?' : 'run.key = ?';
  const [task] = select(store, `${is} AND run.profile <> 'session' ORDER BY run.seq DESC LIMIT 1`, numberOrKey);
  return task;
}

function countOpen({ db }: Store, principal?: string): number {
  const whose = principal === undefined ? '' : 'AND run.principal = ?';
  const sql = `SELECT count(*) AS count FROM run WHERE ${TASKS} AND ${OPEN} ${whose}`;
  return db.get<{ count: number }>(sql, ...(principal === undefined ? [] : [principal]))?.count ?? 0;
}

function taintTold({ db }: Store, chat: string, platformId: string): number {
  const taint = (sql: string, ...range: readonly string[]): number =>
    db.get<{ taint: number | null }>(sql, ...range, chat, `${chat}/`, `${chat}0`, platformId)?.taint ?? 0;
  // The next sign follows the separator in each: the chat with its threads, the tasks, the jobs.
  const ofTask = taint(TOLD_BY_RANGE, 'api/task.', 'api/task/');
  return ofTask | taint(TOLD_BY_RANGE, 'job/', 'job0') | taint(TOLD_LATELY);
}

const IS_TOLD = '(outbox.lane = ? OR outbox.lane > ? AND outbox.lane < ?) AND outbox.platform_id = ?';
/** By the keys of what such runs told, so that no answer is read. */
const TOLD_BY_RANGE = `SELECT run.taint FROM outbox CROSS JOIN run ON run.key = substr(outbox.key, 1, instr(outbox.key, '#') - 1)
  WHERE outbox.key > ? AND outbox.key < ? AND ${IS_TOLD} ORDER BY run.seq DESC LIMIT 1`;
/** Among the newest of all chats, as the key of an answer does not name its chat: about a millisecond. */
const TOLD_LATELY = `SELECT
    (SELECT taint FROM run WHERE run.key = outbox.part ->> '$.messageId' ORDER BY run.seq DESC LIMIT 1) AS taint
  FROM outbox WHERE outbox.seq > (SELECT max(seq) FROM outbox) - 5000 AND ${IS_TOLD} ORDER BY outbox.seq DESC LIMIT 1`;

function select(store: Store, where: string, ...values: readonly (string | number)[]): readonly Task[] {
  const sql = `SELECT ${COLUMNS} ${FROM} WHERE ${where}`;
  return store.db.all<TaskRecord>(sql, ...values).map(toTask);
}

function toTask(record: TaskRecord): Task {
  const where = `run ${record.seq}`;
  const text = record.text ?? '';
  const isOver = record.finished_at !== null;
  return {
    ...{ number: record.seq, key: record.key, title: record.title ?? text, status: record.status, progress: record.progress },
    ...{ profile: record.profile, text, principal: record.principal, session: record.session },
    workspace: record.workspace ?? record.session,
    ...(record.reply_to === null ? {} : { replyTo: readJson(record.reply_to, where) as unknown as Address }),
    ...(record.parent === null ? {} : { parent: record.parent }),
    createdAt: record.accepted_at,
    ...(record.finished_at === null ? {} : { finishedAt: record.finished_at }),
    ...(isOver && record.keep_until !== null ? { keepUntil: record.keep_until } : {}),
    ranMs: record.ran_ms,
    ...(isOver && record.outcome !== null ? { outcome: record.outcome } : {}),
    ...(isOver && record.result !== null ? { result: readJson(record.result, where) as unknown as ToolResult } : {}),
  };
}
