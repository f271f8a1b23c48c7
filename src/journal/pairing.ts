import { createHmac, randomBytes, randomInt, timingSafeEqual } from 'node:crypto';
import { chatKey } from '../core/ids.ts';
import type { PairingRequest, PairingStore } from '../core/pairing.ts';
import type { CommitQueue } from './commit-queue.ts';
import type { Store } from './store.ts';

/**
 * No 0 O, 1 I L, 2 Z, 5 S, 8 B, U V: what people misread from a screen. 23^8 is about 2^36; 10 tries an hour
 * (A2).
 */
const ALPHABET = 'ACDEFGHJKMNPQRTWXY34679';
const CODE_LENGTH = 8;
const LIFE_MS = 3_600_000;
const REPEAT_MS = 600_000;
const MAX_PENDING = 3;
const MAX_MISSES = 10;
const MISS_WINDOW_MS = 3_600_000;

type Who = Parameters<PairingStore['request']>[0];
type Answer = Awaited<ReturnType<PairingStore['request']>>;

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
}

/**
 * Only keyed hashes of codes are stored. The codes this process gave out stay in memory so that they can be
 * repeated; after a restart the sender is told a new one instead. Wrong codes are counted in the file,
 * because each CLI command is a new process.
 */
export class SqlitePairingStore implements PairingStore {
  readonly #store: Store;
  readonly #queue: CommitQueue;
  readonly #told = new Map<string, { readonly code: string; readonly expiresAt: number }>();

  constructor(store: Store, queue: CommitQueue) {
    this.#store = store;
    this.#queue = queue;
  }

  decided(who: Pick<Who, 'channel' | 'account' | 'senderId'>): Promise<'approved' | 'denied' | undefined> {
    const key = chatKey({ channel: who.channel, account: who.account, chatId: who.senderId });
    return this.#queue.peek(() => {
      const state = this.#store.db.get<PairingRow>('SELECT * FROM pairing WHERE key = ?', key)?.state;
      return state === 'pending' ? undefined : state;
    });
  }

  async request(who: Who, now: number): Promise<Answer> {
    const key = chatKey({ channel: who.channel, account: who.account, chatId: who.senderId });
    const answer = await this.#queue.write(() => this.#request(key, who, now, this.#told.get(key)?.code));
    for (const [other, { expiresAt }] of this.#told) if (expiresAt <= now) this.#told.delete(other);
    if (answer.state !== 'pending') this.#told.delete(key);
    else if (answer.code !== undefined) this.#told.set(key, { code: answer.code, expiresAt: now + LIFE_MS });
    return answer;
  }

  approve(code: string, now: number): Promise<PairingRequest | undefined> {
    return this.#queue.write(() => this.#decide(code, now, 'approved'));
  }

  deny(code: string, now: number): Promise<PairingRequest | undefined> {
    return this.#queue.write(() => this.#decide(code, now, 'denied'));
  }

  list(now: number): Promise<readonly PairingRequest[]> {
    return this.#queue.read(() =>
      this.#store.db
        .all<PairingRow>("SELECT * FROM pairing WHERE state <> 'pending' OR expires_at > ? ORDER BY created_at", now)
        .map(toRequest),
    );
  }

  #request(key: string, who: Who, now: number, known: string | undefined): Answer {
    const { db } = this.#store;
    // Of this account alone: what expired at another one stops none of its senders, and is shown to no person.
    const [from, to] = keysOf(who);
    db.run("DELETE FROM pairing WHERE key >= ? AND key < ? AND state = 'pending' AND expires_at <= ?", from, to, now);
    const row = db.get<PairingRow>('SELECT * FROM pairing WHERE key = ?', key);
    if (row && row.state !== 'pending') return { state: row.state };
    if (row && now - row.told_at < REPEAT_MS) return { state: 'pending' };
    if (!row && this.#pending(who) >= MAX_PENDING) return { state: 'full' };
    const repeated = row && known !== undefined && this.#matches(row, this.#hash(known)) ? known : undefined;
    const code = repeated ?? newCode();
    db.run(
      `INSERT INTO pairing (key, channel, account, sender_id, sender_name, state, code_hash, created_at, expires_at, told_at)
       VALUES (?, ?, ?, ?, ?, 'pending', ?, ?, ?, ?)
       ON CONFLICT DO UPDATE SET sender_name = excluded.sender_name, code_hash = excluded.code_hash, told_at = excluded.told_at,
         expires_at = CASE WHEN ? THEN expires_at ELSE excluded.expires_at END`,
      key,
      who.channel,
      who.account,
      who.senderId,
      who.senderName,
      this.#hash(code),
      now,
      now + LIFE_MS,
      now,
      repeated === undefined ? 0 : 1,
    );
    return { state: 'pending', code };
  }

  #pending(who: Who): number {
    const sql = "SELECT count(*) AS count FROM pairing WHERE key >= ? AND key < ? AND state = 'pending'";
    return this.#store.db.get<{ count: number }>(sql, ...keysOf(who))?.count ?? 0;
  }

  #decide(code: string, now: number, state: 'approved' | 'denied'): PairingRequest | undefined {
    const { db } = this.#store;
    db.run('DELETE FROM pairing_miss WHERE at <= ?', now - MISS_WINDOW_MS);
    const misses = db.get<{ count: number }>('SELECT count(*) AS count FROM pairing_miss')?.count ?? 0;
    if (misses >= MAX_MISSES) return undefined;
    const hash = this.#hash(code.toUpperCase().replace(/[\s-]/g, ''));
    const rows = db.all<PairingRow>("SELECT * FROM pairing WHERE state = 'pending' AND expires_at > ?", now);
    // Every row is compared, so the time taken does not tell which came close.
    const row = rows.filter((candidate) => this.#matches(candidate, hash))[0];
    if (!row) {
      db.run('INSERT INTO pairing_miss (at) VALUES (?)', now);
      return undefined;
    }
    db.run('UPDATE pairing SET state = ?, code_hash = NULL WHERE key = ?', state, row.key);
    return { ...toRequest(row), state };
  }

  #matches(row: PairingRow, hash: Uint8Array): boolean {
    return row.code_hash !== null && timingSafeEqual(row.code_hash, hash);
  }

  #hash(code: string): Uint8Array {
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

/**
 * From the first key that a sender of this account can have to the one behind the last: `0` follows the `/`
 * that stands before the sender.
 */
function keysOf({ channel, account }: Who): readonly [from: string, to: string] {
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
  };
}
