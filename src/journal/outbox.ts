import { partKey, SENT_FOR_KEYS } from '../core/ids.ts';
import { type NewPart, type OutboxRow, type OutboxState, type StoredPart, TOO_OLD } from '../core/outbox.ts';
import { LIMIT } from './database.ts';
import { noteOver, placePart } from './held.ts';
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
    const { lane, expiresAt } = added;
    const { part, heldFor, over, before } = placePart(store, added);
    if (before.length > 0) addParts(store, before, owner);
    const taken = isTaken(store, part.key);
    if (taken && owner === undefined) continue;
    const key = taken ? `${part.key}~${owner}` : part.key;
    const supersedes = part.supersedes ?? (taken && part.key.endsWith(FIRST) ? part.key : undefined);
    // The older answer was told elsewhere, too, or may still come to be.
    const isNewer = owner !== undefined && (taken || added.otherwise?.some((other) => isTaken(store, other.part.key)));
    const otherwise = isNewer ? added.otherwise?.map((other) => ownedBy(owner, other)) : added.otherwise;
    const seq = store.db.insert(
      "INSERT INTO outbox (key, lane, part, state, held_for, created_at, expires_at) VALUES (?, ?, ?, 'PENDING', ?, ?, ?)",
      ...[key, lane, JSON.stringify({ ...part, key, supersedes, otherwise }), heldFor, store.clock.now(), expiresAt],
    );
    if (over !== undefined) endUnsent(store, seq, over);
    if (supersedes !== undefined) markReplaced(store, supersedes, key);
  }
}

function isTaken({ db }: Store, key: string): boolean {
  return db.get('SELECT 1 FROM outbox WHERE key = ?', key) !== undefined;
}

function ownedBy(owner: string, { part, ...rest }: NewPart): NewPart {
  return { ...rest, part: { ...part, key: `${part.key}~${owner}` } };
}

/** `NewPart.otherwise` of a row, as `OTHERWISE` reads it where `HAS_OTHERWISE` holds. */
export interface Otherwise {
  readonly otherwise: string;
  /** Ms that the part had to be sent. */
  readonly life: number;
}

export const OTHERWISE = "part ->> '$.otherwise' AS otherwise, expires_at - created_at AS life";
export const HAS_OTHERWISE = "part ->> '$.otherwise' IS NOT NULL";

/** With as much time as the part had in whose place they are sent: its own may be over. Returns them. */
export function addOtherwise(store: Store, { otherwise, life }: Otherwise): readonly NewPart[] {
  const expiresAt = store.clock.now() + life;
  const parts = (JSON.parse(otherwise) as NewPart[]).map((part) => ({ ...part, expiresAt }));
  addParts(store, parts);
  return parts;
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
export function markReplaced(store: Store, old: string, key: string): void {
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
 * Ends the PENDING parts whose time is over, but for those that their lanes end, and writes the event of
 * each; returns how many. In a transaction. Both in SQL: a start after a long rest may find 100,000 of them,
 * and memory holds none.
 */
export function expireParts(store: Store): number {
  const { db, clock } = store;
  const now = clock.now();
  // What is held waits for a person, however long that takes. What a person had written to another is ended
  // by its lane, which tells them.
  const isOver = "state = 'PENDING' AND held_for IS NULL AND expires_at < ? AND part ->> '$.sentFor.told' IS NULL";
  const others = db.all<Otherwise>(
    `SELECT ${OTHERWISE} FROM outbox INDEXED BY outbox_pending WHERE ${isOver} AND ${HAS_OTHERWISE}`,
    now,
  );
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
  for (const other of others) addOtherwise(store, other);
  return expired;
}
