/**
 * What stood in a thread, or in a channel, before a message that calls the agent in
 * (https://docs.slack.dev/reference/methods/conversations.replies, …/conversations.history).
 */
import type { EarlierMessage, InboundMessage } from '../../../src/core/message.ts';
import { type JsonObject, list, obj, str } from '../../kit/json.ts';
import { toInbound } from './inbound.ts';
import { type InboundContext, TS } from './inbound-fields.ts';
import type { UserNames } from './names.ts';

export interface EarlierOptions {
  readonly call: (method: string, args: JsonObject) => Promise<JsonObject>;
  readonly names: Pick<UserNames, 'named'>;
  readonly context: InboundContext;
  readonly signal: AbortSignal;
}

/** Replies come the oldest first, so the newest of a long thread lie behind pages of older ones. */
const PAGE = 200;
const MOST_PAGES = 5;

/** See `Channel.earlier`. Rejects with a `CallError`. */
export async function earlierMessages(
  message: InboundMessage,
  limit: number,
  options: EarlierOptions,
): Promise<readonly EarlierMessage[]> {
  const { chatId, threadId } = message;
  const own = message.platformId.startsWith(`${chatId}:`) ? message.platformId.slice(chatId.length + 1) : '';
  const ts = TS.test(own) ? own : undefined;
  const until = ts === undefined ? {} : { latest: ts };
  const isReply = threadId !== undefined && threadId !== ts;
  const found = isReply
    ? await replies(threadId, limit, { chatId, until }, options)
    : await newest(limit, { chatId, until }, options);
  const read = found.flatMap((item) => {
    const event = { ...item, type: 'message', channel: chatId };
    const one = toInbound({ kind: 'event', body: { event } }, options.context);
    return one && one.platformId !== message.platformId ? [one] : [];
  });
  const named = await options.names.named(read, options.signal);
  return named.map(({ platformId, senderId, senderName, text, marks, refusal }) => ({
    ...{ platformId, senderId, senderName, text, fromBot: refusal === 'own-message' },
    ...(marks && { marks }),
  }));
}

interface Range {
  readonly chatId: string;
  readonly until: JsonObject;
}

/** The first message of the thread and its newest replies. */
async function replies(
  ts: string,
  limit: number,
  { chatId, until }: Range,
  { call }: EarlierOptions,
): Promise<readonly JsonObject[]> {
  const items: JsonObject[] = [];
  for (let [page, cursor] = [0, '']; page < MOST_PAGES; page += 1) {
    const args = { channel: chatId, ts, ...until, limit: PAGE, ...(cursor !== '' && { cursor }) };
    const answer = await call('conversations.replies', args);
    items.push(...list(answer['messages']).map(obj));
    cursor = str(obj(answer['response_metadata'])['next_cursor']) ?? '';
    if (cursor === '') break;
  }
  const [first, ...rest] = items;
  return first ? [first, ...rest.slice(-(limit - 1))] : [];
}

async function newest(limit: number, { chatId, until }: Range, { call }: EarlierOptions): Promise<readonly JsonObject[]> {
  const answer = await call('conversations.history', { channel: chatId, ...until, limit });
  return list(answer['messages']).map(obj).reverse();
}
