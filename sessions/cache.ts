import { LRUCache } from 'lru-cache';
import type { Session, SessionStore } from '../src/core/session.ts';
import { newLines } from './append-new.ts';

export interface CacheOptions {
  /** Sessions kept in memory. Default 1000 (spec C1). */
  readonly maxSessions?: number;
  /** Bytes of text kept over all sessions; a session larger than this is never kept. Default 64 MiB (F46). */
  readonly maxBytes?: number;
}

/** Bytes appended to a kept session before it is read again: the store may have rotated the file since. */
const MAX_APPENDED = 1024 * 1024;

interface Entry {
  readonly session: Session;
  /**
   * How many of the newest messages its reader needs; absent = all. Up to twice as many are kept, so that
   * few appends copy.
   */
  readonly newest: number | undefined;
  /** Nothing was left out. */
  readonly whole: boolean;
  readonly bytes: number;
  readonly appended: number;
}

/**
 * Keeps recently used sessions in memory in front of any store, of each at most twice as many messages as its
 * reader asked for. The store stays the authority: every write goes through before the copy changes, a failed
 * write drops the copy, and an evicted session is simply read again.
 */
export function cached(store: SessionStore, options: CacheOptions = {}): SessionStore {
  const { maxSessions = 1000, maxBytes = 64 * 1024 * 1024 } = options;
  const entries = new LRUCache<string, Entry>({ max: maxSessions, maxSize: maxBytes, sizeCalculation: (entry) => entry.bytes });
  /** Loads under way; a write to the key while one runs makes its result too old to keep. */
  const loads = new Map<string, Set<{ stale: boolean }>>();

  const drop = (key: string) => {
    entries.delete(key);
    for (const load of loads.get(key) ?? []) load.stale = true;
  };
  const dropAround = async <T>(key: string, write: () => Promise<T>): Promise<T> => {
    drop(key);
    try {
      return await write();
    } finally {
      drop(key);
    }
  };

  return {
    async load(key, newest) {
      const entry = entries.get(key);
      if (entry && (entry.whole || entry.session.messages.length >= (newest ?? Number.POSITIVE_INFINITY))) return entry.session;
      const load = { stale: false };
      const running = loads.get(key) ?? new Set();
      loads.set(key, running.add(load));
      try {
        const session = await store.load(key, newest);
        const whole = newest === undefined || (session?.messages.length ?? 0) < newest;
        if (session && !load.stale) entries.set(key, newestOf({ session, newest, whole, appended: 0 }));
        return session;
      } finally {
        running.delete(load);
        if (running.size === 0) loads.delete(key);
      }
    },
    async append(key, lines) {
      const before = entries.get(key);
      await dropAround(key, () => store.append(key, lines));
      if (!before) return;
      const { header, messages } = before.session;
      const held = new Set(messages.map(({ id }) => id));
      // Some of these lines come again. The store may also hold the others, which this copy has left out: the
      // next load reads the store.
      if (lines.some(({ id }) => held.has(id))) return;
      const session = { header, messages: [...messages, ...newLines(held, lines)] };
      const appended = before.appended + weigh(session) - before.bytes;
      if (appended <= MAX_APPENDED) entries.set(key, newestOf({ ...before, session, appended }));
    },
    fork: (source, target, keep) => dropAround(target, () => store.fork(source, target, keep)),
    rewrite: (key, messages, header) => dropAround(key, () => store.rewrite(key, messages, header)),
    archived: (key) => store.archived(key),
    archive: (key, lines) => store.archive(key, lines),
    list: () => store.list(),
    redact: (key, ...how) => dropAround(key, () => store.redact(key, ...how)),
    remove: (key) => dropAround(key, () => store.remove(key)),
    release: (key) => {
      drop(key);
      store.release(key);
    },
  };
}

/** The entry without the oldest messages once there are twice as many as needed. */
function newestOf(entry: Omit<Entry, 'bytes'>): Entry {
  const { session, newest } = entry;
  if (newest === undefined || session.messages.length <= newest * 2) return { ...entry, bytes: weigh(session) };
  const kept = { header: session.header, messages: session.messages.slice(-newest) };
  return { ...entry, session: kept, whole: false, bytes: weigh(kept) };
}

/** About what a session costs in memory; 200 for the objects of one message. */
function weigh(session: Session): number {
  let bytes = 200;
  for (const message of session.messages) {
    bytes += 200 + message.content.length + (message.reasoning_content?.length ?? 0);
    if (message.provider_state) bytes += JSON.stringify(message.provider_state.data).length;
    for (const call of message.tool_calls ?? []) bytes += 100 + call.arguments.length;
  }
  return bytes;
}
