/**
 * Waits: the rows a parked run leaves, and what ends them. In the transaction of the write that causes it.
 */
import type { Claim, Park, Write } from '../core/commit.ts';
import type { ToolResult } from '../core/tool.ts';
import { LOST, lateResult, type NewWait, reminderId, type Settled, waitId } from '../core/wait.ts';
import type { Change } from './commit-queue.ts';
import { addGrant } from './grants.ts';
import { reopenNotes } from './notes.ts';
import { addParts } from './outbox.ts';
import { waitOfPart, withdrawQuestion } from './question-parts.ts';
import { countWaiting, findWait, openQuestions } from './read-waits.ts';
import { writeEvent } from './record.ts';
import { addRun } from './runs.ts';
import type { Store } from './store.ts';

/** Of a question that belongs to no run. */
const NO_RUN = 0;
/** Where a question limits how many runs of one principal wait for its answer. */
const TOO_MANY: ToolResult = { ok: true, output: 'deny' };

/**
 * Ends the claim as PARKED and writes what the run waits for. Returns the run's session; undefined = the
 * claim no longer stands, and nothing was written. A run whose waits are over already is NEW at once: a
 * signal that came between the call and the park must not be missed.
 */
export function parkRun(store: Store, claim: Claim & { readonly end: Park }, change: Change): string | undefined {
  const { seq, generation, end } = claim;
  const { waits, historyTo, ms = 0, taint = 0, notes } = end;
  // What crashed it before is over: it came to where it waits.
  const row = store.db.get<{ key: string; session: string; channel: string | null; principal: string }>(
    `UPDATE run SET state = 'PARKED', outcome = 'parked', boot_id = NULL, attempts = 0, ran_ms = ran_ms + ?, taint = taint | ?,
       history_to = coalesce(history_to, ?)
     WHERE seq = ? AND generation = ? AND state = 'RUNNING'
     RETURNING key, session, coalesce(input ->> '$.channel', reply_to ->> '$.channel') AS channel, principal`,
    ...[Math.round(ms), taint, historyTo, seq, generation],
  );
  if (!row) return undefined;
  change.active -= 1;
  const { key, session, channel, principal } = row;
  writeEvent(store, {
    ...{ type: 'parked', at: store.clock.now(), messageId: key, session, ...(channel === null ? {} : { channel }) },
    ...{ waits: waits.length, kinds: [...new Set(waits.map(({ kind }) => kind))].join(' '), ms: Math.round(ms) },
  });
  reopenNotes(store, { seq, key }, notes, change);
  for (const wait of waits) addWait(store, { seq, key, generation, principal }, wait, change);
  unpark(store, seq, change);
  return session;
}

interface Parked {
  readonly seq: number;
  readonly key: string;
  readonly generation: number;
  readonly principal: string;
}

function addWait(store: Store, run: Parked, wait: NewWait, change: Change): void {
  const { callId, kind, asked, due, late } = wait;
  if (wait.kind === 'run' && !wait.value) addRun(store, wait.about, change);
  if (asked) addParts(store, asked.parts, `in${run.seq}.${run.generation}`);
  const value = wait.value ?? knownValue(store, run, wait);
  insert(store, {
    ...{ id: waitId(run.key, callId), run: run.seq, callId, kind, about: aboutOf(wait) },
    ...{ chat: asked?.chat, code: asked?.code, value, late: late ?? (due === undefined ? undefined : lateResult({})), due },
  });
  if (wait.kind === 'person' && !value) addReminder(store, waitId(run.key, callId), wait.about.remindAt);
}

/** A timer of no run: what it comes to is decided when it is due. */
function addReminder(store: Store, question: string, due: number | undefined): void {
  if (due === undefined) return;
  const id = reminderId(question);
  insert(store, {
    ...{ id, run: NO_RUN, callId: id, kind: 'timer', about: question, chat: undefined, code: undefined },
    ...{ value: undefined, late: undefined, due },
  });
}

/** See `Write`. Done twice it writes nothing more: the first has ended the timer. */
export function remind(store: Store, { timer, question, parts }: Extract<Write, { readonly kind: 'remind' }>): void {
  const ended = endWaits(store, 'id = ?', timer, { value: { ok: true, output: 'reminded' }, by: 'due' });
  if (ended.length > 0 && findWait(store, question)?.isOpen) addParts(store, parts);
}

interface Inserted {
  readonly id: string;
  readonly run: number;
  readonly callId: string;
  readonly kind: NewWait['kind'];
  readonly about: string;
  readonly chat: string | undefined;
  readonly code: string | undefined;
  readonly value: ToolResult | undefined;
  readonly late: ToolResult | undefined;
  readonly due: number | undefined;
}

/** A model call may wait again under its id, once the first wait is over: then the newer one counts. */
function insert(store: Store, wait: Inserted): number {
  const { id, run, callId, kind, about, chat, code, value, late, due } = wait;
  const now = store.clock.now();
  return store.db.run(
    `INSERT INTO wait (id, run, call_id, kind, about, chat, code, state, value, late, by, created_at, due, settled_at)
     VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
     ON CONFLICT (id) DO UPDATE SET kind = excluded.kind, about = excluded.about, chat = excluded.chat, code = excluded.code,
       state = excluded.state, value = excluded.value, late = excluded.late, by = excluded.by, created_at = excluded.created_at,
       due = excluded.due, settled_at = excluded.settled_at WHERE wait.state = 'SETTLED' AND wait.run <> ${NO_RUN}`,
    ...[id, run, callId, kind, about, chat ?? null, code ?? null, value ? 'SETTLED' : 'OPEN', json(value), json(late)],
    ...[value ? 'at once' : null, now, due ?? null, value ? now : null],
  );
}

function json(value: ToolResult | undefined): string | null {
  return value ? JSON.stringify(value) : null;
}

function aboutOf(wait: NewWait): string {
  if (wait.kind === 'run') return wait.about.key;
  return wait.kind === 'person' ? JSON.stringify(wait.about) : wait.about;
}

/**
 * What a run or a signal came to before the wait for it was written, or a no where too many runs of the
 * principal wait for it already.
 */
function knownValue({ db }: Store, { principal }: Parked, wait: NewWait): ToolResult | undefined {
  if (wait.kind === 'run') {
    const sql = "SELECT result, outcome FROM run WHERE key = ? AND state IN ('DONE', 'DEAD') ORDER BY seq DESC LIMIT 1";
    const ended = db.get<{ result: string | null; outcome: string | null }>(sql, wait.about.key);
    return ended && (ended.result === null ? endedResult(ended.outcome ?? '') : (JSON.parse(ended.result) as ToolResult));
  }
  if (wait.kind !== 'signal') return undefined;
  const sql = `SELECT value, about ->> '$.most' AS most FROM wait WHERE id = ? AND run = ${NO_RUN}`;
  const asked = db.get<{ value: string | null; most: number | null }>(sql, wait.about);
  if (!asked) return undefined;
  if (asked.value !== null) return JSON.parse(asked.value) as ToolResult;
  return asked.most !== null && countWaiting({ db }, wait.about, principal) >= asked.most ? TOO_MANY : undefined;
}

/** What a run comes to, for the run that waits for it, where it left no result of its own. */
export function endedResult(outcome: string): ToolResult {
  return { ok: false, output: `Error: the run ended without a result (${outcome})` };
}

type Ask = Extract<Write, { readonly kind: 'ask' }>;

export function addQuestion(store: Store, { id, question, asked, late }: Ask): void {
  const added = insert(store, {
    ...{ id, run: NO_RUN, callId: id, kind: 'person', about: JSON.stringify(question), chat: asked.chat, code: asked.code },
    ...{ value: undefined, late, due: question.expiresAt },
  });
  if (added > 0) addParts(store, asked.parts);
}

export function moveQuestion({ db }: Store, id: string, chat: string): void {
  db.run("UPDATE wait SET chat = ? WHERE id = ? AND state = 'OPEN'", chat, id);
}

/** See `Write`. */
export function setBack({ db, clock }: Store): void {
  const sql = `UPDATE wait SET due = ?1 + (due - created_at), created_at = ?1
    WHERE state = 'OPEN' AND due IS NOT NULL AND created_at > ?1`;
  db.run(sql, clock.now());
}

/** With the condition of the index `wait_about` word for word, without which SQLite does not take it. */
const ABOUT = "about = ? AND kind IN ('run', 'signal')";

/** False when it was over already: the first end counts. */
export function settle(store: Store, settled: Settled, change: Change): boolean {
  const { wait, value, by, taint = 0 } = settled;
  const ended = endWaits(store, 'id = ?', wait, { value, by });
  const grant = ended.length > 0 && settled.forSession ? findWait(store, wait)?.question?.grant : undefined;
  if (grant && value.output === 'allow') addGrant(store, grant, settled);
  // A question of no run, or a name that only stands for itself: those that wait for the signal.
  const isSignal = ended.length === 0 ? !isKnown(store, wait) : ended.some(({ run }) => run === NO_RUN);
  if (isSignal) ended.push(...endWaits(store, `${ABOUT} AND kind = 'signal'`, wait, { value, by }));
  taintRuns(store, ended, taint);
  resume(store, ended, by, change);
  return ended.length > 0;
}

/** The run of this key has ended: its parent goes on, and knows what that one has read. */
export function settleRun(store: Store, key: string, value: ToolResult, change: Change): void {
  const ended = endWaits(store, `${ABOUT} AND kind = 'run'`, key, { value, by: key });
  if (ended.length === 0) return;
  const child = store.db.get<{ taint: number }>('SELECT taint FROM run WHERE key = ? ORDER BY seq DESC LIMIT 1', key);
  taintRuns(store, ended, child?.taint ?? 0);
  resume(store, ended, key, change);
}

function taintRuns({ db }: Store, ended: readonly EndedWait[], taint: number): void {
  if (taint === 0) return;
  for (const { run } of ended) db.run('UPDATE run SET taint = taint | ? WHERE seq = ?', taint, run);
}

/**
 * A part has ended, and may have been a question that surely did not arrive: then no one waits for its
 * answer. What is put to the owner goes to another chat of theirs.
 */
export function loseQuestion(store: Store, seq: number, change: Change): void {
  const sql = "SELECT key FROM outbox WHERE seq = ? AND state IN ('DEAD', 'EXPIRED')";
  const key = store.db.get<{ key: string }>(sql, seq)?.key;
  const wait = key === undefined ? undefined : findWait(store, waitOfPart(key));
  if (wait?.isOpen && wait.question && wait.question.to !== 'owner')
    settle(store, { wait: wait.id, value: LOST, by: 'lost' }, change);
}

/** The end of a wait whose question is asked no more. */
const WITHDRAWN = { value: { ok: false, output: 'Error: the question was withdrawn' }, by: 'withdrawn' } as const;

/** The run ended without its agent: nothing waits any more, and its questions are closed. */
export function closeWaits(store: Store, run: number): void {
  endWaits(store, 'run = ?', run, WITHDRAWN);
}

/** Names of the signals that runs of a person wait for. */
export function openSignalsOf({ db }: Store, principal: string): readonly string[] {
  const sql = `SELECT DISTINCT about FROM wait JOIN run ON run.seq = wait.run
    WHERE wait.state = 'OPEN' AND wait.kind = 'signal' AND run.state = 'PARKED' AND run.principal = ?`;
  return db.all<{ about: string }>(sql, principal).map(({ about }) => about);
}

interface Unasked {
  readonly principal: string;
  /** `chatKey`s of their private chats. */
  readonly chats: ReadonlySet<string>;
  /** What their runs waited for, before these ended. */
  readonly signals: readonly string[];
}

/**
 * Once the runs of a person have ended: questions that no one else may answer, and those of no run that
 * no one else waits for.
 */
export function withdrawQuestions(store: Store, { principal, chats, signals }: Unasked, change: Change): void {
  const unasked = openQuestions(store).filter(({ id, run, question, chat = '' }) => {
    if (!question) return false;
    if (run === NO_RUN && signals.includes(id)) return countOpen(store, id) === 0;
    if (question.by.length > 0) return question.by.every((one) => one === principal);
    return question.to !== 'owner' && chats.has(chat);
  });
  for (const { id } of unasked) settle(store, { wait: id, ...WITHDRAWN }, change);
}

function countOpen({ db }: Store, signal: string): number {
  const sql = `SELECT count(*) AS count FROM wait WHERE ${ABOUT} AND kind = 'signal' AND state = 'OPEN'`;
  return db.get<{ count: number }>(sql, signal)?.count ?? 0;
}

interface EndedWait {
  readonly id: string;
  readonly kind: NewWait['kind'];
  readonly run: number;
  readonly call_id: string;
  readonly code: string | null;
}

function endWaits(store: Store, where: string, of: string | number, { value, by }: Pick<Settled, 'value' | 'by'>): EndedWait[] {
  const ended = store.db.all<EndedWait>(
    `UPDATE wait SET state = 'SETTLED', value = ?, by = ?, settled_at = ? WHERE ${where} AND state = 'OPEN' RETURNING id, kind, run, call_id, code`,
    ...[JSON.stringify(value), by, store.clock.now(), of],
  );
  // Once it is due its parts end by themselves, as dead letters, and who had it asked is told.
  if (by !== 'due') for (const { id, kind, code } of ended) if (kind === 'person') withdrawQuestion(store, id, code);
  return ended;
}

function isKnown({ db }: Store, id: string): boolean {
  return db.get('SELECT 1 FROM wait WHERE id = ?', id) !== undefined;
}

function resume(store: Store, ended: readonly EndedWait[], by: string, change: Change): void {
  for (const { run, call_id: callId } of ended) {
    const key = store.db.get<{ key: string }>('SELECT key FROM run WHERE seq = ?', run)?.key;
    if (key !== undefined) writeEvent(store, { type: 'settled', at: store.clock.now(), messageId: key, callId, by });
  }
  for (const run of new Set(ended.map((one) => one.run))) unpark(store, run, change);
}

/** PARKED -> NEW when nothing of it is open. Its age begins anew: what waited did not grow old. */
function unpark({ db, clock }: Store, run: number, change: Change): void {
  const row = db.get<{ lane: string }>(
    `UPDATE run SET state = 'NEW', outcome = NULL, not_before = 0, aged_from = ? WHERE seq = ? AND state = 'PARKED'
       AND NOT EXISTS (SELECT 1 FROM wait WHERE wait.run = run.seq AND wait.state = 'OPEN') RETURNING lane`,
    ...[clock.now(), run],
  );
  if (!row) return;
  change.active += 1;
  change.woken.add(row.lane);
}
