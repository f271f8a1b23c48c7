import type { DeadLetter } from '../core/dead-letters.ts';
import type { Json } from '../core/message.ts';
import type { Change } from './commit-queue.ts';
import { readJson, readMessage, readPart, type Store } from './store.ts';

interface DeadInbox {
  readonly seq: number;
  readonly finished_at: number;
  readonly outcome: string | null;
  readonly attempts: number;
  readonly input: string;
  readonly source: string;
  readonly lane: string;
  readonly principal: string;
}

interface DeadOutbox {
  readonly seq: number;
  readonly settled_at: number;
  readonly reason: string | null;
  readonly attempts: number;
  readonly part: string;
}

const FROM_INBOX = `SELECT seq, finished_at, outcome, attempts, input, source, lane, principal FROM run
  WHERE state = 'DEAD' AND finished_at IS NOT NULL`;
const FROM_OUTBOX = 'SELECT seq, settled_at, reason, attempts, part FROM outbox WHERE';
/**
 * A part that expired may still be wanted. Others are EXPIRED before their time, because something newer took
 * their place.
 */
const IS_LETTER = "settled_at IS NOT NULL AND state IN ('DEAD', 'EXPIRED') AND (state = 'DEAD' OR settled_at >= expires_at)";

/** Oldest first. */
export function listDead(store: Store): readonly DeadLetter[] {
  const letters = [
    ...store.db.all<DeadInbox>(FROM_INBOX).map(fromInbox),
    ...store.db.all<DeadOutbox>(`${FROM_OUTBOX} ${IS_LETTER}`).map(fromOutbox),
  ];
  return letters.sort((a, b) => a.at - b.at);
}

export function showDead(store: Store, id: string): DeadLetter | undefined {
  const place = parseId(id);
  if (!place) return undefined;
  if (place.box === 'in') {
    const row = store.db.get<DeadInbox>(`${FROM_INBOX} AND seq = ?`, place.seq);
    return row && fromInbox(row);
  }
  const row = store.db.get<DeadOutbox>(`${FROM_OUTBOX} seq = ? AND ${IS_LETTER}`, place.seq);
  return row && fromOutbox(row);
}

/**
 * Runs or sends it once more. A message starts with a fresh age and no attempts, but keeps its steps: a tool
 * that ran is not run again. Its dedup key stays too. A part gets the life it had when it was made.
 */
export function replayDead(store: Store, id: string, change: Change): boolean {
  const place = parseId(id);
  if (!place) return false;
  const now = store.clock.now();
  if (place.box === 'in') {
    const replayed = store.db.run(
      `UPDATE run SET state = 'NEW', attempts = 0, not_before = 0, aged_from = ?, finished_at = NULL, outcome = NULL,
         result = NULL, keep_until = accepted_at + (keep_until - finished_at)
       WHERE seq = ? AND state = 'DEAD'`,
      now,
      place.seq,
    );
    change.active += replayed;
    return replayed === 1;
  }
  const sql = `UPDATE outbox SET state = 'PENDING', attempts = 0, doubt_since = NULL, not_before = 0, settled_at = NULL, reason = NULL,
      expires_at = ? + (expires_at - created_at), created_at = ? WHERE seq = ? AND ${IS_LETTER}`;
  return store.db.run(sql, now, now, place.seq) === 1;
}

/** See `Write`. */
export function resumeRun(store: Store, key: string, change: Change): void {
  const dead = store.db.get<{ seq: number; lane: string }>(
    "SELECT seq, lane FROM run WHERE key = ? AND state = 'DEAD' AND profile = 'task' ORDER BY seq DESC LIMIT 1",
    key,
  );
  if (!dead || !replayDead(store, `in-${dead.seq}`, change)) return;
  change.woken.add(dead.lane);
}

export function dropDead(store: Store, id: string): boolean {
  const place = parseId(id);
  if (!place) return false;
  if (place.box === 'out') {
    closeGap(store, place.seq);
    return store.db.run(`DELETE FROM outbox WHERE seq = ? AND ${IS_LETTER}`, place.seq) === 1;
  }
  if (store.db.run("DELETE FROM run WHERE seq = ? AND state = 'DEAD'", place.seq) !== 1) return false;
  store.db.run('DELETE FROM step WHERE run_seq = ?', place.seq);
  store.db.run('DELETE FROM wait WHERE run = ?', place.seq);
  return true;
}

/**
 * The part that this one was to replace leads to what replaced this one: that may be the newest answer in the
 * chat.
 */
function closeGap(store: Store, seq: number): void {
  store.db.run(
    `UPDATE outbox SET part = json_set(part, '$.replacedBy', gone.next)
     FROM (SELECT key, part ->> '$.supersedes' AS old, part ->> '$.replacedBy' AS next FROM outbox WHERE seq = ? AND ${IS_LETTER}) AS gone
     WHERE outbox.key = gone.old AND outbox.part ->> '$.replacedBy' = gone.key AND gone.next IS NOT NULL`,
    seq,
  );
}

function parseId(id: string): { readonly box: 'in' | 'out'; readonly seq: number } | undefined {
  const match = /^(in|out)-([1-9]\d{0,14})$/.exec(id);
  if (!match) return undefined;
  return { box: match[1] === 'in' ? 'in' : 'out', seq: Number(match[2]) };
}

function fromInbox(row: DeadInbox): DeadLetter {
  if (row.source !== 'chat') return fromPrompt(row);
  const message = readMessage(row.input, row.seq);
  return {
    id: `in-${row.seq}`,
    at: row.finished_at,
    channel: message.channel,
    chatId: message.chatId,
    sender: message.senderId,
    reason: row.outcome ?? '',
    attempts: row.attempts,
    payload: message as unknown as Json,
  };
}

/** Of a run that no message began: what began it stands for the channel, its lane for the chat. */
function fromPrompt({ seq, finished_at: at, outcome, attempts, input, source, lane, principal }: DeadInbox): DeadLetter {
  const payload = readJson(input, `run ${seq}`);
  return { id: `in-${seq}`, at, channel: source, chatId: lane, sender: principal, reason: outcome ?? '', attempts, payload };
}

/** The sender of a part is our own account on that channel. */
function fromOutbox(row: DeadOutbox): DeadLetter {
  const part = readPart(row.part, row.seq);
  return {
    id: `out-${row.seq}`,
    at: row.settled_at,
    channel: part.channel,
    chatId: part.chatId,
    sender: part.account,
    reason: row.reason ?? '',
    attempts: row.attempts,
    payload: part as unknown as Json,
  };
}
