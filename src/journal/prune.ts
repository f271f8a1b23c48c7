import type { Task } from '../core/task.ts';
import { absorbGap } from './clock-gap.ts';
import type { CommitQueue } from './commit-queue.ts';
import { LIMIT } from './database.ts';
import { dropOldCopies } from './kept-copies.ts';
import { inSlices } from './slices.ts';
import type { Store } from './store.ts';
import { expiredTasks } from './tasks.ts';

const DAY_MS = 86_400_000;
const PAYLOAD_DAYS = 7;
/** Of events, and of an answer whose fate is unknown: long enough to be looked into. */
const RECORD_DAYS = 30;
/** Marks are an hour apart while the process lives. */
const LONGEST_GAP_MS = DAY_MS / 2;
const COPY_DAYS = 30;
/** Rows between two looks at the time. */
const BATCH = 20;
/** Pages between two looks, and how many stay free in the file: what comes next needs them. */
const VACUUM_PAGES = 16;
const KEPT_FREE_PAGES = 256;

/** Removes what of a task is no row, before its row goes. A task may come again. */
export type ForgetTask = (task: Task) => Promise<void>;

interface PruneOptions {
  readonly dedupDays: number;
  readonly forget: ForgetTask | undefined;
}

/**
 * Housekeeping in short transactions with pauses, at start and hourly; others are accepted in between. Steps
 * go as soon as their message is DONE, content of finished work after 7 days, events after 30, dedup keys
 * after `dedupDays`; dead letters (with their steps), refusal counters and the usage ledger stay. Days are
 * those of aging time, so a clock that is ahead takes nothing (F22). Then the file gives freed pages back to
 * the disk. Rejects like any write, and where a task could not be forgotten, when all else is done; the next
 * run goes on where it stopped.
 */
export async function pruneAll(store: Store, queue: CommitQueue, options: PruneOptions): Promise<void> {
  // The commit that fills the log pays for emptying it. Keys lie all over the file: 1,000 pages took up to
  // 150 ms, 200 take 35.
  const emptyLogAt = (pages: number) => queue.read(() => store.db.exec(`PRAGMA wal_autocheckpoint = ${pages}`));
  await emptyLogAt(200);
  try {
    await pruneInSlices(store, queue, options);
  } finally {
    await emptyLogAt(1_000);
  }
}

async function pruneInSlices(store: Store, queue: CommitQueue, { dedupDays, forget }: PruneOptions): Promise<void> {
  const { aged, week, month } = await queue.write(() => ({
    aged: absorbGap(store, LONGEST_GAP_MS),
    week: store.aging.cut(PAYLOAD_DAYS),
    month: store.aging.cut(RECORD_DAYS),
  }));
  await inSlices(queue, pruneSteps(store));
  await inSlices(queue, () => pruneRuns(store, week));
  await inSlices(queue, () => pruneQuestions(store, week));
  await inSlices(queue, () => pruneGrants(store, week));
  await inSlices(queue, () => pruneOutbox(store, 'SENT', week));
  await inSlices(queue, () => pruneOutbox(store, 'EXPIRED', week));
  await inSlices(queue, () => pruneOutbox(store, 'UNKNOWN', month));
  await inSlices(queue, () => pruneDedup(store, aged - dedupDays * DAY_MS));
  await inSlices(queue, () => pruneEvents(store, month));
  const failures = await pruneTasks(store, queue, forget);
  await inSlices(queue, () => shrink(store));
  await queue.write(() => dropOldCopies(store, aged, COPY_DAYS));
  if (failures.length > 0) throw failures[0];
}

/**
 * Nothing reads the steps of a DONE row: its words are in the session. Those with an effect stay as long as
 * the row, because they are the record of what was done; of those within the workspace without the output.
 * Goes through all rows that have steps, once.
 */
function pruneSteps(store: Store): () => boolean {
  const { db } = store;
  let after = 0;
  return () => {
    // The names come from the index alone: a look at `effect` here would read every output of what is still
    // under way.
    const rows = db.all<{ seq: number }>(
      `SELECT DISTINCT run_seq AS seq FROM step WHERE run_seq > ? ORDER BY run_seq ${LIMIT}`,
      after,
      BATCH,
    );
    for (const { seq } of rows) {
      after = seq;
      const isDone = db.get("SELECT 1 FROM run WHERE seq = ? AND state = 'DONE'", seq) !== undefined;
      if (!isDone) continue;
      db.run("DELETE FROM step WHERE run_seq = ? AND coalesce(effect, 'none') = 'none'", seq);
      db.run("UPDATE step SET value = NULL WHERE run_seq = ? AND effect = 'workspace' AND value IS NOT NULL", seq);
    }
    return rows.length === BATCH;
  };
}

function pruneRuns(store: Store, before: number): boolean {
  const sql = `SELECT seq FROM run WHERE state = 'DONE' AND finished_at < ? AND keep_until IS NULL LIMIT ${BATCH}`;
  const rows = store.db.all<{ seq: number }>(sql, before);
  removeRuns(store, rows);
  countPurged(store, 'run', 'DONE', rows.length);
  return rows.length === BATCH;
}

/**
 * Tasks, also those that failed: each says how long it is kept. Their files go first, so that a crash leaves
 * none whose row is gone. One whose files cannot be removed stays for the next run and holds up no other.
 * Resolves with why each of those stays.
 */
async function pruneTasks(store: Store, queue: CommitQueue, forget: ForgetTask | undefined): Promise<readonly unknown[]> {
  const failures: unknown[] = [];
  let after = 0;
  for (;;) {
    const expired = await queue.read(() => expiredTasks(store, after, BATCH));
    const gone: Task[] = [];
    for (const task of expired) {
      after = task.number;
      try {
        await forget?.(task);
        gone.push(task);
      } catch (error) {
        failures.push(error);
      }
    }
    await queue.write(() => {
      // One that failed may have been resumed meanwhile.
      const isOver = "SELECT 1 FROM run WHERE seq = ? AND state IN ('DONE', 'DEAD')";
      const over = gone.filter(({ number }) => store.db.get(isOver, number) !== undefined);
      removeRuns(
        store,
        over.map(({ number: seq }) => ({ seq })),
      );
      // Of the dead only those are counted that are there.
      countPurged(store, 'run', 'DONE', over.filter(({ status }) => status !== 'failed').length);
    });
    if (expired.length < BATCH) return failures;
  }
}

function removeRuns(store: Store, rows: readonly { readonly seq: number }[]): void {
  for (const { seq } of rows) {
    store.db.run('DELETE FROM step WHERE run_seq = ?', seq);
    store.db.run('DELETE FROM wait WHERE run = ?', seq);
    store.db.run('DELETE FROM run WHERE seq = ?', seq);
  }
}

/** Questions of no run; those of a run go with it. */
function pruneQuestions({ db }: Store, before: number): boolean {
  const sql = `DELETE FROM wait WHERE id IN (
    SELECT id FROM wait WHERE run = 0 AND state = 'SETTLED' AND settled_at < ? LIMIT ${BATCH})`;
  return db.run(sql, before) === BATCH;
}

function pruneGrants({ db }: Store, before: number): boolean {
  const sql = `DELETE FROM approval WHERE id IN (SELECT id FROM approval WHERE expires_at < ? LIMIT ${BATCH})`;
  return db.run(sql, before) === BATCH;
}

function pruneOutbox(store: Store, state: 'SENT' | 'EXPIRED' | 'UNKNOWN', before: number): boolean {
  const gone = store.db.run(
    `DELETE FROM outbox WHERE seq IN (SELECT seq FROM outbox WHERE state = ? AND settled_at < ? LIMIT ${BATCH})`,
    state,
    before,
  );
  countPurged(store, 'outbox', state, gone);
  return gone === BATCH;
}

function pruneDedup(store: Store, before: number): boolean {
  const gone = store.db.run(
    `DELETE FROM dedup WHERE (kind, key) IN (SELECT kind, key FROM dedup WHERE accepted_at < ? LIMIT ${BATCH})`,
    before,
  );
  return gone === BATCH;
}

function pruneEvents({ db }: Store, before: number): boolean {
  return db.run(`DELETE FROM event WHERE seq IN (SELECT seq FROM event WHERE at < ? LIMIT ${BATCH})`, before) === BATCH;
}

/**
 * Also stops where SQLite gives nothing back (a file that was not made for it): the free pages stay as many.
 */
function shrink({ db }: Store): boolean {
  const free = () => db.get<{ freelist_count: number }>('PRAGMA freelist_count')?.freelist_count ?? 0;
  const before = free();
  if (before <= KEPT_FREE_PAGES) return false;
  db.exec(`PRAGMA incremental_vacuum(${VACUUM_PAGES})`);
  return free() < before;
}

export function countPurged(store: Store, box: string, state: string, count: number): void {
  if (count === 0) return;
  store.db.run(
    'INSERT INTO purged (box, state, count) VALUES (?, ?, ?) ON CONFLICT DO UPDATE SET count = count + excluded.count',
    box,
    state,
    count,
  );
}
