import type { Role } from '../core/authority.ts';
import { inKeys } from '../core/ids.ts';
import type { Profile, Source } from '../core/new-run.ts';
import type { OutboxState } from '../core/outbox.ts';
import type { MessageQuery, PartSummary, RunAbout, RunSummary } from '../core/record.ts';
import type { RunState } from '../core/run.ts';
import { type EventRow, eventsIn } from './event-rows.ts';
import { askedFor, openKinds } from './read-waits.ts';
import { eventsOf } from './record.ts';
import { REFUSED } from './refusal-rows.ts';
import type { Store } from './store.ts';

interface RunFacts {
  readonly seq: number;
  readonly key: string;
  readonly source: Source['kind'];
  readonly profile: Profile;
  readonly principal: string;
  readonly state: RunState;
  readonly lane: string;
  readonly session: string;
  readonly attempts: number;
  readonly accepted_at: number;
  readonly finished_at: number | null;
  readonly outcome: string | null;
  readonly role: Role | null;
}

/** Rows that are looked through for what a person in a chat asks about: some milliseconds. */
const NEWEST = 5_000;
const FACTS =
  "seq, key, source, profile, principal, state, lane, session, attempts, accepted_at, finished_at, outcome, authority ->> '$.role' AS role";

/** See `EventRecord.about`. */
export function aboutRun(store: Store, words: string): RunAbout | undefined {
  const found = lookUp(store, words);
  if (found) return found;
  const [, channel, chat] = /^([^:/\s]+):(.+)$/.exec(words) ?? [];
  return channel === undefined || chat === undefined ? undefined : lookUp(store, chat, channel);
}

/** With `channel` the words are the id of a chat there. */
function lookUp(store: Store, words: string, channel?: string): RunAbout | undefined {
  // A chat is named as people write its id, or as its keys do.
  const chat = inKeys(words);
  const isLast = words === 'last' && channel === undefined;
  const newest = isLast ? newestKey(store) : undefined;
  const named = channel === undefined ? namedRun(store, newest ?? words) : undefined;
  const ofChat = (id: string): RunFacts | undefined => (isLast ? undefined : newestOfChat(store, id, channel));
  const found = named ?? ofChat(words) ?? (chat === words ? undefined : ofChat(chat));
  const since = found?.accepted_at ?? 0;
  const refusedAt = (id: string): string | undefined => refusedIn(store, id, since, channel);
  const refused = isLast || found?.key === words ? undefined : (refusedAt(words) ?? refusedAt(chat));
  const row = refused === undefined ? found : undefined;
  const key = refused ?? row?.key ?? (isLast ? newest : words);
  const events = key === undefined ? [] : eventsOf(store, key);
  if (key === undefined || (!row && events.length === 0)) return undefined;
  return { key, ...(row ? { run: summaryOf(store, row) } : {}), events, parts: partsOf(store, key) };
}

function namedRun({ db }: Store, words: string): RunFacts | undefined {
  const seq = /^in-([1-9]\d{0,14})$/.exec(words)?.[1];
  if (seq !== undefined) return db.get<RunFacts>(`SELECT ${FACTS} FROM run WHERE seq = ?`, Number(seq));
  return db.get<RunFacts>(`SELECT ${FACTS} FROM run WHERE key = ? ORDER BY seq DESC LIMIT 1`, words);
}

/** A lane is `channel/account/chat[/thread]`: the end of it, or its third part, names the chat. */
function newestOfChat({ db }: Store, id: string, channel?: string): RunFacts | undefined {
  // The key of a message is no chat. Looking for one reads every row, and each person who may ask `/why`
  // would set that off.
  if (id.split('/', 3).length === 3) return undefined;
  const start = channel === undefined ? '' : `${channel}/`;
  return db.get<RunFacts>(
    `SELECT ${FACTS} FROM run WHERE substr(lane, 1, length(?1)) = ?1
     AND (substr(lane, -length(?2)) = ?2 OR instr(lane, ?3) > 0) ORDER BY seq DESC LIMIT 1`,
    ...[start, `/${id}`, `/${id}/`],
  );
}

/** See `EventRecord.asked`. */
export function askedRun({ db }: Store, what: MessageQuery): string | undefined {
  // `0` follows the separator, so the range is that of the chat and its threads.
  const [from, to] = 'lane' in what ? [what.lane, what.lane] : [what.chat, `${what.chat}0`];
  const isChat = 'chat' in what ? 1 : 0;
  const where = "(lane = ?1 OR (lane > ?1 || '#' AND lane < ?1 || '$') OR (?3 = 1 AND lane > ?1 || '/' AND lane < ?2))";
  if ('answer' in what) {
    const sql = `SELECT part ->> '$.messageId' AS key
      FROM (SELECT platform_id, lane, part FROM outbox ORDER BY seq DESC LIMIT ${NEWEST}) WHERE platform_id = ?4 AND ${where} LIMIT 1`;
    return db.get<{ key: string | null }>(sql, from, to, isChat, what.answer)?.key ?? undefined;
  }
  const sql = `SELECT key FROM (SELECT key, lane, principal, outcome, source, seq FROM run ORDER BY seq DESC LIMIT ${NEWEST})
    WHERE source = 'chat' AND principal = ?4 AND outcome IS NOT 'why' AND ${where} ORDER BY seq DESC LIMIT 1`;
  return db.get<{ key: string }>(sql, from, to, isChat, what.principal)?.key;
}

/** The newest message of a chat that was refused after `since`, where that is not long ago: it has no row. */
function refusedIn({ db }: Store, chat: string, since: number, channel?: string): string | undefined {
  const ending = `/${chat}"`;
  const rows = db.all<EventRow>(
    `SELECT * FROM (SELECT * FROM event ORDER BY seq DESC LIMIT ${NEWEST})
     WHERE at > ?1 AND (type = 'batch' AND instr(data, ?2) > 0 OR type = '${REFUSED}' AND instr(run || '"', ?2) > 0)
     ORDER BY seq DESC LIMIT 20`,
    ...[since, ending],
  );
  const start = channel === undefined ? '' : `${channel}/`;
  const isOfChat = (of = ''): boolean => of.startsWith(start) && of.endsWith(`/${chat}`);
  const dropped = rows.flatMap(eventsIn).filter(({ event }) => event.type === 'dropped' && isOfChat(event.chat));
  return dropped.toSorted((a, b) => b.seq - a.seq)[0]?.event.messageId;
}

/** Of the newest event: what was refused left nothing else. */
function newestKey({ db }: Store): string | undefined {
  const row = db.get<EventRow>('SELECT * FROM event WHERE run IS NOT NULL ORDER BY seq DESC LIMIT 1');
  return row && eventsIn(row).at(-1)?.event.messageId;
}

function summaryOf({ db }: Store, row: RunFacts): RunSummary {
  const ahead = db.get<{ count: number }>(
    "SELECT count(*) AS count FROM run WHERE lane = ? AND seq < ? AND state IN ('NEW', 'RUNNING')",
    row.lane,
    row.seq,
  );
  const { seq, source, profile, principal, state, lane, session, attempts } = row;
  return {
    ...{ seq, source, profile, principal, state, lane, session, attempts },
    acceptedAt: row.accepted_at,
    ...(row.finished_at === null ? {} : { finishedAt: row.finished_at }),
    ...(row.outcome === null ? {} : { outcome: row.outcome }),
    waitsFor: openKinds({ db }, row.seq),
    asks: askedFor({ db }, row.seq),
    ahead: ahead?.count ?? 0,
    // Rows of before version 5 name none.
    role: row.role ?? 'member',
    turns: row.state === 'NEW' ? turnsOf({ db }, row) : 0,
  };
}

/** A person has an id on each channel, so turns of one principal are turns on one channel. */
function turnsOf({ db }: Pick<Store, 'db'>, { principal }: RunFacts): number {
  const sql = "SELECT count(*) AS count FROM run WHERE state = 'RUNNING' AND principal = ?";
  return db.get<{ count: number }>(sql, principal)?.count ?? 0;
}

interface PartFacts {
  readonly seq: number;
  readonly key: string;
  readonly lane: string;
  readonly state: OutboxState;
  readonly attempts: number;
  readonly not_before: number;
  readonly reason: string | null;
}

const HELD = 'held until its topic is the active one of the chat';

/**
 * Keys of parts begin with the key of what they answer and `#`, which `$` follows. One that is EXPIRED before
 * its time was not needed any more.
 */
function partsOf(store: Store, key: string): readonly PartSummary[] {
  const rows = store.db.all<PartFacts>(
    `SELECT seq, key, lane, state, attempts, not_before, iif(held_for IS NULL, reason, '${HELD}') AS reason FROM outbox WHERE key >= ? AND key < ?
       AND NOT (state = 'EXPIRED' AND settled_at < expires_at) ORDER BY seq`,
    `${key}#`,
    `${key}$`,
  );
  const untried = rows.find(({ state }) => state === 'PENDING');
  return rows.map((row) => ({
    ...{ key: row.key, state: row.state, attempts: row.attempts, notBefore: row.not_before },
    ...(row.reason === null ? {} : { reason: row.reason }),
    ...(row === untried && row.reason === null ? inItsWay(store, row) : {}),
  }));
}

function inItsWay({ db }: Store, { lane, seq }: PartFacts): Pick<PartSummary, 'behind' | 'elsewhere'> {
  const ahead = db.get<{ count: number; reason: string | null }>(
    // SQLite takes the reason from the row that has the minimum.
    "SELECT count(*) AS count, reason, min(seq) FROM outbox WHERE state = 'PENDING' AND held_for IS NULL AND lane = ? AND seq < ?",
    lane,
    seq,
  );
  if (ahead && ahead.count > 0)
    return { behind: { count: ahead.count, ...(ahead.reason === null ? {} : { reason: ahead.reason }) } };
  const account = lane.split('/', 2).join('/');
  const other = db.get<{ reason: string }>(
    `SELECT reason FROM (SELECT reason FROM outbox WHERE state = 'PENDING' AND lane > ? AND lane < ? LIMIT ${NEWEST})
     WHERE reason IS NOT NULL LIMIT 1`,
    `${account}/`,
    `${account}0`,
  );
  return other ? { elsewhere: other.reason } : {};
}
