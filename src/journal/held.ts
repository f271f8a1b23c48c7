/** Parts of topics that are not active: held in the outbox, and sent once a person goes back to the topic. */
import { abandonedKey, chatOfLane, draftKey, heldKey, inTopic } from '../core/ids.ts';
import type { OutboundPart } from '../core/message.ts';
import { HELD_FULL, MOST_HELD, type NewPart, TOPIC_DELETED, type TopicOutput } from '../core/outbox.ts';
import { writeEvent } from './record.ts';
import { readPart, type Store } from './store.ts';

/** '' where the chat is not known: then it has no topics. */
export function activeTopic({ db, chats }: Store, chat: string): string {
  const known = chats.known(chat);
  return known ? (known.active ?? '') : (db.get<{ active: string }>('SELECT active FROM chat WHERE key = ?', chat)?.active ?? '');
}

/** False of a topic that was deleted; `''` is the chat itself. */
export function hasTopic({ db, chats }: Store, chat: string, topic: string): boolean {
  if (topic === '') return true;
  const known = chats.known(chat);
  if (known) return known.settings.topics?.includes(topic) === true;
  const sql = "SELECT 1 FROM chat, json_each(settings, '$.topics') AS topic WHERE chat.key = ? AND topic.value = ?";
  return db.get(sql, chat, topic) !== undefined;
}

/** How a new part is written, and what is written beside it. */
export interface Placed {
  readonly part: OutboundPart;
  readonly heldFor: string | null;
  /** Set: it is over at once, for this reason. */
  readonly over?: string;
  /** To be added before it. */
  readonly before: readonly NewPart[];
}

/** In a commit that adds a part: whether it is sent, held, or is one too many. */
export function placePart(store: Store, { part, lane, expiresAt, topic }: NewPart): Placed {
  const chat = chatOfLane(lane);
  // Of a deleted topic, what work in the background came to: no one can go there to read it.
  if (!topic || activeTopic(store, chat) === topic.name || !hasTopic(store, chat, topic.name))
    return { part, heldFor: null, before: [] };
  const heldFor = inTopic(lane, topic.name);
  const held = heldParts(store, heldFor);
  // What was shown of it before the topic changed goes: a draft would say for ever that there is work.
  const { edits, ...own } = part;
  const isDraft = part.messageId !== undefined && edits === draftKey(part.messageId);
  const before = isDraft ? [{ part: takenAway(own, edits), lane, expiresAt }] : [];
  const kept = isDraft ? own : part;
  const last = held.at(-1);
  if (held.length < MOST_HELD || !last) return { part: kept, heldFor, before: last ? before : [...before, topic.notice] };
  markFull(store, last, topic);
  return { part: kept, heldFor: null, over: HELD_FULL, before };
}

function takenAway({ file: _, choices: __, supersedes: ___, ...part }: OutboundPart, edits: string): OutboundPart {
  return { ...part, key: abandonedKey(part.messageId ?? ''), ordinal: 0, count: 1, text: '', edits, editOnly: true };
}

/** In order. */
function heldParts({ db }: Store, heldFor: string): readonly number[] {
  return db
    .all<{ seq: number }>("SELECT seq FROM outbox WHERE held_for = ? AND state = 'PENDING' ORDER BY seq", heldFor)
    .map(({ seq }) => seq);
}

/** Longer texts give up as much of their end: a part must not grow over what its platform takes. */
const ROOM = 300;

function markFull(store: Store, seq: number, { notice, full }: TopicOutput): void {
  const stored = store.db.get<{ part: string }>('SELECT part FROM outbox WHERE seq = ?', seq);
  if (!stored) return;
  const { file, key, messageId, text } = readPart(stored.part, seq);
  if (text.endsWith(full.trimStart())) return;
  if (file) {
    // Some platforms send a file without words: a message of its own behind it says that more came.
    const part = { ...notice.part, key: heldKey(key), messageId, text: full.trimStart() };
    const sql = `INSERT INTO outbox (key, lane, part, state, held_for, created_at, expires_at)
      SELECT ?, lane, ?, state, held_for, created_at, expires_at FROM outbox WHERE seq = ?`;
    store.db.run(sql, part.key, JSON.stringify(part), seq);
    return;
  }
  const kept = text.length > ROOM ? text.slice(0, -full.length).replace(/[\ud800-\udbff]$/, '') : text;
  store.db.run("UPDATE outbox SET part = json_set(part, '$.text', ?) WHERE seq = ?", `${kept}${full}`, seq);
}

/**
 * In order, behind all that the outbox holds, with the time to be sent that they had when they were
 * written. Returns how many.
 */
export function releaseHeld(store: Store, heldFor: string): number {
  const seqs = heldParts(store, heldFor);
  const sql = `UPDATE outbox SET seq = (SELECT max(seq) FROM outbox) + 1, held_for = NULL, created_at = ?1,
    expires_at = ?1 + (expires_at - created_at) WHERE seq = ?2`;
  for (const seq of seqs) store.db.run(sql, store.clock.now(), seq);
  return seqs.length;
}

/** Its topic is deleted: what is held of it is over, and says why. */
export function dropHeld(store: Store, heldFor: string): void {
  for (const seq of heldParts(store, heldFor)) {
    const sql = `UPDATE outbox SET state = 'EXPIRED', held_for = NULL, settled_at = max(?1, expires_at), reason = '${TOPIC_DELETED}' WHERE seq = ?2`;
    store.db.run(sql, store.clock.now(), seq);
    noteOver(store, seq, TOPIC_DELETED);
  }
}

/** The event of a part that ended without being sent. */
export function noteOver(store: Store, seq: number, reason: string): void {
  const row = store.db.get<{ key: string; channel: string; run: string | null }>(
    "SELECT key, part ->> '$.channel' AS channel, part ->> '$.messageId' AS run FROM outbox WHERE seq = ?",
    seq,
  );
  if (!row) return;
  const about = row.run === null ? {} : { messageId: row.run };
  writeEvent(store, { type: 'part.expired', at: store.clock.now(), key: row.key, channel: row.channel, ...about, reason });
}
