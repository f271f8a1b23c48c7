/**
 * What stood in a thread, or in a channel, before a message that calls the agent in
 * (https://docs.slack.dev/reference/methods/conversations.replies, …/conversations.history).
 */
import type { EarlierMessage } from '../../../src/core/earlier-message.ts';
import type { InboundMessage } from '../../../src/core/message.ts';
import { type JsonObject, list, obj } from '../../kit/json.ts';
import type { Colleagues } from './colleagues.ts';
import { toInbound } from './inbound.ts';
import { type InboundContext, TS } from './inbound-fields.ts';
import type { UserNames } from './names.ts';
import { threadTail } from './thread-tail.ts';

export interface EarlierOptions {
  readonly call: (method: string, args: JsonObject) => Promise<JsonObject>;
  readonly names: Pick<UserNames, 'named'>;
  readonly colleagues: Pick<Colleagues, 'among'>;
  readonly context: InboundContext;
  readonly signal: AbortSignal;
}

/** See `Channel.earlier`. Rejects with a `CallError`. */
export async function earlierMessages(
  message: InboundMessage,
  limit: number,
  options: EarlierOptions,
): Promise<readonly EarlierMessage[]> {
  const { chatId, threadId } = message;
  const own = message.platformId.startsWith(`${chatId}:`) ? message.platformId.slice(chatId.length + 1) : '';
  const ts = TS.test(own) ? own : undefined;
  const isReply = threadId !== undefined && threadId !== ts;
  const asked = { chatId, before: ts, limit };
  const { found, gap } = isReply
    ? await ofThread(threadId, message.timestamp, asked, options)
    : { found: await newest(asked, options), gap: undefined };
  const sisterOf = await options.colleagues.among(found, options.signal);
  const read = found.flatMap((item) => {
    const event = { ...item, type: 'message', channel: chatId };
    const one = toInbound({ kind: 'event', body: { event } }, { ...options.context, sisterTeam: sisterOf(item) });
    return one && one.platformId !== message.platformId ? [one] : [];
  });
  const named = await options.names.named(read, options.signal);
  const told = named.map(({ platformId, senderId, senderName, text, marks, refusal }) => ({
    ...{ platformId, senderId, senderName, text, fromBot: refusal === 'own-message' },
    ...(marks && { marks }),
  }));
  return gap === undefined ? told : withGap(told, gap, `${chatId}:${threadId}`);
}

interface Asked {
  readonly chatId: string;
  /** Of the message that calls; absent where that has no place among the messages. */
  readonly before: string | undefined;
  readonly limit: number;
}

interface Found {
  readonly found: readonly JsonObject[];
  readonly gap: EarlierMessage['gap'];
}

/** The first message of the thread and its newest replies. */
async function ofThread(ts: string, now: number, { chatId, before, limit }: Asked, { call }: EarlierOptions): Promise<Found> {
  const asked = { channel: chatId, ts, wanted: limit - 1, now: now / 1_000, call };
  const { first, newest, isPartial } = await threadTail({ ...asked, ...(before !== undefined && { before }) });
  const gap = newest.length === 0 ? 'after' : 'before';
  return { found: first ? [first, ...newest] : newest, gap: isPartial ? gap : undefined };
}

/** The messages, with where some are left out. Rejects where that cannot be told. */
function withGap(told: readonly EarlierMessage[], gap: 'before' | 'after', firstId: string): readonly EarlierMessage[] {
  const at = gap === 'after' ? told.length - 1 : told.findIndex(({ platformId }) => platformId !== firstId);
  if (gap === 'after' && at < 0) throw new Error('the newest replies of this thread could not be reached');
  return told.map((one, n) => (n === at ? { ...one, gap } : one));
}

async function newest({ chatId, before, limit }: Asked, { call }: EarlierOptions): Promise<readonly JsonObject[]> {
  const until = before === undefined ? {} : { latest: before };
  const answer = await call('conversations.history', { channel: chatId, ...until, limit });
  return list(answer['messages']).map(obj).reverse();
}
