import { setImmediate as nextTick } from 'node:timers/promises';
import type { Chat, ChatSettings, Chats, TopicChange } from '../core/chats.ts';
import { chatKey, chatOfLane, inKeys, principalOf, senderOf } from '../core/ids.ts';
import type { Address, ChatRef, InboundMessage } from '../core/message.ts';
import type { CommitQueue } from './commit-queue.ts';
import { readJson, type Store } from './store.ts';

/**
 * Times are kept to ten minutes: a conversation would otherwise cost a page more in two commits of every
 * message.
 */
const NOTED_EVERY_MS = 600_000;
/** People choose their names, and these rows stay. */
const TITLE_CHARS = 200;
/** Rows looked through before others have their turn. */
const BATCH = 500;

/** In the commit of a message that was let in. */
export function noteIncoming(store: Store, message: InboundMessage): void {
  const { isGroup, senderName } = message;
  const title = isGroup || senderName === '' ? null : senderName.slice(0, TITLE_CHARS);
  const key = chatKey(message);
  const changed = store.db.run(
    `INSERT INTO chat (key, address, title, is_group, last_in) VALUES (?, ?, ?, ?, ?)
     ON CONFLICT DO UPDATE SET address = excluded.address, title = excluded.title, is_group = excluded.is_group, last_in = excluded.last_in
     WHERE last_in IS NULL OR abs(excluded.last_in - last_in) >= ${NOTED_EVERY_MS} OR title IS NOT excluded.title`,
    key,
    addressText(message, isGroup ? undefined : principalOf(message)),
    title,
    isGroup ? 1 : 0,
    store.clock.now(),
  );
  if (changed > 0) store.chats.changed(key);
}

/**
 * In the commit of a message that was let in, before its chat is noted: the first account used under this
 * channel name. As JSON: SQLite would make a number of a bot's id in this column.
 */
export function noteAccount(store: Store, { channel, account }: InboundMessage): void {
  if (store.firstAccounts.has(channel)) return;
  const sql = 'INSERT INTO meta (name, value) VALUES (?, ?) ON CONFLICT DO NOTHING';
  store.db.run(sql, firstAccountOf(channel), JSON.stringify(firstAccount(store, channel) ?? account));
}

/** The first account used under this channel name. */
export function firstAccount(store: Store, channel: string): string | undefined {
  return store.firstAccounts.get(channel) ?? notedAccount(store, channel) ?? oldestAccount(store, channel);
}

function notedAccount({ db }: Store, channel: string): string | undefined {
  const name = firstAccountOf(channel);
  const value = db.get<{ value: string }>('SELECT value FROM meta WHERE name = ?', name)?.value;
  return value === undefined ? undefined : (readJson(value, name) as string);
}

/**
 * An earlier version noted chats and no first account: the one whose chat has been silent for longest was
 * there first.
 */
function oldestAccount(store: Store, channel: string): string | undefined {
  const sql = 'SELECT key FROM chat WHERE key > ? AND key < ? ORDER BY last_in IS NULL, last_in LIMIT 1';
  const oldest = store.db.get<{ key: string }>(sql, ...chatsOfChannel(channel));
  return oldest && senderOf(oldest.key).account;
}

/**
 * Only what is noted and committed is remembered: a write that fails takes nothing back here, and what is
 * remembered need not be noted again.
 */
function rememberedFirstAccount(store: Store, channel: string): string | undefined {
  const known = store.firstAccounts.get(channel) ?? notedAccount(store, channel);
  if (known === undefined) return oldestAccount(store, channel);
  store.firstAccounts.set(channel, known);
  return known;
}

/** Every chat of the channel begins with its name; the next character after the separator ends the range. */
function chatsOfChannel(channel: string): readonly [from: string, end: string] {
  return [`${inKeys(channel)}/`, `${inKeys(channel)}0`];
}

function firstAccountOf(channel: string): string {
  return `first_account ${channel}`;
}

/** In the commit of a part of this delivery lane that was sent. A chat that is not known stays so. */
export function noteOutgoing(store: Store, lane: string): void {
  const now = store.clock.now();
  const sql = `UPDATE chat SET last_out = ? WHERE key = ? AND (last_out IS NULL OR abs(? - last_out) >= ${NOTED_EVERY_MS})`;
  const key = chatOfLane(lane);
  if (store.db.run(sql, now, key, now) > 0) store.chats.changed(key);
}

/** What is not named stays. Makes the row where there is none. */
export function changeSettings(store: Store, chat: Address, settings: ChatSettings): void {
  const key = chatKey(chat);
  store.chats.changed(key);
  const old = store.db.get<{ settings: string }>('SELECT settings FROM chat WHERE key = ?', key)?.settings;
  const changed = JSON.stringify({ ...(old === undefined ? {} : readSettings(old, key)), ...settings });
  store.db.run(
    'INSERT INTO chat (key, address, is_group, settings) VALUES (?, ?, ?, ?) ON CONFLICT DO UPDATE SET settings = excluded.settings',
    ...[key, addressText(chat), chat.isGroup ? 1 : 0, changed],
  );
}

/** Which topic is active, and which there are; without what that means for its runs and its parts. */
export function changeTopics(store: Store, chat: Address, change: TopicChange): void {
  const key = chatKey(chat);
  changeSettings(store, chat, {});
  const stored = store.db.get<{ settings: string }>('SELECT settings FROM chat WHERE key = ?', key)?.settings ?? '{}';
  const { topics = [] } = readSettings(stored, key);
  if ('gone' in change) {
    changeSettings(store, chat, { topics: topics.filter((topic) => topic !== change.gone) });
    store.db.run("UPDATE chat SET previous = '' WHERE key = ? AND previous = ?", key, change.gone);
    return;
  }
  const { to } = change;
  if (to !== '' && !topics.includes(to)) changeSettings(store, chat, { topics: [...topics, to] });
  store.db.run('UPDATE chat SET previous = active, active = ?1 WHERE key = ?2 AND active <> ?1', to, key);
}

/** For `Journal.chats`. */
export function chatsOf(store: Store, queue: CommitQueue): Chats {
  return {
    of: (key) => queue.peek(() => store.chats.get(key, () => readChat(store, key))),
    firstAccount: (channel) => queue.peek(() => rememberedFirstAccount(store, channel)),
    find: (principal) => searched(store, queue, principal.slice(0, principal.indexOf(':')), (row) => row.principal === principal),
    named(channel, title) {
      const wanted = title.normalize('NFC').toLowerCase();
      const isNamed = ({ title: own }: ChatRecord): boolean => own !== null && own.normalize('NFC').toLowerCase() === wanted;
      return searched(store, queue, channel, isNamed);
    },
  };
}

/** The chats of a channel that fit, the one that was used last first. */
async function searched(
  store: Store,
  queue: CommitQueue,
  channel: string,
  fits: (row: SearchedChat) => boolean,
): Promise<readonly Chat[]> {
  const found: Chat[] = [];
  const [first, end] = chatsOfChannel(channel);
  for (let after: string | undefined = first; after !== undefined; ) {
    const from: string = after;
    const batch = await queue.read(() => someChats(store, from, end));
    found.push(...batch.filter(fits).map(toChat));
    after = batch.length < BATCH ? undefined : batch.at(-1)?.key;
    await nextTick();
  }
  return found.sort((a, b) => (b.lastIn ?? 0) - (a.lastIn ?? 0));
}

interface ChatRecord {
  readonly key: string;
  readonly address: string;
  readonly title: string | null;
  readonly settings: string;
  readonly last_in: number | null;
  readonly last_out: number | null;
  readonly active: string;
  readonly previous: string;
}

const COLUMNS = 'key, address, title, settings, last_in, last_out, active, previous';

function readChat(store: Store, key: string): Chat | undefined {
  const record = store.db.get<ChatRecord>(`SELECT ${COLUMNS} FROM chat WHERE key = ?`, key);
  return record && toChat(record);
}

interface SearchedChat extends ChatRecord {
  readonly principal: string | null;
}

function someChats(store: Store, after: string, end: string): readonly SearchedChat[] {
  const sql = `SELECT ${COLUMNS}, address ->> '$.principal' AS principal FROM chat WHERE key > ? AND key < ? ORDER BY key LIMIT ${BATCH}`;
  return store.db.all(sql, after, end);
}

function toChat(record: ChatRecord): Chat {
  const { key, address, title, settings, last_in: lastIn, last_out: lastOut, active, previous } = record;
  const { principal, ...where } = readJson(address, `chat ${key}`) as unknown as Address & { readonly principal?: string };
  return {
    ...{ address: where, settings: readSettings(settings, key) },
    ...(active === '' ? {} : { active }),
    ...(previous === '' ? {} : { previous }),
    ...(title === null ? {} : { title }),
    ...(principal === undefined ? {} : { principal }),
    ...(lastIn === null ? {} : { lastIn }),
    ...(lastOut === null ? {} : { lastOut }),
  };
}

function readSettings(text: string, key: string): ChatSettings {
  return readJson(text, `chat ${key}`) as unknown as ChatSettings;
}

/** With the person of a private chat, by whom it is found. */
function addressText({ channel, account, chatId, isGroup }: ChatRef & Pick<Address, 'isGroup'>, principal?: string): string {
  return JSON.stringify({ channel, account, chatId, ...(isGroup ? { isGroup } : {}), principal });
}
