// the ids of a person who was erased -> keyed hashes, in what has to stay: ledger, dedup, audit
import type { Erasure } from '../core/erasure.ts';
import { inKeys, principalOf, senderOf } from '../core/ids.ts';
import { redactAudit, writeAudit } from './audit.ts';
import { hashKeys } from './erase-keys.ts';
import { wholeId } from './erase-names.ts';
import { About } from './erase-rows.ts';
import { forgetGone } from './gone-topics.ts';
import { erasedId, isErasedId } from './keyed-hash.ts';
import { forgetMisses } from './links.ts';
import type { Store } from './store.ts';
import { SUMS } from './usage-sums.ts';

/**
 * In one transaction: each id is the same hash everywhere. The entry of the decision names the hash alone.
 */
export function hashIds(store: Store, erasure: Erasure, counts: Readonly<Record<string, number>>): void {
  const about = new About(erasure);
  const id = new Ids(store, erasure);
  hashUsage(store, about, id);
  hashSums(store, about, id);
  hashDedup(store, about, id);
  hashKeys(store, erasure);
  const entries = redactAudit(store, (text) => id.scrubbed(text), id.scrubbed(erasure.by));
  forgetMisses(store, about.principals);
  forgetGone(store, (session) => about.isOwnSession(session));
  writeAudit(store, {
    kind: 'person.erased',
    subject: erasure.key,
    by: id.scrubbed(erasure.by),
    data: { ids: erasure.ids.length, entries, ...counts },
  });
}

/** The texts by which they are known: ids, chats, and keys of messages in their chats. */
class Ids {
  readonly #store: Store;
  readonly #patterns: readonly RegExp[];

  constructor(store: Store, { ids, chats, sessions }: Erasure) {
    this.#store = store;
    const texts = [...ids.map(principalOf), ...chats, ...sessions].sort((a, b) => b.length - a.length);
    this.#patterns = texts.map((text) => wholeId(text, 'gu'));
  }

  scrubbed(text: string): string {
    return this.#patterns.reduce((left, pattern) => left.replace(pattern, (found) => erasedId(this.#store, found)), text);
  }
}

interface UsageRow {
  readonly id: string;
  readonly session: string;
  readonly sender: string;
}

function hashUsage(store: Store, about: About, id: Ids): void {
  for (const row of store.db.all<UsageRow>('SELECT id, session, sender FROM usage')) {
    if (!about.principals.has(row.sender) && !about.isOwnSession(row.session)) continue;
    store.db.run(
      'UPDATE usage SET id = ?, session = ?, sender = ? WHERE id = ?',
      ...[erasedId(store, row.id), hashedSession(store, about, row.session), id.scrubbed(row.sender), row.id],
    );
  }
}

function hashedSession(store: Store, about: About, session: string): string {
  return about.isOwnSession(session) ? erasedId(store, session) : session;
}

interface SumRow {
  readonly start: number;
  readonly session: string;
  readonly sender: string;
  readonly job: string;
}

/**
 * Two rows that come to have one key are added up: a person may be erased twice within a quarter of an hour.
 */
function hashSums(store: Store, about: About, id: Ids): void {
  const { db } = store;
  const sums = SUMS.join(', ');
  const added = SUMS.map((sum) => `${sum} = ${sum} + excluded.${sum}`).join(', ');
  for (const { start, session, sender, job } of db.all<SumRow>('SELECT start, session, sender, job FROM usage_by_sender')) {
    if (!about.principals.has(sender) && !about.isOwnSession(session)) continue;
    const old = [start, session, sender, job];
    db.run(
      `INSERT INTO usage_by_sender (start, session, sender, job, ${sums})
       SELECT start, ?, ?, job, ${sums} FROM usage_by_sender WHERE start = ? AND session = ? AND sender = ? AND job = ?
       ON CONFLICT DO UPDATE SET ${added}`,
      ...[hashedSession(store, about, session), id.scrubbed(sender), ...old],
    );
    db.run('DELETE FROM usage_by_sender WHERE start = ? AND session = ? AND sender = ? AND job = ?', ...old);
  }
}

/** Keys of messages in their private chats; a message that a platform repeats is still known by the hash. */
function hashDedup(store: Store, about: About, id: Ids): void {
  const isTheirs = keysOf(about);
  for (const { kind, key } of store.db.all<{ kind: number; key: string }>('SELECT kind, key FROM dedup')) {
    if (isErasedId(key) || !(isTheirs(key) || id.scrubbed(key) !== key)) continue;
    store.db.run('UPDATE OR REPLACE dedup SET key = ? WHERE kind = ? AND key = ?', erasedId(store, key), kind, key);
  }
}

/** Platforms number messages within a chat: their ids begin with that of the chat, or hold it. */
function keysOf({ chats, principals }: About): (key: string) => boolean {
  const tokens = [...chats].map((chat) => ({ chat, ...senderOf(chat), id: chat.split('/', 3)[2] ?? '' }));
  const own = [...principals].map((principal) => {
    const channel = principal.slice(0, principal.indexOf(':'));
    return { channel: inKeys(channel), id: inKeys(principal.slice(channel.length + 1)) };
  });
  return (key) => {
    const [channel, account = '', name = ''] = key.split('/', 3);
    const holds = (id: string): boolean => id !== '' && name.split(/[^\p{L}\p{N}%@._+-]/u).includes(id);
    return (
      tokens.some((one) => inKeys(one.channel) === channel && inKeys(one.account) === account && holds(one.id)) ||
      own.some((one) => one.channel === channel && holds(one.id))
    );
  };
}
