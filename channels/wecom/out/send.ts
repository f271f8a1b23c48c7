import { readFile } from 'node:fs/promises';
import type { ChannelDeps, SendOptions, SendResult } from '../../../src/core/channel.ts';
import { errorText } from '../../../src/core/errors.ts';
import type { OutboundFile, OutboundPart } from '../../../src/core/message.ts';
import { apiFailureOf, CallError } from '../../kit/call-error.ts';
import { withDeadline } from '../../kit/deadline.ts';
import { NOT_LEFT } from '../../kit/lifecycle.ts';
import { unreadableFile } from '../../kit/upload-file.ts';
import type { WecomSettings } from '../settings.ts';
import type { Progress, WecomClient } from '../wire/client.ts';
import { isAuthFailure, toCardResult, toSendResult } from '../wire/failure.ts';
import { amrSeconds } from './amr.ts';
import {
  acceptedId,
  LEAST_BYTES,
  type MessageOptions,
  mayBeVoice,
  toFileMessage,
  toMessage,
  toSent,
  toUpload,
} from './outbound.ts';
import { Uploads } from './uploads.ts';

export interface SenderOptions {
  readonly client: Pick<WecomClient, 'send' | 'upload'>;
  readonly settings: WecomSettings;
  readonly deps: Pick<ChannelDeps, 'clock' | 'logger' | 'dir'>;
  /** Told of credentials that worked and do no more. */
  readonly onAuthFailure: (error: CallError) => void;
}

/** "Invalid media_id": never there, or older than three days. */
const UNKNOWN_MEDIA = 40_007;

/** Sends one part: one message, after one upload where it carries a file. Never throws. */
export class Sender {
  readonly #options: SenderOptions;
  readonly #uploads: Uploads;

  constructor(options: SenderOptions) {
    this.#options = options;
    this.#uploads = new Uploads(options.deps.dir, () => options.deps.clock.now());
  }

  /** Removes what an earlier process left behind and nobody asks for any more. Never rejects. */
  async sweep(): Promise<void> {
    await this.#uploads.sweep().catch((error: unknown) => {
      this.#options.deps.logger.warn('wecom.uploads-not-swept', { detail: errorText(error) });
    });
  }

  async send(part: OutboundPart, { plain, signal }: SendOptions): Promise<SendResult> {
    if (signal.aborted) return NOT_LEFT;
    const fault = part.file && (await unusable(part.file));
    if (fault) return { kind: 'refused', reason: 'invalid', detail: fault };
    const { settings, deps, onAuthFailure } = this.#options;
    const options: MessageOptions = {
      plain,
      agentId: settings.agent_id,
      markdown: settings.markdown,
      duplicateCheck: settings.duplicate_check,
    };
    const ms = (part.file ? settings.upload_timeout_secs : settings.send_timeout_secs) * 1_000;
    const progress: Progress = { left: false };
    const result = await withDeadline({ clock: deps.clock, ms, signal }, (inner) => {
      const scope = { options, progress, signal: inner };
      return part.file ? this.#sendFile(part, part.file, scope) : this.#sendText(part, scope);
    }).catch((error: unknown): SendResult => {
      if (error instanceof CallError) {
        if (isAuthFailure(error)) onAuthFailure(error);
        return toSendResult(error);
      }
      // Neither our deadline nor an abort takes a request back that has left.
      if (progress.left) return { kind: 'unknown', detail: errorText(error) };
      return { kind: 'retry', reason: errorText(error), scope: 'part' };
    });
    // What is settled is never asked for again. A refused login settles nothing: an earlier attempt may have
    // arrived.
    const settled = result.kind === 'sent' || (result.kind === 'refused' && result.reason !== 'auth');
    if (part.file && settled) await this.#forget(part.key);
    return result;
  }

  async #sendText(part: OutboundPart, { options, progress, signal }: Scope): Promise<SendResult> {
    const message = await toMessage(part, options);
    if ('refused' in message) return { kind: 'refused', reason: message.refused, detail: message.detail };
    signal.throwIfAborted();
    try {
      return toSent(await this.#options.client.send(message.payload, progress, signal), part);
    } catch (error) {
      const result = message.card && toCardResult(error, acceptedId(part));
      if (!result) throw error;
      return result;
    }
  }

  async #sendFile(part: OutboundPart, file: OutboundFile, { options, progress, signal }: Scope): Promise<SendResult> {
    const { client } = this.#options;
    const upload = toUpload(file, mayBeVoice(file) ? amrSeconds(await readFile(file.path, { signal })) : undefined);
    const known = await this.#uploads.get(part.key);
    const id = known ?? (await client.upload(upload, signal));
    // The id is on disk before the message leaves: after a crash it goes out again, and the duplicate check
    // knows it.
    if (known === undefined) await this.#uploads.put(part.key, id);
    signal.throwIfAborted();
    try {
      return toSent(await client.send(toFileMessage(part, { type: upload.type, id }, options), progress, signal), part);
    } catch (error) {
      if (apiFailureOf(error)?.code !== UNKNOWN_MEDIA || known === undefined) throw error;
      await this.#uploads.forget(part.key);
      return { kind: 'retry', reason: 'the platform no longer has the upload', afterMs: 0, scope: 'part' };
    }
  }

  async #forget(key: string): Promise<void> {
    try {
      await this.#uploads.forget(key);
    } catch (error) {
      this.#options.deps.logger.warn('wecom.upload-not-forgotten', { detail: errorText(error) });
    }
  }
}

interface Scope {
  readonly options: MessageOptions;
  readonly progress: Progress;
  readonly signal: AbortSignal;
}

/** Must be noticed before the request leaves: afterwards nobody knows what the platform took. */
async function unusable({ path, bytes }: OutboundFile): Promise<string | undefined> {
  if (bytes < LEAST_BYTES) return `the platform takes no file of less than ${LEAST_BYTES} bytes`;
  return await unreadableFile(path);
}
