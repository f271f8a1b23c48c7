/**
 * What stood in a channel or thread before a message that calls the agent in
 * (https://docs.discord.com/developers/resources/message#get-channel-messages). How a thread began comes with
 * the message itself.
 */
import type { EarlierMessage } from '../../../src/core/earlier-message.ts';
import type { InboundMessage } from '../../../src/core/message.ts';
import { objects } from '../../kit/json.ts';
import { compareIds, snowflake } from '../wire/ids.ts';
import { toMessage } from './inbound.ts';

/** The platform's largest page. */
const PAGE = 100;

/** See `Channel.earlier`. `get` answers a GET and rejects with a `CallError`. */
export async function earlierMessages(
  message: InboundMessage,
  limit: number,
  get: (route: string, query: Readonly<Record<string, string>>) => Promise<unknown>,
): Promise<readonly EarlierMessage[]> {
  const { channel, account, chatId } = message;
  // The first message of a thread stands in the channel, among what was said there before.
  const threadId = message.startsThread ? undefined : message.threadId;
  const id = threadId ?? chatId;
  const before = snowflake(message.platformId);
  const query = { limit: String(Math.min(limit, PAGE)), ...(before === undefined ? {} : { before }) };
  const found = objects(await get(`/channels/${id}/messages`, query));
  const place = { id, guildId: id, ...(threadId === undefined ? {} : { parentId: chatId }) };
  const context = { channel, to: { account, roles: new Set<string>(), everyone: false }, place };
  return found
    .filter(({ id: found }) => snowflake(found) !== undefined && (before === undefined || compareIds(String(found), before) < 0))
    .sort((a, b) => compareIds(String(a['id']), String(b['id'])))
    .map((item) => toMessage(item, context))
    .map(({ platformId, senderId, senderName, text, marks, refusal }) => ({
      ...{ platformId, senderId, senderName, text, fromBot: refusal === 'own-message' },
      ...(marks && { marks }),
    }));
}
