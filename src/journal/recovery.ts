import { draftKey, partKey } from '../core/ids.ts';
import type { LeftRun, PendingLane, Recovery } from '../core/journal.ts';
import { LOGIN_REFUSED, type NewPart } from '../core/outbox.ts';
import { type ChatRow, NOT_HEARD, type RunRow, type ToolUse } from '../core/run.ts';
import { addReport } from './children.ts';
import { absorbGap } from './clock-gap.ts';
import type { Change } from './commit-queue.ts';
import { leaveRemains, writeEnd } from './ended-runs.ts';
import { cancelledRuns, MAX_LEFT } from './left-runs.ts';
import { reopenNotes } from './notes.ts';
import { addParts, expireParts, findPart, OUTBOX_COLUMNS, type OutboxRecord, toOutboxRow } from './outbox.ts';
import { cancelledMessages, KEPT_FROM, RUN_COLUMNS, type RunRecord, toRunRow } from './runs.ts';
import { skipServed } from './served-jobs.ts';
import { markDrafts } from './stopped-drafts.ts';
import type { Store } from './store.ts';
import { endedResult, settleRun } from './waits.ts';

/** A task whose process dies goes on from its recorded steps once; the second time it has failed (P24). */
const MOST_STARTS = 2;

export interface RecoveryBounds {
  /** Of a task at most `MOST_STARTS`. */
  readonly maxAttempts: number;
  readonly maxAgeMs: number;
  readonly stoppedMark?: string;
}

/** What stood longer in a chat is not changed any more. */
const MARK_WITHIN_MS = 86_400_000;

/**
 * `tools`: those that the row's turn ran. The parts may edit the draft of the row; where that has its last
 * text, they are sent as messages of their own.
 */
export type BuryNotice = (row: RunRow, reason: string, tools: readonly ToolUse[]) => readonly NewPart[];

/**
 * Start-up, one transaction: running it again, or dying in the middle and running it again, gives the same
 * end (F10). SENDING parts keep their state until the caller settled each, so a second crash finds them once
 * more.
 */
export function recoverAll(store: Store, bounds: RecoveryBounds, notice: BuryNotice, change: Change): Recovery {
  const now = store.clock.now();
  // Before the present is marked.
  const cancelled = cancelledRuns(store, now - store.aging.gap(), now);
  absorbGap(store, bounds.maxAgeMs / 2);
  skipServed(store);
  const { stoppedMark } = bounds;
  // Before other rows end by this start.
  const stopped = stoppedMark ? cancelledMessages(store, now - MARK_WITHIN_MS, now) : [];
  const { buried, unheard, left } = buryAll(store, bounds, notice, change);
  change.active -= buried + unheard.length;
  const resumed = store.db.run(
    "UPDATE run SET state = 'NEW', boot_id = NULL WHERE state = 'RUNNING' AND boot_id IS NOT ?",
    store.bootId,
  );
  if (stoppedMark) markDrafts(store, stopped, stoppedMark);
  // Earlier versions kept the delay of a retry here. No run is delayed any more: its row is due at once.
  store.db.run("UPDATE run SET not_before = 0 WHERE state = 'NEW' AND not_before > 0");
  // The operator may have mended the login meanwhile, and what is behind such a part in its lane waits for
  // it.
  store.db.run(
    "UPDATE outbox SET not_before = 0 WHERE state = 'PENDING' AND not_before > 0 AND reason LIKE ?",
    `${LOGIN_REFUSED}%`,
  );
  const expired = expireParts(store);
  const sending = store.db.all<OutboxRecord>(
    `SELECT ${OUTBOX_COLUMNS} FROM outbox WHERE state = 'SENDING' AND boot_id IS NOT ? ORDER BY seq`,
    store.bootId,
  );
  return {
    resumed,
    buried,
    expired,
    unheard,
    left: [...cancelled, ...left].slice(-MAX_LEFT),
    sending: sending.map(toOutboxRow),
    ...workLanes(store),
  };
}

/**
 * Attempts OR age, not both: a row that never uses up its attempts still ends one day. Steps and payload
 * stay, and what the turn did is in its session. What was overheard and shows no sign of an answer was not
 * said to the agent: it is no dead letter, and the chat is told nothing.
 */
function buryAll(
  store: Store,
  bounds: RecoveryBounds,
  notice: BuryNotice,
  change: Change,
): { readonly buried: number; readonly unheard: readonly ChatRow[]; readonly left: readonly LeftRun[] } {
  const now = store.clock.now();
  const spent = store.db.all<RunRecord>(
    `SELECT ${RUN_COLUMNS} FROM run WHERE seq IN (
         SELECT seq FROM run WHERE state = 'NEW' UNION ALL SELECT seq FROM run WHERE state = 'RUNNING' AND boot_id IS NOT ?)
       AND (attempts >= CASE profile WHEN 'task' THEN ? ELSE ? END OR aged_from < ?) ORDER BY seq`,
    store.bootId,
    Math.min(MOST_STARTS, bounds.maxAttempts),
    bounds.maxAttempts,
    now - bounds.maxAgeMs,
  );
  const unheard: ChatRow[] = [];
  const left: LeftRun[] = [];
  for (const record of spent) {
    const row = toRunRow(record);
    if (row.message?.overheard && !isAnswerBegun(store, row)) {
      end(store, row, 'DONE', NOT_HEARD, now);
      unheard.push(row);
      continue;
    }
    const reason = reasonOf(row, bounds);
    reopenNotes(store, row, undefined, change);
    const { tools } = leaveRemains(store, row);
    end(store, row, 'DEAD', reason, now);
    if (row.message && row.generation > 0) left.push({ row, state: 'DEAD', outcome: reason });
    if (row.source.kind === 'run') {
      settleRun(store, row.key, endedResult(reason), change);
      addReport(store, row.key, endedResult(reason), change);
    }
    const parts = notice(row, reason, tools);
    addParts(store, hasLastText(store, row) ? parts.map(asMessage) : parts, `in${row.seq}.${row.generation}`);
  }
  return { buried: spent.length - unheard.length, unheard, left };
}

/**
 * Whether what was shown of the answer has its last text and stands far up in the chat by now: the run waited
 * since, or was answered before it was replayed. A change of it would be seen by no person.
 */
function hasLastText(store: Store, { key, historyTo }: RunRow): boolean {
  return historyTo !== undefined || findPart(store, partKey(key, 0)) !== undefined;
}

function asMessage({ part: { edits: _, ...part }, ...row }: NewPart): NewPart {
  return { ...row, part };
}

function reasonOf({ attempts, profile }: RunRow, { maxAttempts }: RecoveryBounds): string {
  if (attempts >= maxAttempts) return `gave up after ${attempts} attempts`;
  return profile === 'task' && attempts >= MOST_STARTS
    ? `gave up after ${attempts} attempts, the most that a task has`
    : 'too old';
}

function end(store: Store, row: RunRow, state: 'DONE' | 'DEAD', outcome: string, now: number): void {
  const sql = `UPDATE run SET state = ?1, outcome = ?2, finished_at = ?3, boot_id = NULL, ${KEPT_FROM} WHERE seq = ?4`;
  store.db.run(sql, state, outcome, now, row.seq);
  writeEnd(store, row, outcome);
}

/** Only a turn records steps and shows a draft. A note is of a message that was answered beside it. */
function isAnswerBegun(store: Store, { seq, key }: RunRow): boolean {
  const step = store.db.get("SELECT 1 FROM step WHERE run_seq = ? AND kind <> 'note' LIMIT 1", seq);
  return step !== undefined || findPart(store, draftKey(key)) !== undefined;
}

export function workLanes({ db }: Store): Pick<Recovery, 'lanes' | 'outboxLanes'> {
  const runs = db.all<{ lane: string }>("SELECT lane FROM run WHERE state = 'NEW' GROUP BY lane ORDER BY min(seq)");
  // SQLite takes the other columns from the row that has the minimum.
  const outboxLanes = db.all<PendingLane>(
    `SELECT lane, expiresAt FROM (SELECT lane, expires_at AS expiresAt, min(seq) AS first FROM outbox WHERE state = 'PENDING' AND held_for IS NULL
     GROUP BY lane) ORDER BY first`,
  );
  return { lanes: runs.map(({ lane }) => lane), outboxLanes };
}
