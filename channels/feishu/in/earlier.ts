/**
 * What stood in a topic, or in a chat, before a message that calls the agent in
 * (https://open.feishu.cn/document/server-docs/im-v1/message/list).
 */
import type { EarlierMessage } from '../../../src/core/earlier-message.ts';
import type { InboundMessage } from '../../../src/core/message.ts';
import { type JsonObject, obj } from '../../kit/json.ts';
import type { FeishuClient } from '../wire/client.ts';
import { stringOf } from '../wire/fields.ts';
import { UNREAD_CONVERSATION } from './forwarded.ts';
import { wordsOf } from './inbound.ts';
import { readContent } from './inbound-content.ts';

/** The platform's largest page. */
const PAGE = 50;

export interface EarlierOptions {
  readonly client: Pick<FeishuClient, 'history'>;
  /** Our open id, once it is known. */
  readonly openId: string | undefined;
  readonly signal: AbortSignal;
}

/** See `Channel.earlier`. Rejects with a `CallError`. */
export async function earlierMessages(
  message: InboundMessage,
  limit: number,
  options: EarlierOptions,
): Promise<readonly EarlierMessage[]> {
  const { threadId, chatId, timestamp } = message;
  const found =
    threadId === undefined ? await ofChat(chatId, timestamp, limit, options) : await ofThread(threadId, limit, options);
  return found
    .filter((item) => stringOf(item['message_id']) !== message.platformId && timeOf(item) <= timestamp)
    .flatMap((item) => read(item, message.account, options.openId));
}

/** A chat tells of a topic its first message alone. */
async function ofChat(id: string, before: number, limit: number, { client, signal }: EarlierOptions) {
  const until = Math.ceil(before / 1_000);
  // One more than is wanted: the message that calls is among them.
  const { items } = await client.history({ type: 'chat', id, until }, { size: Math.min(limit + 1, PAGE) }, signal);
  return items.toReversed();
}

/** Its first message and the newest. A topic takes no times. */
async function ofThread(id: string, limit: number, { client, signal }: EarlierOptions) {
  const place = { type: 'thread', id } as const;
  const { items, hasMore } = await client.history(place, { size: Math.min(limit + 1, PAGE) }, signal);
  if (!hasMore) return items.toReversed();
  const first = await client.history(place, { size: 1, oldestFirst: true }, signal);
  return [...first.items, ...items.slice(0, limit).toReversed()];
}

/** Nothing for one that was taken back, and for notices of the platform. */
function read(item: JsonObject, account: string, openId: string | undefined): readonly EarlierMessage[] {
  const type = stringOf(item['msg_type']);
  const platformId = stringOf(item['message_id']);
  if (item['deleted'] === true || type === 'system' || platformId === '') return [];
  const sender = obj(item['sender']);
  const senderId = stringOf(sender['id']) || 'unknown';
  const fromBot = sender['sender_type'] === 'app' && (senderId === account || senderId === openId);
  const content = stringOf(obj(item['body'])['content']);
  const known = readContent({ messageId: platformId, type, content, mentions: item['mentions'] }, undefined);
  const words = fromBot ? { text: known.text } : wordsOf(type, known, UNREAD_CONVERSATION);
  // The platform sends no names with messages: people appear under their id.
  return [{ platformId, senderId, senderName: senderId, fromBot, ...words }];
}

function timeOf(item: JsonObject): number {
  return Number(stringOf(item['create_time'])) || 0;
}
