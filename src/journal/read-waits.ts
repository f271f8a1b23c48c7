import type { AskedPerson } from '../core/record.ts';
import type { ToolResult } from '../core/tool.ts';
import type { ParkedRun, Question, StoredWait, Unfinished, WaitKind, Waits } from '../core/wait.ts';
import type { CommitQueue } from './commit-queue.ts';
import { LIMIT } from './database.ts';
import { findGrant } from './grants.ts';
import { readJson, type Store } from './store.ts';

interface WaitRecord {
  readonly id: string;
  readonly run: number;
  readonly call_id: string;
  readonly kind: WaitKind;
  readonly about: string;
  readonly chat: string | null;
  readonly code: string | null;
  readonly state: 'OPEN' | 'SETTLED';
  readonly value: string | null;
  readonly by: string | null;
  readonly created_at: number;
  readonly due: number | null;
  readonly late: string | null;
}

const COLUMNS = 'id, run, call_id, kind, about, chat, code, state, value, by, created_at, due, late';

export function readWaits(store: Store, queue: CommitQueue): Waits {
  return {
    of: (run) => queue.peek(() => list(store, 'run = ? ORDER BY created_at, call_id', run)),
    find: (id) => queue.peek(() => list(store, 'id = ?', id)[0]),
    granted: (wanted) => queue.peek(() => findGrant(store, wanted)),
    byCode: (code) => queue.peek(() => ofCode(store, code)),
    questions: (chat) =>
      queue.peek(() =>
        chat === undefined ? openQuestions(store) : list(store, "state = 'OPEN' AND chat = ? ORDER BY created_at, id", chat),
      ),
    parked: (session, newest = ALL) => queue.peek(() => parkedIn(store, session, newest)),
    unfinished: (session) => queue.peek(() => unfinishedIn(store, session)),
    heldHistory: (session) => queue.peek(() => heldHistory(store, session)),
    isBesideUnderWay: (session) => queue.peek(() => isBesideUnderWay(store, session)),
    earliest: () => queue.peek(() => earliest(store)),
    due: (now, limit) =>
      queue.peek(() => list(store, `state = 'OPEN' AND due IS NOT NULL AND due <= ? ORDER BY due ${LIMIT}`, now, limit)),
  };
}

/** Oldest first. */
export function openQuestions(store: Pick<Store, 'db'>): readonly StoredWait[] {
  return list(store, "state = 'OPEN' AND code IS NOT NULL ORDER BY created_at, id");
}

function list({ db }: Pick<Store, 'db'>, where: string, ...values: readonly (string | number)[]): readonly StoredWait[] {
  return db.all<WaitRecord>(`SELECT ${COLUMNS} FROM wait WHERE ${where}`, ...values).map(toWait);
}

/**
 * An open code is looked up by its index; one that is over is rare, and people are told what became of it.
 */
function ofCode(store: Store, code: string): StoredWait | undefined {
  const [open] = list(store, "code = ? AND state = 'OPEN'", code);
  return open ?? list(store, "code = ? AND state = 'SETTLED' ORDER BY settled_at DESC LIMIT 1", code)[0];
}

function earliest({ db }: Store): number | undefined {
  const sql = "SELECT min(due) AS due FROM wait WHERE state = 'OPEN' AND due IS NOT NULL";
  return db.get<{ due: number | null }>(sql)?.due ?? undefined;
}

/** For SQLite: no limit. */
const ALL = -1;

/** What is in a row is read of the newest alone: a session may have thousands. */
function parkedIn({ db }: Store, session: string, newest: number): readonly ParkedRun[] {
  // Most sessions have none, and to find that out by the index alone is far cheaper.
  if (!db.get("SELECT 1 FROM run INDEXED BY run_parked WHERE state = 'PARKED' AND session = ? LIMIT 1", session)) return [];
  const rows = db.all<{ seq: number; key: string; text: string | null; taint: number }>(
    `SELECT seq, key, input ->> '$.text' AS text, taint FROM run WHERE seq IN (
       SELECT seq FROM run INDEXED BY run_parked WHERE state = 'PARKED' AND session = ? ORDER BY seq DESC ${LIMIT}) ORDER BY seq`,
    ...[session, newest],
  );
  return rows.map(({ seq, key, text, taint }) => ({
    ...{ key, text: text ?? '', kinds: openKinds({ db }, seq) },
    ...(taint === 0 ? {} : { taint }),
  }));
}

/** How many runs of a session are not over: by the index of each state. */
function unfinishedIn({ db }: Store, session: string): Unfinished {
  const count = (state: keyof Unfinished, index: string): number => {
    const sql = `SELECT count(*) AS n FROM run INDEXED BY ${index} WHERE state = '${state}' AND session = ?`;
    return db.get<{ n: number }>(sql, session)?.n ?? 0;
  };
  return { NEW: count('NEW', 'run_new'), RUNNING: count('RUNNING', 'run_running'), PARKED: count('PARKED', 'run_parked') };
}

/** By the index of each state: a run that was settled is NEW or RUNNING until it is over. */
function heldHistory({ db }: Store, session: string): readonly string[] {
  const sql = `SELECT history_to AS id FROM run INDEXED BY run_parked WHERE state = 'PARKED' AND session = ?1 AND history_to <> ''
    UNION SELECT history_to FROM run INDEXED BY run_new WHERE state = 'NEW' AND session = ?1 AND history_to <> ''
    UNION SELECT history_to FROM run INDEXED BY run_running WHERE state = 'RUNNING' AND session = ?1 AND history_to <> ''`;
  return db.all<{ id: string }>(sql, session).map(({ id }) => id);
}

function isBesideUnderWay({ db }: Store, session: string): boolean {
  const isIn = (state: 'NEW' | 'RUNNING', index: string): boolean => {
    const sql = `SELECT 1 FROM run INDEXED BY ${index}
      WHERE state = '${state}' AND session = ? AND history_to IS NULL AND input ->> '$.beside' IS NOT NULL LIMIT 1`;
    return db.get(sql, session) !== undefined;
  };
  return isIn('RUNNING', 'run_running') || isIn('NEW', 'run_new');
}

/**
 * How many parked runs of a principal wait for it: a question of their own by its id, or a signal by its
 * name. SQLite uses the index `wait_about` only where the words of its condition stand.
 */
export function countWaiting({ db }: Pick<Store, 'db'>, name: string, principal: string): number {
  const sql = `SELECT count(*) AS n FROM run WHERE principal = ?1 AND seq IN (
    SELECT run FROM wait WHERE id = ?2 AND state = 'OPEN' UNION ALL
    SELECT run FROM wait WHERE about = ?2 AND state = 'OPEN' AND kind IN ('run', 'signal') AND kind = 'signal')`;
  return db.get<{ n: number }>(sql, principal, name)?.n ?? 0;
}

/** What a run waits for, each kind once. */
export function openKinds({ db }: Pick<Store, 'db'>, run: number): readonly WaitKind[] {
  const sql = "SELECT DISTINCT kind FROM wait WHERE run = ? AND state = 'OPEN' ORDER BY kind";
  return db.all<{ kind: WaitKind }>(sql, run).map(({ kind }) => kind);
}

/** Whose answers a run waits for. */
export function askedFor({ db }: Pick<Store, 'db'>, run: number): readonly AskedPerson[] {
  const open = list({ db }, "run = ? AND state = 'OPEN' AND kind = 'person' ORDER BY created_at, call_id", run);
  return open.map(({ question, createdAt: since }) => {
    const who = question?.who ?? (question?.to === 'owner' ? 'the owner' : undefined);
    return { ...(who === undefined ? {} : { who }), since };
  });
}

function toWait(row: WaitRecord): StoredWait {
  const where = `wait ${row.id}`;
  return {
    ...{ id: row.id, run: row.run, callId: row.call_id, kind: row.kind, isOpen: row.state === 'OPEN', createdAt: row.created_at },
    ...(row.kind === 'person' ? { question: readJson(row.about, where) as unknown as Question } : { about: row.about }),
    ...(row.chat === null ? {} : { chat: row.chat }),
    ...(row.code === null ? {} : { code: row.code }),
    ...(row.value === null ? {} : { value: readJson(row.value, where) as unknown as ToolResult }),
    ...(row.by === null ? {} : { by: row.by }),
    ...(row.due === null ? {} : { due: row.due }),
    ...(row.late === null ? {} : { late: readJson(row.late, where) as unknown as ToolResult }),
  };
}

/** Inside a transaction. */
export function findWait(store: Store, id: string): StoredWait | undefined {
  return list(store, 'id = ?', id)[0];
}
