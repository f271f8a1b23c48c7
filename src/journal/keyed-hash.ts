/**
 * Ids of people who were erased stand in the journal as keyed hashes: whose they are cannot be told from
 * them.
 */
import { createHmac, randomBytes } from 'node:crypto';
import type { Store } from './store.ts';

const KEY = 'erase_key';
const ERASED = 'erased:';
const DIGITS = 24;

/** The same text has the same hash in this journal, in no other. */
export function erasedId(store: Pick<Store, 'db'>, text: string): string {
  return hashed(keyOf(store) ?? makeKey(store), text);
}

/** Undefined = nothing was ever erased here, so no hash can be stored. */
export function erasedIdIfAny(store: Pick<Store, 'db'>, text: string): string | undefined {
  const key = keyOf(store);
  return key && hashed(key, text);
}

export function isErasedId(text: string): boolean {
  return text.startsWith(ERASED);
}

function hashed(key: Uint8Array, text: string): string {
  return isErasedId(text) ? text : ERASED + createHmac('sha256', key).update(text).digest('hex').slice(0, DIGITS);
}

function keyOf({ db }: Pick<Store, 'db'>): Uint8Array | undefined {
  return db.get<{ value: Uint8Array }>('SELECT value FROM meta WHERE name = ?', KEY)?.value;
}

/** In the transaction that needs it. */
function makeKey({ db }: Pick<Store, 'db'>): Uint8Array {
  const key = new Uint8Array(randomBytes(32));
  db.run('INSERT INTO meta (name, value) VALUES (?, ?)', KEY, key);
  return key;
}
