/**
 * Refusals of one chat that come faster than a few a second share a row, so that a flood cannot fill the
 * record: the row names each message, and is written again as they come.
 */
import type { Database } from './database.ts';
import type { Refusal } from './store.ts';

export const REFUSED = 'refused';
const WINDOW_MS = 1_000;
/**
 * A row that names refusals of this age may still be written again: their window, and as long again for the
 * commit.
 */
export const REWRITTEN_WITHIN_MS = 2 * WINDOW_MS;
/** Of one chat and window that have a row each. */
const SINGLE = 3;
/** Messages in a row: about 15 kB, and each commit writes it again. */
const MOST_NAMED = 500;
/** Chats that are remembered. */
const MOST_CHATS = 1_000;
/**
 * Before a chat in the column `run`. No key of a run begins so: it begins with the name of a channel, a job
 * or a client.
 */
const MARK = '~';

/** What the row says of a message: what its key adds to channel and account, and the reason. */
export type Named = readonly [id: string, reason: string];

interface Window {
  readonly since: number;
  single: number;
  row?: { readonly seq: number; readonly names: Named[] };
}

/**
 * Which refusals share a row. Nothing here outlives the process: after a start each chat has a new window.
 */
export class RefusalRows {
  readonly #windows = new Map<string, Window>();

  /**
   * Writes what shares a row, and returns what is to have a row of its own. To be called in a transaction;
   * when that fails, `forget`.
   */
  write(db: Database, refusals: readonly Refusal[]): readonly Refusal[] {
    const changed = new Set<NonNullable<Window['row']>>();
    const single = refusals.filter((refusal) => {
      const window = this.#windowOf(refusal);
      if (window.single < SINGLE) {
        window.single += 1;
        return true;
      }
      if (!window.row || window.row.names.length >= MOST_NAMED) window.row = { seq: insertRow(db, refusal), names: [] };
      window.row.names.push([refusal.run.slice(accountOf(refusal.run).length), refusal.reason]);
      changed.add(window.row);
      return false;
    });
    for (const { seq, names } of changed) db.run('UPDATE event SET data = ? WHERE seq = ?', JSON.stringify(names), seq);
    return single;
  }

  /** The rows of a transaction that failed are not there. */
  forget(): void {
    this.#windows.clear();
  }

  #windowOf({ chat, at }: Refusal): Window {
    const known = this.#windows.get(chat);
    if (known && Math.abs(at - known.since) < WINDOW_MS) return known;
    this.#windows.delete(chat);
    for (const oldest of this.#windows.keys()) {
      if (this.#windows.size < MOST_CHATS) break;
      this.#windows.delete(oldest);
    }
    const window: Window = { since: at, single: 0 };
    this.#windows.set(chat, window);
    return window;
  }
}

function insertRow(db: Database, { at, channel, chat }: Refusal): number {
  const sql = "INSERT INTO event (at, run, channel, type, data) VALUES (?, ?, ?, ?, '[]')";
  return db.insert(sql, at, `${MARK}${chat}`, channel, REFUSED);
}

/** Where in the index the rows lie that may name a message: from, and up to. `0` follows the separator. */
export function rangeNaming(run: string): readonly [string, string] {
  const account = `${MARK}${accountOf(run)}`;
  return [account, account.replace(/\/$/, '0')];
}

/** The chat of a row of this `run`. */
export function chatOf(run: string): string {
  return run.slice(MARK.length);
}

/** The key of a message that a row of this `run` names. */
export function keyOf(run: string, [id]: Named): string {
  return `${accountOf(run).slice(MARK.length)}${id}`;
}

/** What the row of a message says about it, as text of its JSON. */
export function nameIn(run: string): string {
  return `[${JSON.stringify(run.slice(accountOf(run).length))},`;
}

/** `channel/account/` of the key of a chat or a message. */
function accountOf(key: string): string {
  return /^[^/]*\/[^/]*\//.exec(key)?.[0] ?? '';
}
