import type { InboxRow, TurnResult } from '../core/inbox.ts';
import type { InboundMessage } from '../core/message.ts';
import type { Change } from './commit-queue.ts';
import { addParts } from './outbox.ts';
import { addLines } from './session-lines.ts';
import { readMessage, type Store } from './store.ts';

export interface InboxRecord {
  readonly seq: number;
  readonly lane: string;
  readonly session: string;
  readonly message: string;
  readonly attempts: number;
  readonly generation: number;
  readonly not_before: number;
  readonly accepted_at: number;
}

export const INBOX_COLUMNS = 'seq, lane, session, message, attempts, generation, not_before, accepted_at';

export function toInboxRow(record: InboxRecord): InboxRow {
  return {
    seq: record.seq,
    lane: record.lane,
    session: record.session,
    message: readMessage(record.message, record.seq),
    attempts: record.attempts,
    acceptedAt: record.accepted_at,
    generation: record.generation,
  };
}

/** Due rows up to the first that is not: a message that waits for its retry is not overtaken by the ones after it. */
export function waitingRows(store: Store, lane: string, limit: number, afterSeq: number): readonly InboxRow[] {
  const records = store.db.all<InboxRecord>(
    `SELECT ${INBOX_COLUMNS} FROM inbox WHERE state = 'NEW' AND lane = ? AND seq > ? ORDER BY seq LIMIT ?`,
    lane,
    afterSeq,
    limit,
  );
  const now = store.clock.now();
  const blocked = records.findIndex((record) => record.not_before > now);
  return (blocked < 0 ? records : records.slice(0, blocked)).map(toInboxRow);
}

export function claimRow(store: Store, seq: number): InboxRow | undefined {
  const record = store.db.get<InboxRecord>(
    `UPDATE inbox SET state = 'RUNNING', attempts = attempts + 1, generation = generation + 1, boot_id = ?, not_before = 0
     WHERE seq = ? AND state = 'NEW' RETURNING ${INBOX_COLUMNS}`,
    store.bootId,
    seq,
  );
  return record && toInboxRow(record);
}

export interface ReleaseOptions {
  readonly notBefore?: number;
  readonly reason?: string;
}

/** With `notBefore` the attempt failed and counts; without it the turn was parked and the attempt is given back. */
export function releaseRow(store: Store, seq: number, generation: number, options: ReleaseOptions): boolean {
  const changed = store.db.run(
    `UPDATE inbox SET state = 'NEW', boot_id = NULL, not_before = ?, attempts = attempts - ?, outcome = ?
     WHERE seq = ? AND generation = ? AND state = 'RUNNING'`,
    options.notBefore ?? 0,
    options.notBefore === undefined ? 1 : 0,
    options.reason ?? null,
    seq,
    generation,
  );
  return changed === 1;
}

export function cancelWaitingRows(store: Store, lane: string, outcome: string, change: Change): number {
  const cancelled = store.db.run(
    "UPDATE inbox SET state = 'DONE', outcome = ?, finished_at = ? WHERE lane = ? AND state = 'NEW'",
    outcome,
    store.clock.now(),
    lane,
  );
  change.active -= cancelled;
  return cancelled;
}

/**
 * What waits and what runs in the lane is DONE as `cancelled`; the new generation fences the running turn. Returns how many.
 * In one transaction with the answer that says so: a crash cannot bring back what people were told is cancelled.
 */
export function cancelLane(store: Store, lane: string): number {
  return store.db.run(
    `UPDATE inbox SET state = 'DONE', outcome = 'cancelled', finished_at = ?, boot_id = NULL, generation = generation + 1
     WHERE lane = ? AND state IN ('NEW', 'RUNNING')`,
    store.clock.now(),
    lane,
  );
}

/** Every lane that `isLaneOf` the chat and has work; with `sender` only those in which that person waits for something. */
export function busyLanes(store: Store, chat: string, sender?: string): readonly string[] {
  const rows = store.db.all<{ seq: number; lane: string; message: string }>(
    // `0` follows the separator, so the range is that of what begins with the chat and a separator.
    `SELECT seq, lane, message FROM inbox WHERE (lane = ? OR (lane >= ? AND lane < ?)) AND state IN ('NEW', 'RUNNING')`,
    chat,
    `${chat}/`,
    `${chat}0`,
  );
  const own = rows.filter(({ seq, message }) => sender === undefined || readMessage(message, seq).senderId === sender);
  return [...new Set(own.map(({ lane }) => lane))];
}

/** Of rows that wait in the lane for another attempt. */
export function parkedMessages(store: Store, lane: string): readonly InboundMessage[] {
  return messages(store, "SELECT seq, message FROM inbox WHERE state = 'NEW' AND lane = ? AND generation > 0", lane);
}

/** Of rows that somebody cancelled at `since` or later, epoch ms. */
export function cancelledMessages(store: Store, since: number): readonly InboundMessage[] {
  const sql = "SELECT seq, message FROM inbox WHERE state = 'DONE' AND finished_at >= ? AND outcome = 'cancelled'";
  return messages(store, sql, since);
}

function messages(store: Store, sql: string, value: string | number): readonly InboundMessage[] {
  return store.db.all<{ seq: number; message: string }>(sql, value).map(({ seq, message }) => readMessage(message, seq));
}

/** Whether the claim still stands; inside the transaction of the write that depends on it. */
export function ownsRow(store: Store, seq: number, generation: number): boolean {
  const sql = "SELECT 1 FROM inbox WHERE seq = ? AND generation = ? AND state = 'RUNNING'";
  return store.db.get(sql, seq, generation) !== undefined;
}

/** Commit 4: final state, session lines and parts together. `false` = fenced, nothing was written. */
export function finishTurn(store: Store, result: TurnResult, change: Change): boolean {
  const row = store.db.get<{ session: string }>(
    `UPDATE inbox SET state = ?, outcome = ?, finished_at = ?, boot_id = NULL
     WHERE seq = ? AND generation = ? AND state = 'RUNNING' RETURNING session`,
    result.state,
    result.outcome,
    store.clock.now(),
    result.seq,
    result.generation,
  );
  if (!row) return false;
  change.active -= 1;
  addLines(store, row.session, result.lines);
  addParts(store, result.parts, `in${result.seq}.${result.generation}`);
  return true;
}
