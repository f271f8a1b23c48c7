/** What an edit or delete says of an earlier message, and which row that changes. */
import { messageKey } from '../core/ids.ts';
import { type InboundMessage, mayChange } from '../core/message.ts';
import { readMessage, type Store } from './store.ts';

/** Key of the message that an edit is about; undefined for everything else. */
export function correctedKey({ kind, channel, account, targetId }: InboundMessage): string | undefined {
  return kind === 'edit' && targetId !== undefined ? messageKey({ channel, account, platformId: targetId }) : undefined;
}

/**
 * Whether an edit says what the newest version says that is known of its message. Platforms also announce as
 * an edit what changed no word of it, such as the first reaction to it: a turn for that would be a second
 * answer. What is older than the inbox keeps is not known, and taken as changed.
 */
export function isUnchanged(store: Store, message: InboundMessage): boolean {
  const key = correctedKey(message);
  if (key === undefined) return false;
  // A correction always comes after the row it corrects, which holds the changes made to it before its turn
  // began. One that was taken back is no version: no turn worked on it.
  const row =
    store.db.get<StoredMessage>(
      "SELECT seq, input FROM run WHERE corrects = ? AND outcome IS NOT 'deleted' ORDER BY seq DESC LIMIT 1",
      key,
    ) ?? store.db.get<StoredMessage>('SELECT seq, input FROM run WHERE key = ? ORDER BY seq DESC LIMIT 1', key);
  if (!row) return false;
  const known = readMessage(row.input, row.seq);
  if (known.chatId !== message.chatId || (message.mentionsBot && !known.mentionsBot)) return false;
  return known.text === message.text && hasNoOther(message, known);
}

/**
 * The corrections of a message that came after every one whose turn has begun, newest first. An older one may
 * wait again (a dead letter that is replayed), but what is written into that row would no longer be the
 * newest word.
 */
function unbegunCorrections(store: Store, key: string): readonly StoredMessage[] {
  return store.db.all<StoredMessage>(
    `SELECT seq, input FROM run WHERE corrects = ? AND seq > (
       SELECT coalesce(max(begun.seq), 0) FROM run AS begun
       WHERE begun.corrects = ? AND (begun.state <> 'NEW' OR EXISTS (SELECT 1 FROM step WHERE run_seq = begun.seq)))
     ORDER BY seq DESC`,
    key,
    key,
  );
}

interface StoredMessage {
  readonly seq: number;
  readonly input: string;
}

/** An edit may carry some of the files, or none, of a message that it leaves as it is. */
function hasNoOther(message: InboundMessage, known: InboundMessage): boolean {
  return message.media.every(({ ref }) => known.media.some((file) => file.ref === ref));
}

/** A row that an edit or delete changes in place. */
export interface Target {
  readonly seq: number;
  readonly message: InboundMessage;
}

/**
 * What an edit or delete of this message changes: its newest correction whose turn has not begun, or else its
 * own row when that has not begun. It must be of the same chat and author, see `mayChange`.
 */
export function findUnbegun(store: Store, message: InboundMessage): Target | undefined {
  if (message.targetId === undefined) return undefined;
  const key = targetKey(message, message.targetId);
  // The correction comes first: where both wait (a dead letter that is replayed), it has the last word.
  const rows = [...unbegunCorrections(store, key), ...unbegunOriginals(store, key)];
  return rows
    .map(({ seq, input }): Target => ({ seq, message: readMessage(input, seq) }))
    .find((target) => isOwn(message, target.message));
}

/** NEW and without steps: a parked turn has read the old text already. */
function unbegunOriginals(store: Store, key: string): readonly StoredMessage[] {
  return store.db.all<StoredMessage>(
    `SELECT seq, input FROM run WHERE key = ? AND state = 'NEW'
       AND NOT EXISTS (SELECT 1 FROM step WHERE run_seq = run.seq AND kind <> 'note') ORDER BY seq DESC LIMIT 1`,
    key,
  );
}

/**
 * Whether the agent works on the message an edit names, or answered it. What was stopped, taken back or
 * overheard is none of its.
 */
export function wasTakenUp(store: Store, message: InboundMessage): boolean {
  if (message.targetId === undefined) return false;
  const row = store.db.get<{ seq: number; input: string; state: string }>(
    `SELECT seq, input, state FROM run WHERE key = ?
       AND (state IN ('NEW', 'RUNNING', 'PARKED') OR outcome = 'answered' OR outcome LIKE 'limit:%'
         OR outcome LIKE 'merged:%' OR outcome LIKE 'steered:%') ORDER BY seq DESC LIMIT 1`,
    targetKey(message, message.targetId),
  );
  if (!row) return false;
  const original = readMessage(row.input, row.seq);
  return isOwn(message, original) && !(original.overheard && row.state !== 'DONE');
}

/** Of a message that another run took up: where that ends unanswered, its words do not wait anew. */
export function noteTakenBack(store: Store, message: InboundMessage): void {
  if (message.targetId === undefined) return;
  const row = store.db.get<StoredMessage>(
    `SELECT seq, input FROM run WHERE key = ? AND state = 'DONE' AND (outcome LIKE 'merged:%' OR outcome LIKE 'steered:%')
     ORDER BY seq DESC LIMIT 1`,
    targetKey(message, message.targetId),
  );
  if (row && isOwn(message, readMessage(row.input, row.seq)))
    store.db.run("UPDATE run SET input = json_set(input, '$.isTakenBack', json('true')) WHERE seq = ?", row.seq);
}

function targetKey({ channel, account }: InboundMessage, targetId: string): string {
  return messageKey({ channel, account, platformId: targetId });
}

function isOwn(message: InboundMessage, original: InboundMessage): boolean {
  return original.chatId === message.chatId && mayChange(message, original.senderId);
}
