/**
 * A part of an answer to the place where it belongs: in place of "is thinking", into a thread that it opens,
 * or into its chat.
 */
import { readFile, stat } from 'node:fs/promises';
import type { SendOptions, SendResult } from '../../../src/core/channel.ts';
import type { OutboundPart } from '../../../src/core/message.ts';
import type { Clock } from '../../../src/core/ports.ts';
import { apiFailureOf, CallError } from '../../kit/call-error.ts';
import { settleFailedSend } from '../../kit/call-result.ts';
import { withDeadline } from '../../kit/deadline.ts';
import { obj } from '../../kit/json.ts';
import { NOT_LEFT } from '../../kit/lifecycle.ts';
import { RecentSet } from '../../kit/recent.ts';
import { unreadResult } from '../../kit/upload-file.ts';
import type { Interactions } from '../in/interactions.ts';
import type { CallOptions, DiscordClient } from '../wire/client.ts';
import { isPassing, isReplyRefused, toSendResult } from '../wire/failure.ts';
import { snowflake } from '../wire/ids.ts';
import { awaitingOf, placeOf, type SendCall, shownName, toAnswer, toCreate, toEditCall } from './outbound.ts';
import type { Threads } from './threads.ts';

export interface SendingOptions {
  readonly client: Pick<DiscordClient, 'call'>;
  readonly interactions: Interactions;
  readonly threads: Threads;
  readonly clock: Clock;
  /** Longest wait for the answer to one call, without and with a file. */
  readonly sendMs: number;
  readonly uploadMs: number;
}

const NO_PLACE: SendResult = { kind: 'refused', reason: 'chat-gone', detail: 'the chat has no id of Discord' };
const ALONE: SendResult = { kind: 'retry', reason: 'it may be no reply there', afterMs: 0, scope: 'part' };
const AGAIN: SendResult = { kind: 'retry', reason: 'it goes to another place', afterMs: 0, scope: 'part' };

/** Channels in which no reply of ours is taken. */
const MAX_WITHOUT_REPLIES = 1_000;

export class Sending {
  readonly #options: SendingOptions;
  /** In memory: after a restart the first answer in a channel learns it again. */
  readonly #withoutReplies = new RecentSet(MAX_WITHOUT_REPLIES);

  constructor(options: SendingOptions) {
    this.#options = options;
  }

  /** See `Channel.send`. */
  async send(part: OutboundPart, { plain, signal }: SendOptions): Promise<SendResult> {
    if (placeOf(part) === undefined) return NO_PLACE;
    const file = part.file && (await readUpload(part.file));
    if (file && 'kind' in file) return file;
    const inPlace = await this.#inPlace(part, plain, file, signal);
    if (inPlace) return inPlace;
    const { threads } = this.#options;
    let place: string | undefined;
    try {
      place = await this.#within(part, signal, (inner) => threads.placeOf(part, inner));
    } catch (error) {
      return notOpened(error);
    }
    if (place === undefined) return NO_PLACE;
    const isReply = !this.#withoutReplies.has(place);
    try {
      const create = await toCreate(part, place, { plain, isReply, ...(file && { bytes: file.bytes }) });
      return await this.#call(part, create, file, signal);
    } catch (error) {
      if (isReply && isReplyRefused(apiFailureOf(error))) {
        this.#withoutReplies.add(place);
        return ALONE;
      }
      // Proven not to be there: it was refused.
      return threads.refused(part, error) ? AGAIN : settleFailedSend(error, toSendResult);
    }
  }

  /** See `Channel.edit`. */
  async edit(platformId: string, part: OutboundPart, { plain, signal }: SendOptions): Promise<SendResult> {
    const messageId = snowflake(platformId);
    if (messageId === undefined) return NO_PLACE;
    const { file: _file, replyContext: _context, ...words } = part;
    try {
      const result = await this.#options.threads.inEither(part, async (place) =>
        this.#call(words, await toEditCall(words, place, messageId, plain), undefined, signal),
      );
      return result ?? NO_PLACE;
    } catch (error) {
      return settleFailedSend(error, toSendResult);
    }
  }

  /**
   * The answer to a command that shows "is thinking". Undefined where the part has to be a message of its
   * own.
   */
  async #inPlace(
    part: OutboundPart,
    plain: boolean,
    file: CallOptions['file'],
    signal: AbortSignal,
  ): Promise<SendResult | undefined> {
    const { interactions, clock } = this.#options;
    const command = awaitingOf(part, clock.now());
    if (!command) return undefined;
    if (command.closingMs > 0 && !interactions.isClaimed(command.token, part.key)) {
      const reason = 'the command can hardly be answered in place any more, and an earlier attempt may have done so';
      return { kind: 'retry', reason, afterMs: command.closingMs, scope: 'part' };
    }
    await interactions.acknowledged(command.token);
    const awaiting = interactions.claim(command, part.key);
    if (!awaiting) return undefined;
    try {
      return await this.#call(part, await toAnswer(part, awaiting, plain), file, signal);
    } catch (error) {
      const { status = 500 } = apiFailureOf(error) ?? {};
      // The same edit may be made again; as a message of its own a hidden answer would be shown to all.
      if (status >= 500 || isPassing(error)) return settleFailedSend(error, toSendResult);
      // The platform takes no answer to that command any more: it becomes a message of its own.
      interactions.expire(awaiting.token);
      return AGAIN;
    }
  }

  /** Rejects as `DiscordClient.call` and the deadline do. */
  async #call(part: OutboundPart, call: SendCall, file: CallOptions['file'], signal: AbortSignal): Promise<SendResult> {
    if (signal.aborted) return NOT_LEFT;
    const { method, route, body } = call;
    const answer = await this.#within(part, signal, (inner) =>
      this.#options.client.call(method, route, { body, ...(file && { file }), signal: inner }),
    );
    const platformId = snowflake(obj(answer)['id']);
    return platformId === undefined ? { kind: 'unknown', detail: 'the answer names no message' } : { kind: 'sent', platformId };
  }

  #within<T>(part: OutboundPart, signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const { clock, sendMs, uploadMs } = this.#options;
    return withDeadline({ clock, ms: part.file ? uploadMs : sendMs, signal }, work);
  }
}

/**
 * The thread could not be opened, or it is not known: nothing of the part has left, and asking again makes no
 * second one.
 */
function notOpened(error: unknown): SendResult {
  const failed = error instanceof CallError ? toSendResult(error.failure) : undefined;
  if (failed && failed.kind !== 'unknown') return failed;
  const detail = failed ? failed.detail : 'no answer in time';
  return { kind: 'retry', reason: `the thread for it could not be opened: ${detail}`, scope: 'part' };
}

/** Read before the request leaves: afterwards it cannot be known what the platform took. */
async function readUpload(file: NonNullable<OutboundPart['file']>): Promise<NonNullable<CallOptions['file']> | SendResult> {
  try {
    // Reading what is no file might wait for ever.
    if (!(await stat(file.path)).isFile()) return { kind: 'refused', reason: 'invalid', detail: 'the attachment is not a file' };
    return { bytes: await readFile(file.path), name: shownName(file), mime: file.mime };
  } catch (error) {
    return unreadResult(error);
  }
}
