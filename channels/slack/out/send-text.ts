/** A message that all people of its conversation see: one call. */
import type { SendResult } from '../../../src/core/channel.ts';
import type { OutboundPart } from '../../../src/core/message.ts';
import type { Clock } from '../../../src/core/ports.ts';
import { str } from '../../kit/json.ts';
import type { DirectChats } from '../in/direct-chats.ts';
import type { OnlyFor } from '../in/inbound-fields.ts';
import type { SlackClient } from '../wire/client.ts';
import { callWithTables } from './call-with-tables.ts';
import { toPost } from './outbound.ts';

export interface SendContext {
  readonly client: Pick<SlackClient, 'call' | 'upload' | 'now'>;
  readonly clock: Clock;
  readonly plain: boolean;
  readonly signal: AbortSignal;
  readonly timeoutMs: number;
  /** The answer is for this person alone. Absent: for all of the conversation. */
  readonly onlyFor?: OnlyFor;
  readonly directChats: Pick<DirectChats, 'idOf'>;
  /** Told the platform's id of a file before it is shown, so that it can be asked for. */
  readonly uploaded: (part: OutboundPart, fileId: string) => void;
}

/** Set when a call begins after which a person may see something; what fails before has sent nothing. */
export interface Progress {
  shown: boolean;
}

/** Rejects with a `CallError` or the reason of `signal`. */
export async function sendText(
  part: OutboundPart,
  { client, plain }: SendContext,
  progress: Progress,
  signal: AbortSignal,
): Promise<SendResult> {
  const answer = await callWithTables(
    (tables) => toPost(part, plain, tables),
    (args) => {
      signal.throwIfAborted();
      progress.shown = true;
      return client.call('chat.postMessage', args, signal);
    },
  );
  const ts = str(answer['ts']);
  if (ts === undefined) return { kind: 'unknown', detail: 'the answer names no message' };
  return { kind: 'sent', platformId: `${str(answer['channel']) ?? part.chatId}:${ts}` };
}
