/** How a part of the outbox leaves PENDING or SENDING. */
import { expiryReason, type Settlement, WITHDRAWN } from '../core/outbox.ts';
import { noteOutgoing } from './chats.ts';
import { addOtherwise, HAS_OTHERWISE, markReplaced, OTHERWISE, type Otherwise } from './outbox.ts';
import { writeEvent } from './record.ts';
import type { Store } from './store.ts';

/**
 * It is sent no more; by default because its reader is shut out. Before its time, so that it is no letter to
 * be sent again (see `dead-letters.ts`).
 */
export function withdrawPart(store: Store, seq: number, reason: string = WITHDRAWN): void {
  const sql = `UPDATE outbox SET state = 'EXPIRED', settled_at = min(?, expires_at - 1), reason = ?
    WHERE seq = ? AND state = 'PENDING'`;
  if (store.db.run(sql, store.clock.now(), reason, seq) === 0) {
    // It is on its way: not again, should it have to be.
    const mark = "UPDATE outbox SET part = json_set(part, '$.withdrawn', ?) WHERE seq = ? AND state = 'SENDING'";
    store.db.run(mark, reason, seq);
    return;
  }
  const row = settledRow(store, seq);
  if (!row) return;
  forgetText(store, seq, row);
  const { key, channel, run } = row;
  const about = run === null ? {} : { messageId: run };
  writeEvent(store, { type: 'part.expired', at: store.clock.now(), key, channel, ...about, reason });
}

/**
 * A part leaves PENDING or SENDING once. Only SENT may follow UNKNOWN (it was found later); a settlement that
 * comes too late changes nothing, so no part goes back to be sent after its end was recorded. Returns the
 * lanes of what is sent in its place.
 */
export function settlePart(store: Store, seq: number, settlement: Settlement): readonly string[] {
  const changed = settlement.kind === 'retry' ? retryPart(store, seq, settlement) : endPart(store, seq, settlement);
  if (!changed) return [];
  recordSettled(store, seq, settlement);
  const isLost = settlement.kind === 'dead' || (settlement.kind === 'expired' && settlement.isOld === true);
  return isLost ? tellElsewhere(store, seq) : [];
}

/** See `NewPart.otherwise`. */
function tellElsewhere(store: Store, seq: number): readonly string[] {
  const other = store.db.get<Otherwise>(`SELECT ${OTHERWISE} FROM outbox WHERE seq = ? AND ${HAS_OTHERWISE}`, seq);
  return other ? [...new Set(addOtherwise(store, other).map(({ lane }) => lane))] : [];
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
  const withdrawn = changed === 1 ? reasonWithdrawn(store, seq) : undefined;
  if (withdrawn === undefined) return changed === 1;
  withdrawPart(store, seq, withdrawn);
  return false;
}

/** See `withdrawPart`. Undefined = it is not withdrawn. */
function reasonWithdrawn({ db }: Store, seq: number): string | undefined {
  const sql = "SELECT part ->> '$.withdrawn' AS reason FROM outbox WHERE seq = ?";
  const reason = db.get<{ reason: string | number | null }>(sql, seq)?.reason ?? undefined;
  // Earlier versions wrote 1, and knew that reason alone.
  return typeof reason === 'number' ? WITHDRAWN : reason;
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
