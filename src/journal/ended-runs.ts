/**
 * Runs that end without their agent: cancelled by a person, or given up at a start. What they did must not be
 * forgotten with them.
 */
import { chatKey, chatOfLane, childSessions, isLaneOf, sessionOfChat, TASK_SESSIONS, tasksWithin } from '../core/ids.ts';
import { JOB_SESSIONS } from '../core/job.ts';
import type { Prompt } from '../core/new-run.ts';
import { type Admission, type Cancels, channelOf, type EndedRun, type Remains, type RunRow } from '../core/run.ts';
import type { Change } from './commit-queue.ts';
import { leaveNote } from './ended-note.ts';
import { noteJobEnd } from './jobs.ts';
import { writeEvent } from './record.ts';
import { reopenMerged } from './reopen-merged.ts';
import { KEPT_FROM, RUN_COLUMNS, type RunRecord, toRunRow } from './runs.ts';
import { addLines } from './session-lines.ts';
import { recordedSteps } from './steps.ts';
import { markDrafts } from './stopped-drafts.ts';
import type { Store } from './store.ts';
import { closeWaits, settleRun } from './waits.ts';

interface FoundRecord extends RunRecord {
  readonly state: 'NEW' | 'RUNNING' | 'PARKED';
}

/**
 * Sessions of no chat, whose runs may answer in one: those of jobs, and of tasks that no conversation asked
 * for. `;` follows the `:` of these sessions.
 */
const OF_NO_CHAT = [JOB_SESSIONS, TASK_SESSIONS].map((from) => [from, `${from.slice(0, -1)};`] as const);

/** Lanes of topics, threads, jobs and tasks go on with these behind that of their chat; see `isLaneOf`. */
const WITHIN = [
  ['#', '$'],
  ['/', '0'],
] as const;

type Stop = Pick<Extract<Admission, { kind: 'answer' }>, 'message' | 'lane' | 'session'>;

/**
 * Ends the runs that `cancels` is about, oldest first, and all that they began: DONE as `cancelled`, fenced
 * by a new generation, their lines written. In one transaction with the answer that says so: a crash cannot
 * bring back what people were told is cancelled.
 */
export function cancelRuns(store: Store, stop: Stop, cancels: Cancels, change: Change): readonly EndedRun[] {
  const { where, principal, stoppedMark } = cancels;
  const found =
    typeof where === 'object' ? unfinishedOf(store, where.run) : where === 'lane' ? inLane(store, stop) : inChat(store, stop);
  if (principal === undefined) return cancelTrees(store, found, stoppedMark, change);
  const own = found.filter((record) => record.principal === principal);
  return reopenMerged(store, principal, cancelTrees(store, own, stoppedMark, change), change);
}

/** As `cancelRuns`, of all runs on the account of a person, wherever. Reads whatever is under way. */
export function cancelRunsOf(
  store: Store,
  principal: string,
  stoppedMark: string | undefined,
  change: Change,
): readonly EndedRun[] {
  const found = [...unfinished(store, 'principal = ?', [principal]), ...parked(store, 'principal = ?', [principal])];
  return reopenMerged(store, principal, cancelTrees(store, found, stoppedMark, change), change);
}

/**
 * As `cancelRuns`, of one that runs; it ends with this outcome, and what it began as cancelled. What works in
 * the background goes on: its conversation was told that it is at work, and is told its result.
 */
export function cancelRunning(
  store: Store,
  seq: number,
  { outcome, principal }: { readonly outcome: string; readonly principal?: string },
  change: Change,
): readonly EndedRun[] {
  const sql = `SELECT ${RUN_COLUMNS}, state FROM run WHERE seq = ? AND state = 'RUNNING'`;
  const ended = withChildren(store, store.db.all<FoundRecord>(sql, seq), AWAITED).map((record) =>
    cancelRun(store, record, change, record.seq === seq ? outcome : undefined),
  );
  return principal === undefined ? ended : reopenMerged(store, principal, ended, change);
}

/** As `cancelRuns`, of a topic that is deleted. */
export function cancelConversation(
  store: Store,
  { lane, session }: Pick<Stop, 'lane' | 'session'>,
  change: Change,
): readonly EndedRun[] {
  const found = [
    ...unfinished(store, 'lane = ?', [lane]),
    ...unfinished(store, 'lane >= ? AND lane < ?', [`${lane}#`, `${lane}$`]),
    // A task goes on, and so does a sub-agent in the background: both are told of. Another one ends with
    // the run that waits for it.
    ...parked(store, '(session = ? OR session >= ? AND session < ?)', [session, `${session}#`, `${session}$`]).filter(
      ({ profile }) => profile === 'session',
    ),
  ];
  return withChildren(
    store,
    found.filter((record) => !isUntold(record)),
    AWAITED,
  ).map((record) => cancelRun(store, record, change));
}

/** It tells what a sub-agent in the background came to, and has not begun. */
function isUntold({ state, generation, profile, source, input }: FoundRecord): boolean {
  const isWaiting = state === 'NEW' && generation === 0 && profile === 'session' && source === 'run';
  return isWaiting && (JSON.parse(input) as Partial<Prompt>).tells !== undefined;
}

/** As `cancelRuns`, of the run with this key. */
export function cancelRunOf(store: Store, key: string, change: Change): void {
  cancelTrees(store, unfinishedOf(store, key), undefined, change);
}

function unfinishedOf(store: Store, key: string): readonly FoundRecord[] {
  const sql = `SELECT ${RUN_COLUMNS}, state FROM run WHERE key = ? AND state IN ('NEW', 'RUNNING', 'PARKED')`;
  return store.db.all<FoundRecord>(sql, key);
}

function cancelTrees(
  store: Store,
  found: readonly FoundRecord[],
  stoppedMark: string | undefined,
  change: Change,
): readonly EndedRun[] {
  const all = withChildren(store, found);
  const begun = all.filter(({ state, generation }) => state !== 'RUNNING' && generation > 0).map(({ key }) => ({ id: key }));
  if (stoppedMark !== undefined) markDrafts(store, begun, stoppedMark);
  return all.map((record) => cancelRun(store, record, change));
}

/** Writes the lines of a row that is ended in the same transaction. */
export function leaveRemains(store: Store, row: RunRow): Remains & { readonly hasSteps: boolean } {
  const steps = recordedSteps(store, row.seq);
  const remains = store.remains(row, steps);
  addLines(store, row.session, remains.lines);
  return { ...remains, hasSteps: steps.length > 0 };
}

/** Of a run that no turn finishes. */
export function writeEnd(store: Store, row: RunRow, outcome: string): void {
  const { key: messageId, session, source } = row;
  if (source.kind === 'job') noteJobEnd(store, { id: source.job, due: source.due }, outcome);
  writeEvent(store, { type: 'finished', at: store.clock.now(), messageId, session, channel: channelOf(row), outcome, ms: 0 });
}

function cancelRun(store: Store, record: FoundRecord, change: Change, outcome = 'cancelled'): EndedRun {
  const row = toRunRow(record);
  const remains = leaveRemains(store, row);
  store.db.run(
    `UPDATE run SET state = 'DONE', outcome = ?4, finished_at = ?3, boot_id = NULL, generation = generation + 1,
       ${KEPT_FROM} WHERE seq = ?1`,
    ...[row.seq, null, store.clock.now(), outcome],
  );
  if (record.state === 'PARKED') closeWaits(store, row.seq);
  else change.active -= 1;
  // Of a tree the parent comes first: its waits are closed by then, and it does not go on.
  if (row.source.kind === 'run') settleRun(store, row.key, { ok: false, output: 'Error: cancelled' }, change);
  writeEnd(store, row, outcome);
  const note = leaveNote(store, row);
  return { row, ...remains, ...(note ? { note } : {}) };
}

/**
 * `#` and `/` stand before what is within a session or a lane; `$` and `0` follow them. With what runs beside
 * it.
 */
function inLane(store: Store, { lane, session }: Stop): readonly FoundRecord[] {
  const beside = [`${lane}##`, `${lane}#$`];
  return inOrder([
    ...unfinished(store, 'lane = ?', [lane]),
    ...unfinished(store, 'lane >= ? AND lane < ?', beside),
    // By the lane: of what was parked before the conversation began anew the session is in the archive.
    ...answering(store, 'lane = ?', [lane]),
    ...answering(store, 'lane >= ? AND lane < ?', beside),
    ...subAgents(store, childSessions(session)),
    ...tasksOf(store, chatOfLane(lane), session),
  ]);
}

/**
 * Tasks that were asked for in this session. Their lanes are the chat's, whichever thread or topic that was
 * in.
 */
function tasksOf(store: Store, chat: string, session: string): readonly FoundRecord[] {
  const [from, to] = tasksWithin(session);
  const underWay = unfinished(store, 'lane >= ? AND lane < ?', tasksWithin(`${chat}/`));
  return [
    ...underWay.filter((record) => record.session >= from && record.session < to),
    ...parked(store, 'session >= ? AND session < ?', [from, to]),
  ];
}

/** Also those that no run waits for. A lane of theirs is called as its session is. */
function subAgents(store: Store, between: readonly [string, string]): readonly FoundRecord[] {
  const within = 'lane >= ? AND lane < ?';
  return [...unfinished(store, within, between), ...parked(store, 'session >= ? AND session < ?', between)];
}

/** In every lane that `isLaneOf` the chat, whichever session that is of. */
function inChat(store: Store, { message, session }: Stop): readonly FoundRecord[] {
  const chat = chatKey(message);
  const root = sessionOfChat(session, message);
  return inOrder([
    ...unfinished(store, 'lane = ?', [chat]),
    ...answering(store, 'lane = ?', [chat]),
    ...WITHIN.flatMap(([from, to]) => {
      const between = [`${chat}${from}`, `${chat}${to}`];
      return [...unfinished(store, 'lane >= ? AND lane < ?', between), ...answering(store, 'lane >= ? AND lane < ?', between)];
    }),
    // Of the chat, and of all its threads and topics.
    ...subAgents(store, [`${root}#`, `${root}$`]).filter(({ profile }) => profile === 'subagent'),
    ...OF_NO_CHAT.flatMap((sessions) => subAgents(store, sessions)).filter(({ input }) =>
      isLaneOf(reportLane(input) ?? '', chat),
    ),
  ]);
}

function reportLane(input: string): string | undefined {
  const { child } = JSON.parse(input) as Partial<Prompt>;
  return child?.report?.lane;
}

/** What waits, by the lane in which it answers. */
function answering(store: Store, where: string, values: readonly string[]): readonly FoundRecord[] {
  const sql = `SELECT ${RUN_COLUMNS}, state FROM run INDEXED BY run_parked_lane WHERE state = 'PARKED' AND ${where}`;
  return store.db.all<FoundRecord>(sql, ...values);
}

/**
 * By the indices that hold no row of another lane or session: a stop must not read what waits in all other
 * chats.
 */
function unfinished(store: Store, where: string, values: readonly string[]): readonly FoundRecord[] {
  const select = (state: FoundRecord['state'], index: string) =>
    store.db.all<FoundRecord>(
      `SELECT ${RUN_COLUMNS}, state FROM run INDEXED BY ${index} WHERE state = '${state}' AND ${where}`,
      ...values,
    );
  return [...select('NEW', 'run_new'), ...select('RUNNING', 'run_running')];
}

function parked(store: Store, where: string, values: readonly string[]): readonly FoundRecord[] {
  const sql = `SELECT ${RUN_COLUMNS}, state FROM run INDEXED BY run_parked WHERE state = 'PARKED' AND ${where}`;
  return store.db.all<FoundRecord>(sql, ...values);
}

/** Of sub-agents, those that a run waits for. */
const AWAITED = "AND run.input ->> '$.child.report' IS NULL";

/** With the unfinished runs that they began, and those that these began; `which`: a condition for these. */
function withChildren(store: Store, records: readonly FoundRecord[], which = ''): readonly FoundRecord[] {
  const found = new Map(records.map((record) => [record.seq, record]));
  for (const { seq } of records) {
    const children = store.db.all<FoundRecord>(
      // CROSS: from the tree to its rows. By their state SQLite would look through what waits in all chats.
      `WITH RECURSIVE tree(id) AS (
         SELECT seq FROM run WHERE parent = ? ${which} UNION SELECT run.seq FROM run JOIN tree ON run.parent = tree.id ${which})
       SELECT ${RUN_COLUMNS}, state FROM tree CROSS JOIN run ON run.seq = tree.id WHERE state IN ('NEW', 'RUNNING', 'PARKED')`,
      seq,
    );
    for (const child of children) found.set(child.seq, child);
  }
  return inOrder([...found.values()]);
}

function inOrder(records: readonly FoundRecord[]): readonly FoundRecord[] {
  return records.toSorted((a, b) => a.seq - b.seq);
}
