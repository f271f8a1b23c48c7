import { partKey, SENT_FOR_KEYS } from '../core/ids.ts';
import {
  expiryReason,
  type NewPart,
  type OutboxRow,
  type OutboxState,
  type Settlement,
  type StoredPart,
  TOO_OLD,
  WITHDRAWN,
} from '../core/outbox.ts';
import { noteOutgoing } from './chats.ts';
import { LIMIT } from './database.ts';
import { noteOver, placePart } from './held.ts';
import { writeEvent } from './record.ts';
import { readPart, type Store } from './store.ts';

export interface OutboxRecord {
  readonly seq: number;
  readonly lane: string;
  readonly part: string;
  readonly state: OutboxState;
  readonly attempts: number;
  readonly doubt_since: number | null;
  readonly not_before: number;
  readonly plain: number;
  readonly created_at: number;
  readonly expires_at: number;
}

export const OUTBOX_COLUMNS = 'seq, lane, part, state, attempts, doubt_since, not_before, plain, created_at, expires_at';

export function toOutboxRow(record: OutboxRecord): OutboxRow {
  return {
    seq: record.seq,
    lane: record.lane,
    part: readPart(record.part, record.seq),
    state: record.state,
    attempts: record.attempts,
    ...(record.doubt_since === null ? {} : { doubtSince: record.doubt_since }),
    notBefore: record.not_before,
    plain: record.plain === 1,
    createdAt: record.created_at,
    expiresAt: record.expires_at,
  };
}

/**
 * How the key of an answer's first part ends. A draft, its last text and a notice are at place 0, too, but
 * have keys of their own.
 */
const FIRST = partKey('', 0);

/**
 * Adds PENDING parts. A key that exists already means the same part: skipped. With `owner` it means an older
 * answer to the same message (the notice that it was given up, before a replay): the new part then gets a key
 * of its own, because a platform that knows the old key would swallow the new text, and the first part takes
 * the place of the older one, because that is the key by which the answer to a message is looked up.
 */
export function addParts(store: Store, parts: readonly NewPart[], owner?: string): void {
  for (const added of parts) {
    const { lane, expiresAt, otherwise } = added;
    const { part, heldFor, over, before } = placePart(store, added);
    if (before.length > 0) addParts(store, before, owner);
    const taken = store.db.get('SELECT 1 FROM outbox WHERE key = ?', part.key) !== undefined;
    if (taken && owner === undefined) continue;
    const key = taken ? `${part.key}~${owner}` : part.key;
    const supersedes = part.supersedes ?? (taken && part.key.endsWith(FIRST) ? part.key : undefined);
    const seq = store.db.insert(
      "INSERT INTO outbox (key, lane, part, state, held_for, created_at, expires_at) VALUES (?, ?, ?, 'PENDING', ?, ?, ?)",
      ...[key, lane, JSON.stringify({ ...part, key, supersedes, otherwise }), heldFor, store.clock.now(), expiresAt],
    );
    if (over !== undefined) endUnsent(store, seq, over);
    if (supersedes !== undefined) markReplaced(store, supersedes, key);
  }
}

/** At its time, so that it counts as undelivered. */
function endUnsent(store: Store, seq: number, reason: string): void {
  const sql = "UPDATE outbox SET state = 'EXPIRED', settled_at = max(?, expires_at), reason = ? WHERE seq = ?";
  store.db.run(sql, store.clock.now(), reason, seq);
  noteOver(store, seq, reason);
}

/**
 * Kept beside the part's own fields, which are read without it. From the moment the new part is there, so
 * that a reader who looks for the newest answer finds one that is still on its way; and once more when it is
 * sent, after whatever was added meanwhile and never arrived.
 */
function markReplaced(store: Store, old: string, key: string): void {
  store.db.run("UPDATE outbox SET part = json_set(part, '$.replacedBy', ?) WHERE key = ?", key, old);
}

export function pendingParts(store: Store, lane: string, limit: number): readonly OutboxRow[] {
  return store.db
    .all<OutboxRecord>(
      `SELECT ${OUTBOX_COLUMNS} FROM outbox WHERE state = 'PENDING' AND held_for IS NULL AND lane = ? ORDER BY seq ${LIMIT}`,
      lane,
      limit,
    )
    .map(toOutboxRow);
}

export function findPart(store: Store, key: string): StoredPart | undefined {
  const record = store.db.get<OutboxRecord & { platform_id: string | null; replaced_by: string | null }>(
    `SELECT ${OUTBOX_COLUMNS}, platform_id, part ->> '$.replacedBy' AS replaced_by FROM outbox WHERE key = ?`,
    key,
  );
  if (!record) return undefined;
  return {
    ...toOutboxRow(record),
    ...(record.platform_id === null ? {} : { platformId: record.platform_id }),
    ...(record.replaced_by === null ? {} : { replacedBy: record.replaced_by }),
  };
}

/** By the keys of such parts, so that no other row is read. */
export function countSentFor({ db }: Store, reader: string, since: number): number {
  const sql = `SELECT count(*) AS found FROM outbox
    WHERE key > ? AND key < ? AND created_at > ? AND part ->> '$.ordinal' = 0
      AND EXISTS (SELECT 1 FROM json_each(part, '$.sentFor.readers') WHERE value = ?)`;
  return db.get<{ found: number }>(sql, ...SENT_FOR_KEYS, since, reader)?.found ?? 0;
}

/** By their keys, as `countSentFor`. */
export function relayedParts({ db }: Store, chat: string): readonly Pick<StoredPart, 'part' | 'platformId'>[] {
  const sql = `SELECT seq, part, platform_id FROM outbox WHERE key > ? AND key < ? AND doubt_since IS NOT NULL
    AND (lane = ? OR lane > ? AND lane < ?)`;
  const rows = db.all<{ seq: number; part: string; platform_id: string | null }>(
    sql,
    ...SENT_FOR_KEYS,
    // `0` follows the separator: the chat and its threads.
    ...[chat, `${chat}/`, `${chat}0`],
  );
  return rows.map(({ seq, part, platform_id: id }) => ({
    part: readPart(part, seq),
    ...(id === null ? {} : { platformId: id }),
  }));
}

export function markSending(store: Store, seq: number): boolean {
  const sql = `UPDATE outbox SET state = 'SENDING', attempts = attempts + 1, doubt_since = coalesce(doubt_since, ?), boot_id = ?
    WHERE seq = ? AND state = 'PENDING'`;
  return store.db.run(sql, store.clock.now(), store.bootId, seq) === 1;
}

/**
 * Ends the PENDING parts whose time is over, and writes the event of each; returns how many. In a
 * transaction. Both in SQL: a start after a long rest may find 100,000 of them, and memory holds none.
 */
export function expireParts(store: Store): number {
  const { db, clock } = store;
  const now = clock.now();
  // What is held waits for a person, however long that takes.
  const isOver = "state = 'PENDING' AND held_for IS NULL AND expires_at < ?";
  const others = `SELECT part ->> '$.otherwise' AS otherwise FROM outbox INDEXED BY outbox_pending
    WHERE ${isOver} AND part ->> '$.otherwise' IS NOT NULL`;
  const otherwise = db.all<{ otherwise: string }>(others, now);
  // Each event is a row of its own, as `event-rows.ts` reads it.
  db.run(
    `INSERT INTO event (at, run, channel, type, data)
     SELECT ?, part ->> '$.messageId', part ->> '$.channel', 'part.expired', json_object('key', key, 'reason', ?)
     FROM outbox INDEXED BY outbox_pending WHERE ${isOver} ORDER BY seq`,
    now,
    TOO_OLD,
    now,
  );
  const text = "iif(part ->> '$.keptAs' IS NULL, part, json_set(part, '$.text', part ->> '$.keptAs'))";
  const sql = `UPDATE outbox INDEXED BY outbox_pending SET state = 'EXPIRED', settled_at = ?, reason = 'expired', part = ${text}
    WHERE ${isOver}`;
  const expired = db.run(sql, now, now);
  for (const row of otherwise) addParts(store, JSON.parse(row.otherwise) as NewPart[]);
  return expired;
}

/**
 * Its reader is shut out: it is sent no more. Before its time, so that it is no letter to be sent again (see
 * `dead-letters.ts`).
 */
export function withdrawPart(store: Store, seq: number): void {
  const sql = `UPDATE outbox SET state = 'EXPIRED', settled_at = min(?, expires_at - 1), reason = '${WITHDRAWN}'
    WHERE seq = ? AND state = 'PENDING'`;
  if (store.db.run(sql, store.clock.now(), seq) === 0) {
    // It is on its way: not again, should it have to be.
    store.db.run("UPDATE outbox SET part = json_set(part, '$.withdrawn', 1) WHERE seq = ? AND state = 'SENDING'", seq);
    return;
  }
  const row = settledRow(store, seq);
  if (!row) return;
  forgetText(store, seq, row);
  const { key, channel, run } = row;
  const about = run === null ? {} : { messageId: run };
  writeEvent(store, { type: 'part.expired', at: store.clock.now(), key, channel, ...about, reason: WITHDRAWN });
}

/**
 * A part leaves PENDING or SENDING once. Only SENT may follow UNKNOWN (it was found later); a settlement that
 * comes too late changes nothing, so no part goes back to be sent after its end was recorded.
 */
/** Returns the lanes of what is sent in its place. */
export function settlePart(store: Store, seq: number, settlement: Settlement): readonly string[] {
  const changed = settlement.kind === 'retry' ? retryPart(store, seq, settlement) : endPart(store, seq, settlement);
  if (!changed) return [];
  recordSettled(store, seq, settlement);
  const isLost = settlement.kind === 'dead' || (settlement.kind === 'expired' && settlement.isOld === true);
  return isLost ? addOtherwise(store, seq) : [];
}

/** See `NewPart.otherwise`. */
function addOtherwise(store: Store, seq: number): readonly string[] {
  const sql = "SELECT part ->> '$.otherwise' AS otherwise FROM outbox WHERE seq = ?";
  const text = store.db.get<{ otherwise: string | null }>(sql, seq)?.otherwise ?? null;
  const parts = text === null ? [] : (JSON.parse(text) as NewPart[]);
  addParts(store, parts);
  return [...new Set(parts.map(({ lane }) => lane))];
}

function retryPart(store: Store, seq: number, settlement: Extract<Settlement, { kind: 'retry' }>): boolean {
  const changed = store.db.run(
    `UPDATE outbox SET state = 'PENDING', boot_id = NULL, not_before = ?, reason = ?, doubt_since = ?, attempts = max(0, attempts - ?), plain = max(plain, ?)
     WHERE seq = ? AND state IN ('PENDING', 'SENDING')`,
    settlement.notBefore,
    settlement.reason,
    settlement.doubtSince ?? null,
    settlement.uncounted ? 1 : 0,
    settlement.plain ? 1 : 0,
    seq,
  );
  if (settlement.asNew) {
    const sql = "UPDATE outbox SET part = json_remove(part, '$.edits'), attempts = 0 WHERE seq = ? AND state = 'PENDING'";
    store.db.run(sql, seq);
  }
  if (changed !== 1 || !isWithdrawn(store, seq)) return changed === 1;
  withdrawPart(store, seq);
  return false;
}

function isWithdrawn({ db }: Store, seq: number): boolean {
  return db.get("SELECT 1 FROM outbox WHERE seq = ? AND part ->> '$.withdrawn' = 1", seq) !== undefined;
}

function endPart(store: Store, seq: number, settlement: Exclude<Settlement, { kind: 'retry' }>): boolean {
  const now = store.clock.now();
  if (settlement.kind === 'sent') {
    const changed = store.db.run(
      `UPDATE outbox SET state = 'SENT', platform_id = ?, settled_at = ?, reason = NULL
       WHERE seq = ? AND state IN ('PENDING', 'SENDING', 'UNKNOWN')`,
      settlement.platformId,
      now,
      seq,
    );
    if (changed === 1 && settlement.replaces !== undefined) {
      const key = store.db.get<{ key: string }>('SELECT key FROM outbox WHERE seq = ?', seq)?.key;
      if (key !== undefined) markReplaced(store, settlement.replaces, key);
    }
    return changed === 1;
  }
  const ends = { unknown: 'UNKNOWN', dead: 'DEAD', expired: 'EXPIRED' } as const;
  // Dead letters are those that ended at their time or later. A clock that was set back must not hide them.
  const isOld = settlement.kind === 'expired' && settlement.isOld === true;
  const changed = store.db.run(
    "UPDATE outbox SET state = ?, settled_at = iif(?, max(?, expires_at), ?), reason = ? WHERE seq = ? AND state IN ('PENDING', 'SENDING')",
    ends[settlement.kind],
    isOld ? 1 : 0,
    now,
    now,
    settlement.kind === 'expired' ? 'expired' : settlement.reason,
    seq,
  );
  return changed === 1;
}

function recordSettled(store: Store, seq: number, settlement: Settlement): void {
  const row = settledRow(store, seq);
  if (!row) return;
  if (settlement.kind !== 'retry') forgetText(store, seq, row);
  const at = store.clock.now();
  const { key, channel } = row;
  const base = { at, key, channel, ...(row.run === null ? {} : { messageId: row.run }) };
  if (settlement.kind === 'sent') {
    noteOutgoing(store, row.lane);
    writeEvent(store, { ...base, type: 'part.sent', ms: at - row.created_at });
  } else if (settlement.kind === 'retry') {
    const { reason, notBefore } = settlement;
    writeEvent(store, { ...base, type: 'part.retry', reason, waitMs: Math.max(0, notBefore - at) });
  } else
    writeEvent(store, {
      ...base,
      type: `part.${settlement.kind}`,
      reason: 'reason' in settlement ? settlement.reason : expiryReason(settlement),
    });
}

interface SettledRow {
  readonly key: string;
  readonly lane: string;
  readonly run: string | null;
  readonly channel: string;
  readonly created_at: number;
  readonly kept: string | null;
}

function settledRow({ db }: Store, seq: number): SettledRow | undefined {
  const sql = `SELECT key, lane, part ->> '$.messageId' AS run, part ->> '$.channel' AS channel, created_at, part ->> '$.keptAs' AS kept
    FROM outbox WHERE seq = ?`;
  return db.get<SettledRow>(sql, seq);
}

/** See `OutboundPart.keptAs`. */
function forgetText({ db }: Store, seq: number, { kept }: SettledRow): void {
  if (kept !== null) db.run("UPDATE outbox SET part = json_set(part, '$.text', ?) WHERE seq = ?", kept, seq);
}
