/** What is kept between starts: the gateway session, and per chat the newest message that was committed. */
import { list, num, obj, parseObject, str } from '../../kit/json.ts';
import type { Session } from '../wire/gateway.ts';
import { compareIds, idAt, isGatewayUrl, laterId, snowflake } from '../wire/ids.ts';

export interface Cursor {
  /** Nothing older than this id was ever ours to answer: the time of the first start. */
  readonly since: string;
  /** Its `seq` is that of the last event whose commit this is. */
  readonly session?: Session;
  /** Newest committed message by the id of the chat or thread, the most recent last. */
  readonly seen: ReadonlyMap<string, string>;
  /** Private chats among them: the platform offers no list of them, so they are kept however old. */
  readonly privates: ReadonlySet<string>;
  /** Chats that could not be read, with the id behind which messages may be missing, whatever came since. */
  readonly gaps: ReadonlyMap<string, string>;
  /** Servers that the bot joined of late, with the time of that: what was said before was not said to it. */
  readonly joined: ReadonlyMap<string, string>;
  /** Threads that we wrote in, the latest last. */
  readonly threads: ReadonlySet<string>;
}

/** Private chats that are asked for missed messages. Beyond that, those silent for longest are forgotten. */
const MAX_PRIVATES = 500;
const MAX_CHATS = 1_000;
const MAX_GAPS = 500;
/** The journal rewrites the cursor with every batch, so it stays small. */
const MAX_THREADS = 100;

/** By how much the platform's clock may be ahead of ours. */
const AHEAD_MS = 60_000;

export function firstCursor(now: number): Cursor {
  return { since: idAt(now), seen: new Map(), privates: new Set(), gaps: new Map(), joined: new Map(), threads: new Set() };
}

/**
 * The cursor itself, or where its first start lies ahead of `now`, one that starts now: what is missed until
 * then would never be fetched. The first start was recorded by a clock that was ahead and has been set back
 * since; chats that still carry that time are corrected with it. Where an id of the platform lies ahead as
 * well, it is `now` that is wrong, and the cursor stays as it is.
 */
export function notAhead(cursor: Cursor, now: number): Cursor {
  const latest = idAt(now + AHEAD_MS);
  if (compareIds(cursor.since, latest) <= 0) return cursor;
  const told = [...cursor.seen.values(), ...cursor.joined.values()].filter((id) => id !== cursor.since);
  if (told.some((id) => compareIds(id, latest) > 0)) return cursor;
  const since = idAt(now);
  const corrected = (ids: ReadonlyMap<string, string>) =>
    new Map([...ids].map(([chat, id]) => [chat, id === cursor.since ? since : id] as const));
  return { ...cursor, since, seen: corrected(cursor.seen), gaps: corrected(cursor.gaps) };
}

/** Undefined for anything that is no cursor of ours. */
export function parseCursor(text: string | undefined): Cursor | undefined {
  const cursor = obj(parseObject(text));
  const since = snowflake(cursor['since']);
  if (since === undefined) return undefined;
  const seen = parseIds(cursor['seen']);
  const gaps = parseIds(cursor['gaps']);
  const joined = parseIds(cursor['joined']);
  const privates = list(cursor['privates']).flatMap((id) => snowflake(id) ?? []);
  const threads = new Set(list(cursor['threads']).flatMap((id) => snowflake(id) ?? []));
  const session = parseSession(cursor['session']);
  return { since, seen, gaps, joined, threads, privates: new Set(privates), ...(session && { session }) };
}

export function formatCursor(cursor: Cursor): string {
  const { since, session, seen, privates, gaps, joined, threads } = cursor;
  return JSON.stringify({
    since,
    ...(session && { session }),
    seen: Object.fromEntries(seen),
    privates: [...privates],
    ...(gaps.size > 0 && { gaps: Object.fromEntries(gaps) }),
    ...(joined.size > 0 && { joined: Object.fromEntries(joined) }),
    ...(threads.size > 0 && { threads: [...threads] }),
  });
}

/**
 * The cursor after a message was committed. `oldest` is the id below which nothing is caught up any more. A
 * chat of a server that was silent for longer need not be remembered: the list of channels comes with every
 * new session.
 */
export function advance(
  cursor: Cursor,
  chat: string,
  id: string,
  options: { readonly isPrivate: boolean; readonly oldest: string },
): Cursor {
  const seen = new Map(cursor.seen);
  const newest = laterId(seen.get(chat) ?? id, id);
  // Again at the end: what is dropped below is what was silent for longest.
  seen.delete(chat);
  seen.set(chat, newest);
  const privates = new Set(cursor.privates);
  if (options.isPrivate) privates.add(chat);
  for (const [other, last] of seen) {
    const over = privates.has(other)
      ? privates.size > MAX_PRIVATES
      : compareIds(last, options.oldest) < 0 || seen.size > MAX_CHATS;
    if (!over || other === chat) continue;
    seen.delete(other);
    privates.delete(other);
  }
  return { ...cursor, seen, privates };
}

/** The chat is to be read again from `after` on, behind all others that are. */
export function withGap(cursor: Cursor, chat: string, after: string): Cursor {
  const gaps = new Map(cursor.gaps);
  gaps.delete(chat);
  gaps.set(chat, after);
  for (const oldest of gaps.keys()) {
    if (gaps.size <= MAX_GAPS) break;
    gaps.delete(oldest);
  }
  return { ...cursor, gaps };
}

export function withoutGap(cursor: Cursor, chat: string): Cursor {
  const gaps = new Map(cursor.gaps);
  gaps.delete(chat);
  return { ...cursor, gaps };
}

/** Servers joined before `oldest` need not be remembered: nothing from before that is ever fetched. */
export function withJoined(cursor: Cursor, guild: string, at: string, oldest: string): Cursor {
  const joined = new Map([...cursor.joined].filter(([, when]) => compareIds(when, oldest) > 0));
  joined.set(guild, at);
  return { ...cursor, joined };
}

/** We wrote in this thread now. */
export function withThread(cursor: Cursor, thread: string): Cursor {
  const threads = new Set(cursor.threads);
  threads.delete(thread);
  threads.add(thread);
  const [oldest] = threads;
  if (threads.size > MAX_THREADS && oldest !== undefined) threads.delete(oldest);
  return { ...cursor, threads };
}

function parseIds(value: unknown): ReadonlyMap<string, string> {
  const ids = new Map<string, string>();
  for (const [chat, text] of Object.entries(obj(value))) {
    const id = snowflake(text);
    if (snowflake(chat) !== undefined && id !== undefined) ids.set(chat, id);
  }
  return ids;
}

function parseSession(value: unknown): Session | undefined {
  const session = obj(value);
  const id = str(session['id']);
  const url = str(session['url']);
  const seq = num(session['seq']);
  if (id === undefined || url === undefined || seq === undefined || !isGatewayUrl(url)) return undefined;
  return { id, url, seq };
}
