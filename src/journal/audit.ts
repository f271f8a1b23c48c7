/**
 * The record of decisions: a chain, in which each row's hash covers the one before (see `core/people.ts`).
 * The ids of a person who was erased are taken out of their rows, whose hashes stay as they were: a later
 * entry names these rows and says what each of them came to, so the chain holds, and what was taken out is
 * seen.
 */
import { hash } from 'node:crypto';
import type { Json } from '../core/message.ts';
import type { AuditEntry, AuditState, NewAuditEntry, People } from '../core/people.ts';
import type { Settled } from '../core/wait.ts';
import { canonicalJson } from '../lib/canonical-json.ts';
import { findWait } from './read-waits.ts';
import { readJson, type Store } from './store.ts';

interface AuditRow {
  readonly seq: number;
  readonly at: number;
  readonly kind: string;
  readonly subject: string;
  readonly by: string;
  readonly data: string;
  readonly prev: string;
  readonly hash: string;
}

/** In the transaction of what it speaks of: other processes add no row meanwhile. */
export function writeAudit({ db, clock }: Store, { kind, subject, by, data = {} }: NewAuditEntry): void {
  const last = db.get<Pick<AuditRow, 'seq' | 'hash'>>('SELECT seq, hash FROM audit ORDER BY seq DESC LIMIT 1');
  // As AUTOINCREMENT counts: after rows that were cut off it goes on behind them, and the gap is seen.
  const counted = db.get<{ seq: number }>("SELECT seq FROM sqlite_sequence WHERE name = 'audit'")?.seq ?? 0;
  const row = { seq: counted + 1, at: clock.now(), kind, subject, by, data: canonicalJson(data), prev: last?.hash ?? '' };
  db.run(
    'INSERT INTO audit (seq, at, kind, subject, by, data, prev, hash) VALUES (?, ?, ?, ?, ?, ?, ?, ?)',
    ...[row.seq, row.at, kind, subject, by, row.data, row.prev, hashOf(row)],
  );
}

/** Of an approval that a person gave or refused; other questions are no decisions about what may be done. */
export function auditAnswer(store: Store, { wait: id, value, by, forSession }: Settled): void {
  const question = findWait(store, id)?.question;
  if (question?.answer !== 'approve') return;
  const rule = forSession ? question.grant?.rule : undefined;
  const data = { ...(question.digest === undefined ? {} : { digest: question.digest }), ...(rule === undefined ? {} : { rule }) };
  const kind = value.output === 'allow' ? 'question.allowed' : 'question.denied';
  writeAudit(store, { kind, subject: id, by, data });
}

/** See `People.audit`. */
export function readAudit({ db }: Store, query: Parameters<People['audit']>[0]): readonly AuditEntry[] {
  const { after = 0, since = 0, subject = null } = query;
  const sql = 'SELECT * FROM audit WHERE seq > ? AND at >= ? AND (? IS NULL OR subject = ?) ORDER BY seq';
  return db.all<AuditRow>(sql, after, since, subject, subject).map(toEntry);
}

/**
 * How an entry begins that names others from which ids were taken: what it holds is part of the chain itself.
 */
const REDACTED = 'audit.redacted';
/** Entries that one of them names. */
const MOST_NAMED = 500;

type Redacted = readonly (readonly [seq: number, hash: string])[];

/**
 * In the transaction that erases: what `scrub` changes is written, and who did so. Returns how many entries
 * changed.
 */
export function redactAudit(store: Store, scrub: (text: string) => string, by: string): number {
  const { db } = store;
  const changed: [number, string][] = [];
  for (const row of db.all<AuditRow>('SELECT * FROM audit ORDER BY seq')) {
    if (row.kind === REDACTED) continue;
    const redacted = { ...row, subject: scrub(row.subject), by: scrub(row.by), data: scrub(row.data) };
    if (redacted.subject === row.subject && redacted.by === row.by && redacted.data === row.data) continue;
    db.run('UPDATE audit SET subject = ?, by = ?, data = ? WHERE seq = ?', redacted.subject, redacted.by, redacted.data, row.seq);
    changed.push([row.seq, hashOf(redacted)]);
  }
  for (let from = 0; from < changed.length; from += MOST_NAMED)
    writeAudit(store, { kind: REDACTED, subject: 'audit', by, data: { entries: changed.slice(from, from + MOST_NAMED) } });
  return changed.length;
}

/** By entry, the hash of what it says now. The newest word counts: a person may be erased twice. */
function redactions({ db }: Store): ReadonlyMap<number, string> {
  const rows = db.all<{ data: string }>('SELECT data FROM audit WHERE kind = ? ORDER BY seq', REDACTED);
  return new Map(rows.flatMap(({ data }) => (JSON.parse(data) as { readonly entries?: Redacted }).entries ?? []));
}

/** Row by row, because a long record must not be held in memory as a whole. */
export function verifyAudit(store: Store): AuditState {
  const { db } = store;
  const redacted = redactions(store);
  let seq = 0;
  let prev = '';
  for (const row of db.each<AuditRow>('SELECT * FROM audit ORDER BY seq')) {
    seq += 1;
    if (row.seq !== seq) return { kind: 'broken', seq, why: 'it is missing' };
    const hash = hashOf(row);
    if (row.hash !== hash && redacted.get(seq) !== hash) return { kind: 'broken', seq, why: 'it was changed' };
    if (row.prev !== prev) return { kind: 'broken', seq, why: 'it does not follow the one before' };
    prev = row.hash;
  }
  const counted = db.get<{ seq: number }>("SELECT seq FROM sqlite_sequence WHERE name = 'audit'")?.seq ?? 0;
  if (counted > seq) return { kind: 'broken', seq: seq + 1, why: 'it is missing' };
  return { kind: 'whole', entries: seq, head: prev };
}

function hashOf({ seq, at, kind, subject, by, data, prev }: Omit<AuditRow, 'hash'>): string {
  return hash('sha256', canonicalJson({ seq, at, kind, subject, by, data, prev }));
}

function toEntry({ seq, at, kind, subject, by, data, hash }: AuditRow): AuditEntry {
  return { seq, at, kind, subject, by, data: readJson(data, `audit ${seq}`) as Record<string, Json>, hash };
}
