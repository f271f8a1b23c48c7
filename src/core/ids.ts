import { hash } from 'node:crypto';
import type { ChatRef, InboundMessage } from './message.ts';

/**
 * Keys are injective: no two different inputs give the same key (attack A37). Every component is escaped with
 * percent-encoding before it is joined by a separator that the encoding never emits. Lone surrogates are
 * escaped too: every one of them becomes the same U+FFFD when text is written as UTF-8.
 */
function encode(component: string): string {
  // Nearly every component has nothing to escape, and a message is named by dozens of them.
  if (!MAY_ESCAPE.test(component)) return component;
  return component.replace(/[%#/\n\p{Cs}]/gu, (char) => `%${char.charCodeAt(0).toString(16).padStart(2, '0').toUpperCase()}`);
}

const MAY_ESCAPE = /[%#/\n\ud800-\udfff]/;

function decode(component: string): string {
  return component.replace(/%(D[89A-F][0-9A-F]{2}|[0-9A-F]{2})/g, (_, code: string) =>
    String.fromCharCode(Number.parseInt(code, 16)),
  );
}

/** An id as it stands in keys: of a chat `#room` it is `%23room`. */
export function inKeys(id: string): string {
  return encode(id);
}

/** Order and mutual exclusion are kept per lane: (channel, account, chat, thread). */
export function laneKey(ref: ChatRef): string {
  const base = [ref.channel, ref.account, ref.chatId].map(encode).join('/');
  return ref.threadId === undefined ? base : `${base}/${encode(ref.threadId)}`;
}

/** The channel as lanes name it: their first component. */
export function channelOf(lane: string): string {
  return lane.slice(0, lane.indexOf('/'));
}

/** The channel and account that a lane's chat belongs to. */
export function senderOf(lane: string): Pick<ChatRef, 'channel' | 'account'> {
  const [channel = '', account = ''] = lane.split('/', 2).map(decode);
  return { channel, account };
}

/** The conversation in the platform's eyes without its thread: what rate limits apply to. */
export function chatKey(ref: ChatRef): string {
  return [ref.channel, ref.account, ref.chatId].map(encode).join('/');
}

/** `chatKey` of the chat that a lane is of. */
export function chatOfLane(lane: string): string {
  return chatPartOf(lane).split('/', 3).join('/');
}

/** The chat that a lane is of. */
export function chatRefOf(lane: string): ChatRef {
  const [channel = '', account = '', chatId = ''] = chatOfLane(lane).split('/').map(decode);
  return { channel, account, chatId };
}

/** Whether a lane is that of the chat with this `chatKey`, or of a thread or a topic in it. */
export function isLaneOf(lane: string, chat: string): boolean {
  // No component contains a separator, so what follows it can only be a thread or a topic.
  return lane === chat || lane.startsWith(`${chat}/`) || lane.startsWith(`${chat}#`);
}

/** `#` is in no component of a key: what precedes the first one names the chat. */
function chatPartOf(key: string): string {
  const at = key.indexOf('#');
  return at < 0 ? key : key.slice(0, at);
}

/** The lane, or the session, of this topic of a chat; of the topic '', that of the chat itself. */
export function inTopic(key: string, topic: string): string {
  return topic === '' ? key : `${key}#${topic}`;
}

const ARCHIVED = '##archived';

/**
 * The session in which a turn ends whose conversation was begun anew meanwhile: its lines go to the archive.
 * No topic has such a name, because none contains `#`.
 */
export function archivedSession(session: string): string {
  return isArchived(session) ? session : `${session}${ARCHIVED}`;
}

export function isArchived(session: string): boolean {
  return session.endsWith(ARCHIVED);
}

/** The session whose archive this one is; a session that is none is its own. */
export function sessionOfArchive(session: string): string {
  return isArchived(session) ? session.slice(0, -ARCHIVED.length) : session;
}

/**
 * The topic of a session that people named; '' = the chat itself. Undefined of what is none of both: the
 * session of a thread, of a job, or of a run within another session.
 */
export function topicOf(session: string): string | undefined {
  const [chat = '', topic = '', ...more] = sessionOfArchive(session).split('#');
  return more.length > 0 || topic.includes(':') || !chat.startsWith('_main:') ? undefined : topic;
}

/** The lane of the `n`-th run beside the one of this lane. `#` is escaped in every component. */
export function overflowLane(lane: string, n: number): string {
  return `${lane}##${n}`;
}

/** Whether what runs there runs beside another lane, which it was made of. */
export function isOverflowLane(lane: string): boolean {
  return /##\d+$/.test(lane);
}

/**
 * `[profile:]channel:chat_id[#topic]` of spec A1, always with the profile. A platform thread is the topic
 * `thread:<id>`; topics that people name cannot contain a colon, so the two never collide.
 *
 * `firstAccount` is the first account used under this channel name. The chats of any other account are
 * `channel/account:chat_id`: the same id means another chat there, and its history is none of this account's.
 */
export function sessionKey(ref: ChatRef, firstAccount = ref.account): string {
  const { channel, account } = ref;
  const channelPart = (account === firstAccount ? [channel] : [channel, account]).map(encode).join('/').replaceAll(':', '%3A');
  return `_main:${channelPart}:${encode(ref.chatId)}${threadTopic(ref)}`;
}

/**
 * Whether it is the session of this chat or of a topic in it, whichever account was the first used under this
 * channel name.
 */
export function isSessionOf(session: string, ref: ChatRef): boolean {
  const topic = ref.threadId === undefined ? topicOf(session) : undefined;
  const known = topic === undefined ? sessionOfArchive(session) : chatPartOf(session);
  return known === sessionKey(ref) || known === sessionKey(ref, `not ${ref.account}`);
}

/** The session of the chat that this session of one of its threads or topics belongs to. */
export function sessionOfChat(session: string, ref: ChatRef): string {
  const topic = threadTopic(ref);
  const known = sessionOfArchive(session);
  if (topic !== '' && known.endsWith(topic)) return known.slice(0, -topic.length);
  return topicOf(known) === undefined ? known : chatPartOf(known);
}

function threadTopic({ threadId }: ChatRef): string {
  return threadId === undefined ? '' : `#thread:${encode(threadId)}`;
}

/** The key of the run that a message begins, by which a second delivery is known. Also its correlation id. */
export function messageKey(message: Pick<InboundMessage, 'channel' | 'account' | 'platformId'>): string {
  return [message.channel, message.account, message.platformId].map(encode).join('/');
}

/** Who caused a run: `telegram:123`. */
export function principalOf({ channel, senderId }: Pick<InboundMessage, 'channel' | 'senderId'>): string {
  return `${channel}:${senderId}`;
}

/** A person of a channel as a key of a table: injective, also for ids that are no well-formed text. */
export function personKey({ channel, senderId }: Pick<InboundMessage, 'channel' | 'senderId'>): string {
  return [channel, senderId].map(encode).join('/');
}

/**
 * The outbox's key: deterministic, so that the same part of the same answer is the same row on every attempt.
 */
export function partKey(messageId: string, ordinal: number): string {
  return `${messageId}#${ordinal}`;
}

/**
 * The outbox's key of what is shown of an answer while it is being written. No answer has a part with this
 * key.
 */
export function draftKey(messageId: string): string {
  return `${messageId}#draft`;
}

/** The outbox's key of the last text of a draft whose answer does not come. */
export function abandonedKey(messageId: string): string {
  return `${messageId}#abandoned`;
}

const DELAY = '#delayed';

/** The outbox's key of the line that tells a chat its answer is held up: it expires when the wait is over. */
export function delayKey(messageId: string): string {
  return `${messageId}${DELAY}`;
}

const HELD = '#held';

/** The outbox's key of the line that tells a chat that an answer is held. */
export function heldKey(messageId: string): string {
  return `${messageId}${HELD}`;
}

export function isDelay(key: string): boolean {
  return key.endsWith(DELAY);
}

const SENT_FOR = '#to/';

/** The id of what a run sends beside its answer: no message is called so, `#` is escaped there. */
export function sentForId(key: string): string {
  return `${SENT_FOR}${key}`;
}

/** The keys of all its parts lie between these. */
export const SENT_FOR_KEYS = [SENT_FOR, SENT_FOR.replace('/', '0')] as const;

/** How keys of what is put to the owner begin. No message is called so: `#` is escaped there. */
export const OWNER_PARTS = '#owner/';

/** The session and the lane of a sub-agent that this call of a run in `session` began. */
export function childSession(session: string, callId: string): string {
  return `${session}#run:${callId}`;
}

/** The session of the run that began the sub-agent with this session. */
export function sessionOfParent(child: string): string {
  return child.replace(/#run:[^#]*$/, '');
}

/** All such sessions lie between these; no topic has a colon in its name. */
export function childSessions(session: string): readonly [from: string, to: string] {
  return [`${session}#run:`, `${session}#run;`];
}

/** What the session of a task begins with that no conversation asked for. */
export const TASK_SESSIONS = 'task:';
const TASK = '#task:';

/** The session of a task that was asked for in `session`; undefined = in no conversation. */
export function taskSession(id: string, session: string | undefined): string {
  return session === undefined ? `${TASK_SESSIONS}${id}` : `${session}${TASK}${id}`;
}

/** The sessions of all tasks that were asked for in `session` lie between these. */
export function tasksWithin(session: string): readonly [from: string, to: string] {
  return [`${session}${TASK}`, `${session}${TASK.slice(0, -1)};`];
}

/** Whether a session is that of one task alone. That of a job is of all its runs. */
export function isTaskSession(session: string): boolean {
  return session.startsWith(TASK_SESSIONS) || session.includes(TASK);
}

/** Whether a session is that of one task or one sub-agent: seldom is it asked for once that has ended. */
export function isOfOneRun(session: string): boolean {
  return isTaskSession(session) || session.includes('#run:');
}

/** The key of the run that tells what this one came to. */
export function reportKey(run: string): string {
  return `${run}#report`;
}

const PROGRESS = '#progress/';

/** The id of the line that tells how far the sub-agents are that one answer of a run began. */
export function progressId(run: string, answer: string): string {
  return `${run}${PROGRESS}${answer}`;
}

/** Whether the part of this key is a piece of an answer, and not what is shown until the answer comes. */
export function isPieceOfAnswer(key: string): boolean {
  if (key.startsWith(SENT_FOR) || key.includes(PROGRESS)) return false;
  return ![draftKey(''), abandonedKey(''), DELAY, HELD].some((end) => key.endsWith(end));
}

/** Short stable hex of any text, for ids that must not reveal or must bound what they are made of. */
export function shortHash(text: string, length = 16): string {
  return hash('sha256', text).slice(0, length);
}

const SESSIONS_KEPT = 1_000;
const sessionHashes = new Map<string, string>();

/**
 * 32 digits of a session's key, made once for each session that was busy lately: every run asks for it twice.
 */
export function sessionHash(session: string): string {
  const known = sessionHashes.get(session);
  if (known !== undefined) return known;
  if (sessionHashes.size >= SESSIONS_KEPT) sessionHashes.clear();
  const made = shortHash(session, 32);
  sessionHashes.set(session, made);
  return made;
}
