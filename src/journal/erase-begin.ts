// a person is to be erased -> what they have going ends, in one transaction with the row that says what is
//   still to be erased: from then on every start of the daemon, and every call, goes on with it
import type { EraseWrite, Erasure, NewestRows, WorkedIn } from '../core/erasure.ts';
import { principalOf, sessionKey } from '../core/ids.ts';
import { jobSession } from '../core/job.ts';
import type { Address } from '../core/message.ts';
import type { PersonRef } from '../core/people.ts';
import { firstAccount } from './chats.ts';
import type { Change } from './commit-queue.ts';
import { cancelRunsOf } from './ended-runs.ts';
import { runsOf, TELLS } from './erase-rows.ts';
import { listJobs } from './jobs.ts';
import { erasedId } from './keyed-hash.ts';
import { allLinks, idsOf } from './links.ts';
import { addParts } from './outbox.ts';
import { endAllOf, privateChatsOf } from './shut-out.ts';
import { readJson, type Store } from './store.ts';
import { messageIn, namesIn } from './told-words.ts';

export const ERASURES = 'erasure ';

/** See `core/erasure.ts`. */
export function beginErasure(store: Store, { who, by, stoppedMark, parts = [] }: EraseWrite, change: Change): void {
  const key = erasedId(store, principalOf(who));
  const before = openErasures(store).find((one) => one.key === key);
  const ids = idsWith(before, idsOf(store, who));
  const found = foundOf(store, ids);
  const until = store.db.get<{ seq: number | null }>('SELECT max(seq) AS seq FROM run')?.seq ?? 0;
  const counts = ids.map((one) => endAllOf(store, one, { as: 'erased', stoppedMark }, change));
  // What one id of theirs had said behind another one waits anew by the end of that one.
  for (const one of ids) cancelRunsOf(store, principalOf(one), stoppedMark, change);
  for (const one of ids) forget(store, one, found.chats);
  addParts(store, parts);
  const sum = { ...before?.counts };
  for (const one of counts) for (const [name, count] of Object.entries(one)) sum[name] = (sum[name] ?? 0) + count;
  const begun: Erasure = {
    ...{ key, ids, by, at: store.clock.now(), until, stage: 'words', counts: sum, runs: [], files: before?.files ?? [] },
    newest: newestOf(store),
    ...(before?.calls ? { calls: before.calls } : {}),
    ...(before?.left ? { left: before.left } : {}),
    ...(before?.unsearched ? { unsearched: before.unsearched } : {}),
    ...(before?.told ? { told: before.told } : {}),
    ...(before?.said ? { said: before.said } : {}),
    ...(before?.groups ? { groups: before.groups } : {}),
    worked: [...(before?.worked ?? []), ...found.worked],
    names: merged(before?.names, found.names),
    chats: merged(before?.chats, found.chats),
    sessions: merged(before?.sessions, found.sessions),
  };
  keepErasure(store, {
    ...begun,
    runs: merged(
      before?.runs,
      runsOf(store, begun).map((run) => run.key),
    ),
  });
}

function newestOf({ db }: Store): NewestRows {
  const sql = `SELECT (SELECT coalesce(max(seq), 0) FROM outbox) AS outbox,
    (SELECT coalesce(max(seq), 0) FROM session_line) AS session_line, (SELECT coalesce(max(seq), 0) FROM event) AS event`;
  return db.get<NewestRows>(sql) ?? { outbox: 0, session_line: 0, event: 0 };
}

/** An erasure that was begun before took the links away. */
function idsWith(before: Erasure | undefined, now: readonly PersonRef[]): readonly PersonRef[] {
  const ids = new Map([...(before?.ids ?? []), ...now].map((one) => [principalOf(one), one]));
  return [...ids.values()];
}

export function openErasures({ db }: Pick<Store, 'db'>): readonly Erasure[] {
  const sql = 'SELECT value FROM meta WHERE name >= ? AND name < ? ORDER BY name';
  const rows = db.all<{ value: string }>(sql, ERASURES, `${ERASURES.slice(0, -1)}!`);
  return rows.map(({ value }) => readJson(value, 'an erasure') as unknown as Erasure);
}

export function keepErasure({ db }: Pick<Store, 'db'>, erasure: Erasure): void {
  const sql = 'INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value';
  db.run(sql, ERASURES + erasure.key, JSON.stringify(erasure));
}

function merged(before: readonly string[] = [], now: readonly string[]): readonly string[] {
  return [...new Set([...before, ...now])];
}

/** What only rows know that are removed at once. */
export function foundOf(
  store: Store,
  ids: readonly PersonRef[],
): Pick<Erasure, 'names' | 'chats' | 'sessions'> & { readonly worked: readonly WorkedIn[] } {
  const [names, chats, sessions] = [new Set<string>(), new Set<string>(), new Set<string>()];
  const [links, worked]: [ReturnType<typeof allLinks>, WorkedIn[]] = [allLinks(store), []];
  for (const who of ids) {
    const principal = principalOf(who);
    for (const chat of privateChatsOf(store, who)) chats.add(chat);
    for (const name of namesOf(store, who)) names.add(name);
    for (const one of links) if (principalOf(one) === principal) names.add(one.name);
    for (const { session } of sessionsOf(store, principal)) sessions.add(session);
    for (const session of unnotedSessions(store, who)) sessions.add(session);
    for (const job of listJobs(store)) {
      if (job.authority.principal !== principal) continue;
      sessions.add(jobSession(job));
      if (job.payload.session !== undefined) worked.push({ session: jobSession(job), workspace: job.payload.session });
    }
    worked.push(...workedOf(store, principal));
  }
  for (const name of namesTold(store, ids)) names.add(name);
  for (const chat of chats) for (const session of sessionsOfChat(store, chat)) sessions.add(session);
  names.delete('');
  return { names: [...names], chats: [...chats], sessions: [...sessions], worked };
}

/** Of jobs that are tasks: their workspace may be that of a group. */
function workedOf({ db }: Store, principal: string): readonly WorkedIn[] {
  const sql = `SELECT DISTINCT session, workspace FROM run
    WHERE principal = ? AND source = 'job' AND workspace IS NOT NULL AND workspace <> session`;
  return db.all<WorkedIn>(sql, principal).map(({ session, workspace }) => ({ session, workspace }));
}

function namesOf({ db }: Store, { channel, senderId }: PersonRef): readonly string[] {
  const principal = principalOf({ channel, senderId });
  const sql = `SELECT sender_name AS name FROM pairing WHERE channel = ?1 AND sender_id = ?2
    UNION SELECT title FROM chat WHERE address ->> '$.principal' = ?3 AND title IS NOT NULL
    UNION SELECT input ->> '$.senderName' FROM run WHERE principal = ?3 AND source = 'chat'`;
  return db.all<{ name: string | null }>(sql, channel, senderId, principal).flatMap(({ name }) => name ?? []);
}

/** As requests of others tell it: a person who never spoke to the agent has none of their own. */
function namesTold({ db }: Store, ids: readonly PersonRef[]): readonly string[] {
  const rows = db.all<{ seq: number; source: string; input: string }>(`SELECT seq, source, input FROM run WHERE ${TELLS}`);
  return rows.flatMap(({ seq, source, input }) => {
    const message = messageIn(source, readJson(input, `the input of run ${seq}`));
    return message ? namesIn(message, ids) : [];
  });
}

/** Those of runs of theirs that no other person can have a part in: of jobs, and in private chats. */
function sessionsOf({ db }: Store, principal: string): readonly { readonly session: string }[] {
  return db.all(
    `SELECT DISTINCT session FROM run WHERE principal = ? AND
       ((source = 'chat' AND input ->> '$.isGroup' = 0) OR (source = 'job' AND session LIKE 'job:%'))`,
    principal,
  );
}

/**
 * Before version 5 no chats were noted, and a row is kept for a week. On most platforms a private chat has
 * the id of the person, so its session is known all the same.
 */
function unnotedSessions(store: Store, { channel, senderId }: PersonRef): readonly string[] {
  const { db } = store;
  const others = `SELECT 1 FROM chat WHERE address ->> '$.channel' = ?1 AND address ->> '$.chatId' = ?2
    AND (is_group = 1 OR address ->> '$.principal' <> ?3)`;
  if (db.get(others, channel, senderId, principalOf({ channel, senderId }))) return [];
  const first = firstAccount(store, channel);
  const paired = db.all<{ account: string }>(
    'SELECT account FROM pairing WHERE channel = ? AND sender_id = ?',
    ...[channel, senderId],
  );
  const chats = [first ?? '', ...paired.map(({ account }) => account)];
  return chats.map((account) => sessionKey({ channel, account, chatId: senderId }, first ?? account));
}

function sessionsOfChat(store: Store, key: string): readonly string[] {
  const address = store.db.get<{ address: string }>('SELECT address FROM chat WHERE key = ?', key)?.address;
  if (address === undefined) return [];
  const ref = readJson(address, `chat ${key}`) as unknown as Address;
  return [sessionKey(ref, firstAccount(store, ref.channel))];
}

/** Who asked to be let in, and the chats that are known; so that the next message is a stranger's. */
function forget({ db, chats: remembered }: Store, { channel, senderId }: PersonRef, chats: readonly string[]): void {
  db.run('DELETE FROM pairing WHERE channel = ? AND sender_id = ?', channel, senderId);
  db.run('DELETE FROM job WHERE principal = ?', principalOf({ channel, senderId }));
  for (const key of chats) {
    db.run('DELETE FROM chat WHERE key = ?', key);
    remembered.changed(key);
  }
}
