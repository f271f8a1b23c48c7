/** After an outage: what was written meanwhile, from the history of every conversation we are in. */
import type { InboundMessage } from '../../../src/core/message.ts';
import type { Clock, Logger } from '../../../src/core/ports.ts';
import { apiFailureOf, CallError, type CallFailure, type ErrorCode } from '../../kit/call-error.ts';
import { CALL_TIMEOUT_MS, withDeadline } from '../../kit/deadline.ts';
import { type JsonObject, list, obj, str } from '../../kit/json.ts';
import type { SlackClient } from '../wire/client.ts';
import { LATER, LOGIN_REFUSED, MAYBE_DONE } from '../wire/failure.ts';
import type { Colleagues } from './colleagues.ts';
import type { Cursor } from './cursor.ts';
import { hasReplyOf, toEdit, toInbound } from './inbound.ts';
import { type InboundContext, toMs } from './inbound-fields.ts';
import type { Intake } from './intake.ts';

export interface CatchUpOptions {
  readonly client: Pick<SlackClient, 'call' | 'now'>;
  readonly intake: Pick<Intake, 'commitFetched'>;
  readonly cursor: Cursor;
  readonly colleagues: Pick<Colleagues, 'among'>;
  readonly context: () => InboundContext;
  readonly hours: number;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

export interface CatchUpGaps {
  /** Scopes the app lacks: conversations of these kinds are not loss-proof. */
  readonly missing: readonly string[];
  /** Conversations with more messages than are fetched. */
  readonly capped: number;
  /** Conversations whose history the platform will not show, and its words for that. */
  readonly refused: number;
  readonly words: readonly string[];
}

/** What was found missing so far. */
interface Found {
  readonly missing: Set<string>;
  readonly refused: Set<string>;
  readonly words: Set<string>;
}

/**
 * A message may be pushed minutes after a later one: the platform tries an event again at once, after a
 * minute and after five (docs.slack.dev, Events API, retries). The journal recognises what it has.
 */
const OVERLAP_SECS = 600;
/** A shorter gap is a change of sockets, which the platform bridges with its own retries. */
const SHORT_GAP_SECS = 120;
const DAY_SECS = 86_400;
const PAGE = 200;
const MAX_PAGES = 25;
/** Asked one by one: each needs a scope of its own, and the call fails as a whole when one is missing. */
const KINDS = ['im', 'mpim', 'public_channel', 'private_channel'];
/** The conversation, or the thread, is gone for us: nothing of it can be answered anyway. */
const GONE: ReadonlySet<ErrorCode | undefined> = new Set([
  'channel_not_found',
  'not_in_channel',
  'is_archived',
  'thread_not_found',
  'access_denied',
]);
const UNAVAILABLE = new Set(['missing_scope', 'not_allowed_token_type', 'unknown_method', 'enterprise_is_restricted']);

/**
 * Rejects when the platform could not be asked to the end: nothing may be taken for complete then, and it is
 * to be tried again.
 */
export async function catchUp(options: CatchUpOptions): Promise<CatchUpGaps> {
  const { cursor, client, hours, intake } = options;
  const now = client.now() / 1_000;
  const oldest = Math.max(cursor.since, cursor.ts - OVERLAP_SECS, now - hours * 3_600);
  // A reply is listed only with its thread, and the thread with its first message, which may be older than
  // the gap.
  const parents = now - cursor.ts > SHORT_GAP_SECS ? oldest - DAY_SECS : oldest;
  const gaps: Found = { missing: new Set(), refused: new Set(), words: new Set() };
  let capped = 0;
  for (const kind of KINDS) {
    for (const chatId of await conversations(kind, options, gaps)) {
      const found = await fetchChat(chatId, { ...options, oldest, parents }, gaps);
      if (found.capped) capped += 1;
      await intake.commitFetched(found.messages);
    }
  }
  return { missing: [...gaps.missing], capped, refused: gaps.refused.size, words: [...gaps.words] };
}

async function conversations(kind: string, options: CatchUpOptions, gaps: Found): Promise<readonly string[]> {
  const args = { types: kind, exclude_archived: true };
  const found = await pages('users.conversations', args, 'channels', options, gaps);
  return found.items.flatMap((channel) => str(channel['id']) ?? []);
}

interface Range extends CatchUpOptions {
  /** Messages after this are wanted, seconds since the epoch. */
  readonly oldest: number;
  /** First messages of threads are looked for from here on. */
  readonly parents: number;
}

async function fetchChat(
  chatId: string,
  range: Range,
  gaps: Found,
): Promise<{ readonly messages: readonly InboundMessage[]; readonly capped: boolean }> {
  const { oldest, cursor } = range;
  const since = { channel: chatId, oldest: range.parents.toFixed(6) };
  const history = await pages('conversations.history', since, 'messages', range, gaps);
  const threads = new Set(cursor.threads().flatMap(([chat, thread]) => (chat === chatId ? [thread] : [])));
  for (const message of history.items) {
    const ts = str(message['ts']);
    if (ts === undefined || !(Number(str(message['latest_reply'])) > oldest)) continue;
    threads.add(ts);
    if (hasReplyOf(message, range.context().me.userId)) cursor.hint(chatId, ts);
  }
  let capped = history.capped;
  const items = [...history.items];
  for (const ts of threads) {
    const args = { channel: chatId, ts, oldest: oldest.toFixed(6) };
    const replies = await pages('conversations.replies', args, 'messages', range, gaps);
    capped ||= replies.capped;
    // The first message comes along with its replies, whatever its age.
    items.push(...replies.items.filter((reply) => str(reply['ts']) !== ts));
  }
  if (capped) range.logger.warn('slack.catch-up-capped', { chatId });
  // A millisecond, which is what a message's time is told in, holds a thousand of the platform's.
  items.sort((a, b) => Number(str(a['ts'])) - Number(str(b['ts'])));
  const sisterOf = await range.colleagues.among(items, range.signal);
  const read = items.flatMap((item) => toMessage(item, { chatId, sisterTeam: sisterOf(item) }, range));
  const byId = new Map(read.map((message) => [message.id, message]));
  return { messages: [...byId.values()], capped };
}

function toMessage(
  item: JsonObject,
  { chatId, sisterTeam }: { readonly chatId: string; readonly sisterTeam: string | undefined },
  { oldest, cursor, ...options }: Range,
): readonly InboundMessage[] {
  const context = { ...options.context(), sisterTeam };
  const event = { ...item, type: 'message', channel: chatId };
  const stamp = str(item['ts']) ?? '';
  const ts = Number(stamp);
  // History shows only the latest text. A message from before the outage was committed with another one. The
  // cursor holds whole milliseconds, and an edit is dated in whole seconds; one that was committed is known
  // by its key.
  const edited = Number(str(obj(item['edited'])['ts']));
  const found =
    toMs(stamp) <= Math.round(cursor.ts * 1_000) && edited >= Math.floor(cursor.ts)
      ? toEdit({ channel: chatId, message: item, previous_message: {} }, context)
      : ts > oldest
        ? toInbound({ kind: 'event', body: { event } }, context)
        : undefined;
  if (!found) return [];
  cursor.learn(found);
  return found.refusal === 'own-message' || found.refusal === 'bot-author' ? [] : [found];
}

/** Every page of a listing. Waits out rate limits; what we may not see is empty. */
async function pages(
  method: string,
  args: JsonObject,
  field: string,
  options: CatchUpOptions,
  gaps: Found,
): Promise<{ readonly items: readonly JsonObject[]; readonly capped: boolean }> {
  const items: JsonObject[] = [];
  let cursor: string | undefined;
  for (let page = 0; page < MAX_PAGES; page += 1) {
    const answer = await ask(method, { ...args, limit: PAGE, ...(cursor !== undefined && { cursor }) }, options, gaps);
    if (!answer) return { items, capped: false };
    items.push(...list(answer[field]).map(obj));
    cursor = str(obj(answer['response_metadata'])['next_cursor']);
    if (cursor === undefined || cursor === '') return { items, capped: false };
  }
  return { items, capped: true };
}

async function ask(
  method: string,
  args: JsonObject,
  { client, clock, signal, logger }: CatchUpOptions,
  gaps: Found,
): Promise<JsonObject | undefined> {
  for (;;) {
    try {
      return await withDeadline({ clock, ms: CALL_TIMEOUT_MS, signal }, (inner) => client.call(method, args, inner));
    } catch (error) {
      if (!(error instanceof CallError)) throw error;
      const { failure } = error;
      if (failure.kind === 'limited') {
        await clock.sleep(failure.retryAfterMs, signal);
        continue;
      }
      if (GONE.has(apiFailureOf(error)?.code)) return undefined;
      if (!isGap(failure)) throw error;
      note(failure, { method, chatId: str(args['channel']) }, gaps);
      logger.warn('slack.catch-up-refused', { method, detail: error.message });
      return undefined;
    }
  }
}

/** A refusal that asking again will not change; what else is there to be read must not wait for it. */
function isGap(failure: CallFailure): boolean {
  if (failure.kind === 'http') return failure.status === 404;
  if (failure.kind !== 'api') return false;
  return ![LOGIN_REFUSED, LATER, MAYBE_DONE].some((words) => words.has(failure.code));
}

function note(failure: CallFailure, { method, chatId }: { method: string; chatId: string | undefined }, gaps: Found): void {
  const word = failure.kind === 'api' ? String(failure.code) : undefined;
  // Whatever it is called, one conversation is refused and not the kind of them all.
  if (word !== undefined && chatId !== undefined && !UNAVAILABLE.has(word)) {
    gaps.refused.add(chatId);
    gaps.words.add(word);
    return;
  }
  gaps.missing.add((failure.kind === 'api' ? failure.data?.['needed'] : undefined) ?? method);
}

/** What the operator is told of it; undefined when nothing is missing. */
export function noteOf({ missing, capped, refused, words }: CatchUpGaps): string | undefined {
  const notes = [
    ...(missing.length > 0 ? [`what is written during an outage is lost: the app needs ${missing.join(', ')}`] : []),
    ...(refused > 0
      ? [
          `what is written during an outage is lost in ${refused} ${refused === 1 ? 'conversation' : 'conversations'}, which the platform refuses (${words.join(', ')})`,
        ]
      : []),
    ...(capped > 0 ? [`more was written during the outage than is fetched, in ${capped} conversations`] : []),
  ];
  return notes.length > 0 ? notes.join('; ') : undefined;
}
