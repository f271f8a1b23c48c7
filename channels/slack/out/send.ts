/** One part out: a message is one call; a file is three, of which only the last shows anything. */
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { SendResult } from '../../../src/core/channel.ts';
import type { OutboundFile, OutboundPart } from '../../../src/core/message.ts';
import type { Clock } from '../../../src/core/ports.ts';
import { apiFailureOf, type ErrorCode } from '../../kit/call-error.ts';
import { settleFailedSend } from '../../kit/call-result.ts';
import { withDeadline } from '../../kit/deadline.ts';
import { str } from '../../kit/json.ts';
import { NOT_LEFT } from '../../kit/lifecycle.ts';
import { uploadName } from '../../kit/upload-file.ts';
import type { DirectChats } from '../in/direct-chats.ts';
import type { OnlyFor } from '../in/inbound-fields.ts';
import type { SlackClient } from '../wire/client.ts';
import { toEphemeral, toPost, toSendResult, toText } from './outbound.ts';
import { awaitShare } from './shares.ts';

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

/**
 * "The user must be currently active in Slack"
 * (https://docs.slack.dev/reference/methods/chat.postEphemeral): who wrote this long ago, by our measure,
 * may have closed it.
 */
const SURELY_THERE_MS = 300_000;
/** The person or the app is not in the channel; the same page. */
const NOT_THERE: ReadonlySet<ErrorCode | undefined> = new Set(['user_not_in_channel', 'not_in_channel', 'channel_not_found']);

/** Never rejects. */
export async function sendPart(part: OutboundPart, context: SendContext): Promise<SendResult> {
  const { signal, clock, timeoutMs } = context;
  if (signal.aborted) return NOT_LEFT;
  // What a person may see begins with one call; whatever fails before it has sent nothing.
  const progress = { shown: false };
  try {
    return await withDeadline({ clock, ms: timeoutMs, signal }, (inner) =>
      part.file
        ? sendFile(part, part.file, context, progress, inner)
        : context.onlyFor
          ? sendOnlyFor(part, context.onlyFor, context, progress, inner)
          : sendText(part, context, progress, inner),
    );
  } catch (error) {
    const scope = part.file ? 'account' : 'chat';
    const result = settleFailedSend(error, (failure) => toSendResult(failure, scope));
    if (result.kind !== 'unknown' || progress.shown) return result;
    return { kind: 'retry', reason: `broken off before anything was shown: ${result.detail}`, scope: 'part' };
  }
}

async function sendText(
  part: OutboundPart,
  { client, plain }: SendContext,
  progress: { shown: boolean },
  signal: AbortSignal,
): Promise<SendResult> {
  const args = await toPost(part, plain);
  signal.throwIfAborted();
  progress.shown = true;
  const answer = await client.call('chat.postMessage', args, signal);
  const ts = str(answer['ts']);
  if (ts === undefined) return { kind: 'unknown', detail: 'the answer names no message' };
  return { kind: 'sent', platformId: `${str(answer['channel']) ?? part.chatId}:${ts}` };
}

/**
 * Shown to one person, which needs no scope of its own and works as long as the command is remembered; the
 * address that comes with a slash command is a credential, and good for half an hour. A person whom the
 * platform does not find in the channel, or who may have left Slack meanwhile, is written to directly.
 */
async function sendOnlyFor(
  part: OutboundPart,
  onlyFor: OnlyFor,
  context: SendContext,
  progress: { shown: boolean },
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

async function sendFile(
  part: OutboundPart,
  file: OutboundFile,
  { client, clock, plain, uploaded }: SendContext,
  progress: { shown: boolean },
  signal: AbortSignal,
): Promise<SendResult> {
  const size = await fileSize(file.path);
  if (size === undefined) return { kind: 'refused', reason: 'invalid', detail: 'the attachment is not there any more' };
  if (size === 0) return { kind: 'refused', reason: 'invalid', detail: 'the platform takes no empty file' };
  const name = shownName(file.name);
  const slot = await client.call('files.getUploadURLExternal', { filename: name, length: size }, signal);
  const [url, id] = [str(slot['upload_url']), str(slot['file_id'])];
  if (url === undefined || id === undefined || !URL.canParse(url)) {
    return { kind: 'retry', reason: 'the platform gave no place for the file', scope: 'part' };
  }
  await client.upload(url, { bytes: createReadStream(file.path), size }, signal);
  const { text } = await toText(part, plain);
  uploaded(part, id);
  signal.throwIfAborted();
  progress.shown = true;
  await client.call(
    'files.completeUploadExternal',
    {
      files: [{ id, title: name }],
      channel_id: part.chatId,
      ...(part.threadId !== undefined && { thread_ts: part.threadId }),
      ...(text !== '' && { initial_comment: text }),
    },
    signal,
  );
  // The message is made a little later, and sometimes never: until it is there it may not count, and what follows would overtake it.
  const share = await awaitShare(id, part.chatId, { client, clock, signal });
  if (share === 'pending' || share === 'absent')
    return { kind: 'unknown', detail: 'the platform took the file and does not show it' };
  return { kind: 'sent', platformId: `${part.chatId}:file:${id}` };
}

async function fileSize(path: string): Promise<number | undefined> {
  try {
    const found = await stat(path);
    return found.isFile() ? found.size : undefined;
  } catch {
    return undefined;
  }
}

export function shownName(name: string): string {
  return uploadName(name, /[\p{Cc}/\\]+/gu);
}
