/** An answer that one person of a channel sees. */
import type { SendResult } from '../../../src/core/channel.ts';
import type { OutboundPart } from '../../../src/core/message.ts';
import { apiFailureOf, type ErrorCode } from '../../kit/call-error.ts';
import { str } from '../../kit/json.ts';
import type { OnlyFor } from '../in/inbound-fields.ts';
import { toEphemeral } from './outbound.ts';
import { type Progress, type SendContext, sendText } from './send-text.ts';

/**
 * "The user must be currently active in Slack"
 * (https://docs.slack.dev/reference/methods/chat.postEphemeral): who wrote this long ago, by our measure,
 * may have closed it.
 */
const SURELY_THERE_MS = 300_000;
/** The person or the app is not in the channel; the same page. */
const NOT_THERE: ReadonlySet<ErrorCode | undefined> = new Set(['user_not_in_channel', 'not_in_channel', 'channel_not_found']);

/**
 * Shown to one person, which needs no scope of its own and works as long as the command is remembered; the
 * address that comes with a slash command is a credential, and good for half an hour. A person whom the
 * platform does not find in the channel, or who may have left Slack meanwhile, is written to directly.
 */
export async function sendOnlyFor(
  part: OutboundPart,
  onlyFor: OnlyFor,
  context: SendContext,
  progress: Progress,
  signal: AbortSignal,
): Promise<SendResult> {
  const { client, plain } = context;
  const directly = async (): Promise<SendResult | undefined> => {
    progress.shown = false;
    const chatId = await context.directChats.idOf(onlyFor.user, signal);
    const { threadId: _there, ...rest } = part;
    return chatId === undefined ? undefined : sendText({ ...rest, chatId }, context, progress, signal);
  };
  const isLate = client.now() - onlyFor.at > SURELY_THERE_MS;
  const direct = isLate ? await directly() : undefined;
  if (direct) return direct;
  const args = await toEphemeral(part, onlyFor, plain);
  signal.throwIfAborted();
  progress.shown = true;
  try {
    const ts = str((await client.call('chat.postEphemeral', args, signal))['message_ts']);
    if (ts === undefined) return { kind: 'unknown', detail: 'the answer names no message' };
    return { kind: 'sent', platformId: `${part.chatId}:only:${ts}` };
  } catch (error) {
    const word = apiFailureOf(error)?.code;
    if (!NOT_THERE.has(word)) throw error;
    return (await directly()) ?? { kind: 'refused', reason: 'chat-gone', detail: `${word}, and no direct message can be sent` };
  }
}
