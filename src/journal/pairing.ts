import { createHmac, randomBytes, randomInt, timingSafeEqual } from 'node:crypto';
import { chatKey, principalOf } from '../core/ids.ts';
import type { Asking, Deciding, ExpectedWord, PairingRequest, PairingStore } from '../core/pairing.ts';
import type { PersonRef } from '../core/people.ts';
import type { GroupRef } from '../core/person.ts';
import { writeAudit } from './audit.ts';
import { isBlocked } from './blocks.ts';
import type { CommitQueue } from './commit-queue.ts';
import { addParts } from './outbox.ts';
import type { Store } from './store.ts';

/**
 * No 0 O, 1 I L, 2 Z, 5 S, 8 B, U V: what people misread from a screen. 23^8 is about 2^36; 10 tries an hour
 * (A2).
 */
const ALPHABET = 'ACDEFGHJKMNPQRTWXY34679';
const CODE_LENGTH = 8;
const LIFE_MS = 3_600_000;
const REPEAT_MS = 600_000;
/**
 * Codes told per channel account. Strangers beyond get none and cost no write, and it bounds what waits: 600
 * requests an hour.
 */
const CODES_A_WINDOW = 10;
const CODES_WINDOW_MS = 60_000;
/** How a word of `expect` begins and what follows; the first in the beginning of a text is looked at. */
const WORD = /\bPAIR-?([A-Z0-9]{8})\b/i;
const WORD_WITHIN = 2_000;
const WORD_LIFE_MS = 7 * 24 * 3_600_000;
const WORD_ROW = 'pairing_word';
const MAX_MISSES = 10;
const MISS_WINDOW_MS = 3_600_000;

type Answer = Awaited<ReturnType<PairingStore['request']>>;
type Verdict = 'approved' | 'denied';

interface PairingRow {
  readonly key: string;
  readonly channel: string;
  readonly account: string;
  readonly sender_id: string;
  readonly sender_name: string;
  readonly state: 'pending' | 'approved' | 'denied';
  readonly code_hash: Uint8Array | null;
  readonly created_at: number;
  readonly expires_at: number;
  readonly told_at: number;
  readonly chat_id: string | null;
}

/**
 * Only keyed hashes of codes are stored; the text that tells a code is in the outbox until it is sent, see
 * `OutboundPart.keptAs`. The codes this process gave out stay in memory so that they can be repeated; after a
 * restart the sender is told a new one instead. Wrong codes are counted in the file, because each CLI command
 * is a new process.
 */
export class SqlitePairingStore implements PairingStore {
  readonly #store: Store;
  readonly #queue: CommitQueue;
  readonly #told = new Map<string, { readonly code: string; readonly expiresAt: number }>();
  /** By channel account, apart for those who are expected: when codes were told lately. */
  readonly #rate = new Map<string, readonly number[]>();

  constructor(store: Store, queue: CommitQueue) {
    this.#store = store;
    this.#queue = queue;
  }

  decided(who: Pick<Asking, 'channel' | 'account' | 'senderId'>): Promise<Verdict | undefined> {
    return this.#queue.peek(() => {
      const state = this.#row(keyOf(who))?.state;
      return state === 'pending' ? undefined : state;
    });
  }

  isBlocked(who: PersonRef & GroupRef): Promise<boolean> {
    return this.#queue.peek(() => isBlocked(this.#store, who));
  }

  async request(who: Asking, now: number): Promise<Answer> {
    const key = keyOf(who);
    const known = await this.#queue.peek(() => this.#known(key, now));
    if (known) return known;
    const [account] = keysOf(who);
    if (!this.#mayTell(account, now)) {
      const isExpected = await this.#queue.peek(() => this.#isExpected(who, now));
      if (!isExpected || !this.#mayTell(`${account} expected`, now)) return { state: 'full' };
    }
    const answer = await this.#queue.write(() => this.#request(key, who, now, this.#told.get(key)?.code));
    for (const [other, { expiresAt }] of this.#told) if (expiresAt <= now) this.#told.delete(other);
    if (answer.state !== 'pending') this.#told.delete(key);
    else if (answer.code !== undefined) this.#told.set(key, { code: answer.code, expiresAt: now + LIFE_MS });
    return answer;
  }

  approve(which: string | PersonRef, now: number, deciding?: Deciding): Promise<PairingRequest | undefined> {
    return this.#queue.write(() => this.#decide(which, now, 'approved', deciding));
  }

  deny(which: string | PersonRef, now: number, deciding?: Deciding): Promise<PairingRequest | undefined> {
    return this.#queue.write(() => this.#decide(which, now, 'denied', deciding));
  }

  expect(now: number): Promise<ExpectedWord> {
    return this.#queue.write(() => {
      const [word, expiresAt] = [newCode(), now + WORD_LIFE_MS];
      const value = JSON.stringify({ hash: this.#hash(word).toString('hex'), expiresAt });
      const sql = 'INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value';
      this.#store.db.run(sql, WORD_ROW, value);
      return { word: `PAIR-${word}`, expiresAt };
    });
  }

  expectsUntil(now: number): Promise<number | undefined> {
    return this.#queue.read(() => this.#word(now)?.expiresAt);
  }

  list(now: number): Promise<readonly PairingRequest[]> {
    return this.#queue.read(() =>
      this.#store.db
        .all<PairingRow>("SELECT * FROM pairing WHERE state <> 'pending' OR expires_at > ? ORDER BY created_at", now)
        .map(toRequest),
    );
  }

  /** Counts a code that is told, unless as many were told lately as may be. */
  #mayTell(key: string, now: number): boolean {
    const lately = (this.#rate.get(key) ?? []).filter((at) => Math.abs(now - at) < CODES_WINDOW_MS);
    if (lately.length < CODES_A_WINDOW) lately.push(now);
    else return false;
    this.#rate.set(key, lately);
    return true;
  }

  /** Guessing it gains a stranger nothing but a code, so wrong words are not counted. */
  #isExpected({ text = '' }: Asking, now: number): boolean {
    const word = WORD.exec(text.slice(0, WORD_WITHIN))?.[1];
    if (word === undefined) return false;
    const held = this.#word(now);
    return held !== undefined && timingSafeEqual(Buffer.from(held.hash, 'hex'), this.#hash(word.toUpperCase()));
  }

  /** The word that holds. */
  #word(now: number): { readonly hash: string; readonly expiresAt: number } | undefined {
    const value = this.#store.db.get<{ value: string }>('SELECT value FROM meta WHERE name = ?', WORD_ROW)?.value;
    const { hash = '', expiresAt = 0 } = value === undefined ? {} : (JSON.parse(value) as { hash?: string; expiresAt?: number });
    return expiresAt > now ? { hash, expiresAt } : undefined;
  }

  #row(key: string): PairingRow | undefined {
    return this.#store.db.get<PairingRow>('SELECT * FROM pairing WHERE key = ?', key);
  }

  /** What can be said without a code: what was decided, or that a code was told a moment ago. */
  #known(key: string, now: number): Answer | undefined {
    const row = this.#row(key);
    if (!row || (row.state === 'pending' && row.expires_at <= now)) return undefined;
    return row.state !== 'pending' || now - row.told_at < REPEAT_MS ? { state: row.state } : undefined;
  }

  #request(key: string, who: Asking, now: number, told: string | undefined): Answer {
    const { db } = this.#store;
    // Of this account alone: what expired at another one stops none of its senders and is never shown.
    const [from, to] = keysOf(who);
    db.run("DELETE FROM pairing WHERE key >= ? AND key < ? AND state = 'pending' AND expires_at <= ?", from, to, now);
    // A command may have decided since.
    const known = this.#known(key, now);
    if (known) return known;
    const row = this.#row(key);
    const repeated = row && told !== undefined && this.#matches(row, this.#hash(told)) ? told : undefined;
    const code = repeated ?? newCode();
    db.run(
      `INSERT INTO pairing (key, channel, account, sender_id, sender_name, state, code_hash, created_at, expires_at, told_at, chat_id)
       VALUES (?, ?, ?, ?, ?, 'pending', ?, ?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET sender_name = excluded.sender_name, code_hash = excluded.code_hash, told_at = excluded.told_at,
         chat_id = excluded.chat_id, expires_at = CASE WHEN ? THEN expires_at ELSE excluded.expires_at END`,
      ...[key, who.channel, who.account, who.senderId, who.senderName, this.#hash(code), now, now + LIFE_MS, now, who.chatId],
      repeated === undefined ? 0 : 1,
    );
    return { state: 'pending', code };
  }

  #decide(
    which: string | PersonRef,
    now: number,
    state: Verdict,
    { by = 'cli', tell }: Deciding = {},
  ): PairingRequest | undefined {
    const row = typeof which === 'string' ? this.#ofCode(which, now) : this.#ofSender(which, state);
    if (!row) return undefined;
    this.#store.db.run('UPDATE pairing SET state = ?, code_hash = NULL WHERE key = ?', state, row.key);
    const request = { ...toRequest(row), state };
    addParts(this.#store, tell?.(request) ?? []);
    writeAudit(this.#store, { kind: `pair.${state}`, subject: principalOf(request), by, data: { account: row.account } });
    return request;
  }

  #ofCode(code: string, now: number): PairingRow | undefined {
    const { db } = this.#store;
    db.run('DELETE FROM pairing_miss WHERE at <= ?', now - MISS_WINDOW_MS);
    const misses = db.get<{ count: number }>('SELECT count(*) AS count FROM pairing_miss')?.count ?? 0;
    if (misses >= MAX_MISSES) return undefined;
    const hash = this.#hash(code.toUpperCase().replace(/[\s-]/g, ''));
    const rows = db.all<PairingRow>("SELECT * FROM pairing WHERE state = 'pending' AND expires_at > ?", now);
    // Every row is compared, so the time taken does not tell which came close.
    const row = rows.filter((candidate) => this.#matches(candidate, hash))[0];
    if (!row) db.run('INSERT INTO pairing_miss (at) VALUES (?)', now);
    return row;
  }

  /**
   * Under the newest account that they wrote to. Their hour may be over: it bounds codes, and this is none.
   */
  #ofSender({ channel, senderId }: PersonRef, state: Verdict): PairingRow | undefined {
    const from = state === 'approved' ? "state <> 'approved'" : "state = 'pending'";
    const sql = `SELECT * FROM pairing WHERE channel = ? AND sender_id = ? AND ${from} ORDER BY created_at DESC LIMIT 1`;
    return this.#store.db.get<PairingRow>(sql, channel, senderId);
  }

  #matches(row: PairingRow, hash: Uint8Array): boolean {
    return row.code_hash !== null && timingSafeEqual(row.code_hash, hash);
  }

  #hash(code: string): Buffer {
    return createHmac('sha256', this.#key()).update(code).digest();
  }

  /** Made at first use, inside the transaction that needs it. */
  #key(): Uint8Array {
    const { db } = this.#store;
    const known = db.get<{ value: Uint8Array }>("SELECT value FROM meta WHERE name = 'pairing_key'")?.value;
    if (known) return known;
    const key = new Uint8Array(randomBytes(32));
    db.run("INSERT INTO meta (name, value) VALUES ('pairing_key', ?)", key);
    return key;
  }
}

function keyOf({ channel, account, senderId }: Pick<Asking, 'channel' | 'account' | 'senderId'>): string {
  return chatKey({ channel, account, chatId: senderId });
}

/**
 * From the first key that a sender of this account can have to the one behind the last: `0` follows the `/`
 * that stands before the sender.
 */
function keysOf({ channel, account }: Asking): readonly [from: string, to: string] {
  const from = chatKey({ channel, account, chatId: '' });
  return [from, `${from.slice(0, -1)}0`];
}

function newCode(): string {
  return Array.from({ length: CODE_LENGTH }, () => ALPHABET[randomInt(ALPHABET.length)]).join('');
}

function toRequest(row: PairingRow): PairingRequest {
  return {
    channel: row.channel,
    account: row.account,
    senderId: row.sender_id,
    senderName: row.sender_name,
    state: row.state,
    createdAt: row.created_at,
    expiresAt: row.expires_at,
    ...(row.chat_id === null ? {} : { chatId: row.chat_id }),
  };
}
