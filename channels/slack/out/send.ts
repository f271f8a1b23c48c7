/** One part out: a message is one call; a file is three, of which only the last shows anything. */
import { createReadStream } from 'node:fs';
import { stat } from 'node:fs/promises';
import type { SendResult } from '../../../src/core/channel.ts';
import type { OutboundFile, OutboundPart } from '../../../src/core/message.ts';
import { settleFailedSend } from '../../kit/call-result.ts';
import { withDeadline } from '../../kit/deadline.ts';
import { str } from '../../kit/json.ts';
import { NOT_LEFT } from '../../kit/lifecycle.ts';
import { uploadName } from '../../kit/upload-file.ts';
import { sendOnlyFor } from './only-for.ts';
import { toSendResult, toText } from './outbound.ts';
import { type Progress, type SendContext, sendText } from './send-text.ts';
import { awaitShare } from './shares.ts';

/** Never rejects. */
export async function sendPart(part: OutboundPart, context: SendContext): Promise<SendResult> {
  const { signal, clock, timeoutMs } = context;
  if (signal.aborted) return NOT_LEFT;
  const progress = { shown: false };
  const { onlyFor } = context;
  try {
    return await withDeadline({ clock, ms: timeoutMs, signal }, (inner) => {
      if (part.file) return sendFile(part, part.file, context, progress, inner);
      return onlyFor ? sendOnlyFor(part, onlyFor, context, progress, inner) : sendText(part, context, progress, inner);
    });
  } catch (error) {
    const scope = part.file ? 'account' : 'chat';
    const result = settleFailedSend(error, (failure) => toSendResult(failure, scope));
    if (result.kind !== 'unknown' || progress.shown) return result;
    return { kind: 'retry', reason: `broken off before anything was shown: ${result.detail}`, scope: 'part' };
  }
}

async function sendFile(
  part: OutboundPart,
  file: OutboundFile,
  { client, clock, plain, uploaded }: SendContext,
  progress: Progress,
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
  // The message is made a little later, and sometimes never. Until it is there it may not count: what follows
  // would overtake it.
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
