/** Rows of `job`: see `core/job.ts`. */
import { isDeepStrictEqual } from 'node:util';
import type { Authority } from '../core/authority.ts';
import type { Write } from '../core/commit.ts';
import { type Job, type JobCounts, type JobPayload, jobRunKey, type Schedule } from '../core/job.ts';
import { LIMIT } from './database.ts';
import { readJson, type Store } from './store.ts';

interface JobRecord {
  readonly id: string;
  readonly name: string;
  readonly schedule: string;
  readonly timezone: string;
  readonly payload: string;
  readonly authority: string;
  readonly taint: number;
  readonly missed: Job['missed'];
  readonly enabled: number;
  readonly delete_after_run: number;
  readonly next_due: number | null;
  readonly last_due: number | null;
  readonly last_status: string | null;
  readonly run_count: number;
  readonly created_at: number;
}

const COLUMNS = `id, name, schedule, timezone, payload, authority, taint, missed, enabled, delete_after_run, next_due, last_due,
  last_status, run_count, created_at`;

function toJob(record: JobRecord): Job {
  const { id, name, timezone, taint, missed } = record;
  const where = `job ${id}`;
  return {
    ...{ id, name, timezone, taint, missed },
    schedule: readJson(record.schedule, where) as unknown as Schedule,
    payload: readJson(record.payload, where) as unknown as JobPayload,
    authority: readJson(record.authority, where) as unknown as Authority,
    enabled: record.enabled === 1,
    deleteAfterRun: record.delete_after_run === 1,
    ...(record.next_due === null ? {} : { nextDue: record.next_due }),
    ...(record.last_due === null ? {} : { lastDue: record.last_due }),
    ...(record.last_status === null ? {} : { lastStatus: record.last_status }),
    runCount: record.run_count,
    createdAt: record.created_at,
  };
}

type JobWrite = Extract<Write, { readonly kind: 'job' }>;

/**
 * Whether the job is still as the writer read it, and none too many. What became of its newest run is no part
 * of that.
 */
export function jobStands(store: Store, { job, was, most }: JobWrite): boolean {
  const id = 'gone' in job ? job.gone : job.id;
  const stands = getJob(store, id);
  if (most !== undefined && !stands && 'authority' in job && countJobsOf(store, job.authority.principal) >= most) return false;
  if (!was || !stands) return was === undefined && (stands === undefined || 'gone' in job);
  const { lastStatus: _now, ...now } = stands;
  const { lastStatus: _before, ...before } = was;
  return isDeepStrictEqual(now, before);
}

export function writeJob(store: Store, { job, was }: JobWrite): void {
  if ('gone' in job) {
    store.db.run('DELETE FROM job WHERE id = ?', job.gone);
    return;
  }
  // A run may have ended since the writer read the job: only what the writer changed is written.
  const status = job.lastStatus === was?.lastStatus ? getJob(store, job.id)?.lastStatus : job.lastStatus;
  store.db.run(
    `INSERT INTO job (${COLUMNS}, principal) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET
       name = excluded.name, schedule = excluded.schedule, timezone = excluded.timezone, payload = excluded.payload,
       authority = excluded.authority, principal = excluded.principal, taint = excluded.taint, missed = excluded.missed,
       enabled = excluded.enabled, delete_after_run = excluded.delete_after_run, next_due = excluded.next_due,
       last_due = excluded.last_due, last_status = excluded.last_status, run_count = excluded.run_count`,
    ...[job.id, job.name, JSON.stringify(job.schedule), job.timezone, JSON.stringify(job.payload), JSON.stringify(job.authority)],
    ...[job.taint, job.missed, job.enabled ? 1 : 0, job.deleteAfterRun ? 1 : 0, job.nextDue ?? null, job.lastDue ?? null],
    ...[status ?? null, job.runCount, job.createdAt, job.authority.principal],
  );
}

/**
 * In the transaction that ends a run. Of a job's newest run only: an older one that was replayed says nothing
 * about how the job does now.
 */
export function noteJobEnd(store: Store, { id, due }: { readonly id: string; readonly due: number }, outcome: string): void {
  const isWell = outcome === 'answered' || outcome === 'silent';
  store.db.run('UPDATE job SET last_status = ? WHERE id = ? AND last_due = ?', isWell ? 'ok' : `error: ${outcome}`, id, due);
}

export function listJobs({ db }: Store): readonly Job[] {
  return db.all<JobRecord>(`SELECT ${COLUMNS} FROM job ORDER BY created_at, id`).map(toJob);
}

function countJobsOf({ db }: Store, principal: string): number {
  return db.get<{ n: number }>('SELECT count(*) AS n FROM job WHERE principal = ?', principal)?.n ?? 0;
}

export function getJob({ db }: Store, id: string): Job | undefined {
  const record = db.get<JobRecord>(`SELECT ${COLUMNS} FROM job WHERE id = ?`, id);
  return record && toJob(record);
}

export function dueJobs({ db }: Store, now: number, limit: number): readonly Job[] {
  const sql = `SELECT ${COLUMNS} FROM job WHERE enabled = 1 AND next_due <= ? ORDER BY next_due ${LIMIT}`;
  return db.all<JobRecord>(sql, now, limit).map(toJob);
}

export function earliestJob({ db }: Store): number | undefined {
  return db.get<{ due: number | null }>('SELECT min(next_due) AS due FROM job WHERE enabled = 1')?.due ?? undefined;
}

/** Keys outlive their runs: see `prune.ts`. */
export function jobFired({ db }: Store, id: string, due?: number): boolean {
  if (due !== undefined) return db.get('SELECT 1 FROM dedup WHERE kind = 3 AND key = ?', jobRunKey(id, due)) !== undefined;
  // Digits are all that follows the slash, and `:` is what comes after them.
  const [from, to] = [`job/${id}/`, `job/${id}/:`];
  return db.get('SELECT 1 FROM dedup WHERE kind = 3 AND key > ? AND key < ? LIMIT 1', from, to) !== undefined;
}

export function countJobs(store: Store): JobCounts {
  const counts = store.db.get<Omit<JobCounts, 'nextDue'>>(
    `SELECT coalesce(sum(enabled), 0) AS enabled, coalesce(sum(1 - enabled), 0) AS disabled,
       coalesce(sum(enabled = 1 AND last_status LIKE 'error:%'), 0) AS failing FROM job`,
  );
  const nextDue = earliestJob(store);
  return { enabled: 0, disabled: 0, failing: 0, ...counts, ...(nextDue === undefined ? {} : { nextDue }) };
}
