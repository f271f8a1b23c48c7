/** The adapter: one application of one company. Callbacks come in by `webhook.ts` and `intake.ts`, answers go out by the API. */
import { stat } from 'node:fs/promises';
import type {
  Channel,
  ChannelDeps,
  ChannelHealth,
  ChannelHost,
  ChannelLimits,
  MediaFile,
  SendClass,
  SendOptions,
  SendResult,
  Webhook as ServedWebhook,
} from '../../src/core/channel.ts';
import { errorText, GatehouseError, isGatehouseError } from '../../src/core/errors.ts';
import type { MediaRef, OutboundFile, OutboundPart } from '../../src/core/message.ts';
import { withDeadline } from '../kit/deadline.ts';
import { reconnect } from '../kit/reconnect.ts';
import { CallError } from './call-error.ts';
import type { CallbackKeys } from './callback.ts';
import type { Progress, WecomClient } from './client.ts';
import { download } from './download.ts';
import { Intake } from './intake.ts';
import {
  isAuthFailure,
  LEAST_BYTES,
  type MessageOptions,
  toFileMessage,
  toMessage,
  toSendResult,
  toSent,
  toUpload,
} from './outbound.ts';
import type { WecomSettings } from './settings.ts';
import { Uploads } from './uploads.ts';
import { MAX_BODY_BYTES, Webhook } from './webhook.ts';

const MEGABYTE = 1024 * 1024;

const LIMITS: ChannelLimits = {
  // Below the platform's 2048: room for a fence that a split closes and opens again, and for the mark of `outbound.ts`.
  text: 1_950,
  unit: 'byte',
  caption: 0,
  uploadBytes: 20 * MEGABYTE,
  downloadBytes: 20 * MEGABYTE,
};

/** 30 a minute and 1000 an hour per member, and what is more is dropped in silence: burst plus refill stay below both. */
const RATES: NonNullable<ChannelLimits['rate']> = { perChat: { burst: 10, perSecond: 0.27 } };

/** Credentials that were refused are tried again this often at most, so that mended ones are picked up without a restart. */
const RECONNECT_CAP_MS = 300_000;

export class WecomChannel implements Channel {
  readonly name: string;
  readonly type = 'wecom';
  readonly account: string;
  readonly limits: ChannelLimits;
  readonly inboundClass = 'A';
  readonly sendClass: SendClass;
  readonly buttons = true;
  readonly #client: WecomClient;
  readonly #keys: CallbackKeys;
  readonly #settings: WecomSettings;
  readonly #deps: ChannelDeps;
  readonly #uploads: Uploads;
  readonly #stopping = new AbortController();
  readonly #sending = new Set<Promise<unknown>>();
  /** What keeps the channel from being healthy: the journal, or the platform. */
  readonly #faults: { journal?: Fault; platform?: Fault } = {};
  #trouble = Promise.withResolvers<CallError>();
  #running: Promise<void> | undefined;
  #host: ChannelHost | undefined;
  #intake: Intake | undefined;
  #served: ServedWebhook | undefined;

  constructor(options: { client: WecomClient; keys: CallbackKeys; settings: WecomSettings; deps: ChannelDeps }) {
    this.#client = options.client;
    this.#keys = options.keys;
    this.#settings = options.settings;
    this.#deps = options.deps;
    this.#uploads = new Uploads(options.deps.dir, () => options.deps.clock.now());
    this.name = options.deps.name;
    this.account = `${options.keys.receiveId}:${options.settings.agent_id}`;
    this.limits = options.settings.rate_limits ? { ...LIMITS, rate: RATES } : LIMITS;
    this.sendClass = options.settings.duplicate_check ? 'idem' : 'blind';
  }

  async start(host: ChannelHost, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    if (this.#running || this.#stopping.signal.aborted) throw new GatehouseError('GH1004', 'a channel can be started once only');
    const { clock, random } = this.#deps;
    const stop = AbortSignal.any([signal, this.#stopping.signal]);
    this.#host = host;
    host.health('starting');
    const settled = Promise.withResolvers<void>();
    this.#running = reconnect({
      run: (connected) =>
        this.#connect(host, stop, () => {
          connected();
          settled.resolve();
        }),
      onEnd: (error) => {
        this.#report('platform', stop.aborted ? undefined : faultOf(error));
        settled.resolve();
        return true;
      },
      clock,
      random,
      signal: stop,
      capMs: RECONNECT_CAP_MS,
    });
    await Promise.race([settled.promise, this.#running]);
    signal.throwIfAborted();
  }

  /** Waits for sends under way: breaking them would leave their fate unknown. The caller bounds them with their signals. */
  async stop(): Promise<void> {
    this.#stopping.abort(new Error('channel stopped'));
    await this.#running;
    await this.#served?.[Symbol.asyncDispose]();
    await this.#intake?.settled();
    await Promise.allSettled(this.#sending);
    this.#client.close();
    this.#host?.health('stopped');
    this.#host = undefined;
  }

  async send(part: OutboundPart, options: SendOptions): Promise<SendResult> {
    if (this.#stopping.signal.aborted) return { kind: 'retry', reason: 'the channel is stopped', scope: 'account' };
    const sending = this.#send(part, options);
    this.#sending.add(sending);
    try {
      return await sending;
    } finally {
      this.#sending.delete(sending);
    }
  }

  download(media: MediaRef, signal: AbortSignal): Promise<MediaFile> {
    return download(media, {
      client: this.#client,
      capBytes: this.limits.downloadBytes,
      timeoutMs: this.#settings.download_timeout_secs * 1_000,
      signal: AbortSignal.any([signal, this.#stopping.signal]),
    });
  }

  /** Serves callbacks from the first time on, whatever the API says: they are signed with keys of their own. Ends in trouble. */
  async #connect(host: ChannelHost, signal: AbortSignal, connected: () => void): Promise<void> {
    this.#served ??= await this.#serve(host, signal);
    await this.#uploads.sweep();
    await this.#client.checkCredentials(this.#settings.agent_id, signal);
    this.#trouble = Promise.withResolvers();
    this.#report('platform', undefined);
    connected();
    const { promise: aborted, resolve } = Promise.withResolvers<undefined>();
    signal.addEventListener('abort', () => resolve(undefined), { once: true });
    const trouble = await Promise.race([this.#trouble.promise, aborted]);
    if (trouble) throw trouble;
  }

  async #serve(host: ChannelHost, signal: AbortSignal): Promise<ServedWebhook> {
    const { clock, random, logger, name, webhooks } = this.#deps;
    const intake = new Intake({
      host,
      clock,
      random,
      signal,
      onRejected: (error) =>
        this.#report('journal', { state: 'down', detail: `messages cannot be stored, trying again: ${errorText(error)}` }),
      onAccepted: () => this.#report('journal', undefined),
    });
    const context = {
      channel: name,
      account: this.account,
      corpId: this.#keys.receiveId,
      agentId: String(this.#settings.agent_id),
    };
    const webhook = new Webhook({ keys: this.#keys, context, take: (message) => intake.take(message), clock, logger });
    const served = await webhooks.serve((request, caller) => webhook.handle(request, caller), { maxBytes: MAX_BODY_BYTES });
    this.#intake = intake;
    logger.info('wecom.serving', { path: served.path, origin: served.localOrigin });
    return served;
  }

  /** Health is the worst of what is wrong. Nothing is reported twice, and nothing after the stop. */
  #report(part: 'journal' | 'platform', fault: Fault | undefined): void {
    if (this.#stopping.signal.aborted || (part === 'journal' && fault === this.#faults.journal)) return;
    if (fault) this.#faults[part] = fault;
    else delete this.#faults[part];
    const worst = this.#faults.journal ?? this.#faults.platform;
    if (worst) this.#host?.health(worst.state, worst.detail);
    else this.#host?.health('healthy');
  }

  async #send(part: OutboundPart, options: SendOptions): Promise<SendResult> {
    if (options.signal.aborted) return NOT_SENT;
    const fault = part.file && (await unusable(part.file));
    if (fault) return { kind: 'refused', reason: 'invalid', detail: fault };
    const { send_timeout_secs, upload_timeout_secs, agent_id, markdown, duplicate_check } = this.#settings;
    const message: MessageOptions = { plain: options.plain, agentId: agent_id, markdown, duplicateCheck: duplicate_check };
    const ms = (part.file ? upload_timeout_secs : send_timeout_secs) * 1_000;
    const progress: Progress = { left: false };
    const result = await withDeadline({ clock: this.#deps.clock, ms, signal: options.signal }, (signal) =>
      part.file ? this.#sendFile(part, part.file, message, progress, signal) : this.#sendText(part, message, progress, signal),
    ).catch((error: unknown): SendResult => {
      if (error instanceof CallError) {
        if (isAuthFailure(error)) this.#lose(error);
        return toSendResult(error);
      }
      // Neither our deadline nor an abort takes a request back that has left.
      if (progress.left) return { kind: 'unknown', detail: errorText(error) };
      return { kind: 'retry', reason: errorText(error), scope: 'part' };
    });
    // What is settled for good is never asked for again.
    if (part.file && (result.kind === 'sent' || result.kind === 'refused')) await this.#forget(part.key);
    return result;
  }

  async #sendText(part: OutboundPart, options: MessageOptions, progress: Progress, signal: AbortSignal): Promise<SendResult> {
    const message = await toMessage(part, options);
    if (typeof message === 'string') return { kind: 'refused', reason: 'too-long', detail: message };
    return toSent(await this.#client.send(message, progress, signal), part);
  }

  async #sendFile(
    part: OutboundPart,
    file: OutboundFile,
    options: MessageOptions,
    progress: Progress,
    signal: AbortSignal,
  ): Promise<SendResult> {
    const upload = toUpload(file);
    const known = await this.#uploads.get(part.key);
    const id = known ?? (await this.#client.upload(upload, signal));
    // On disk before the message leaves: after a crash it goes out with this id again, and the duplicate check knows it.
    if (known === undefined) await this.#uploads.put(part.key, id);
    try {
      return toSent(await this.#client.send(toFileMessage(part, { type: upload.type, id }, options), progress, signal), part);
    } catch (error) {
      const gone = error instanceof CallError && error.failure.kind === 'api' && error.failure.errcode === UNKNOWN_MEDIA;
      if (!gone || known === undefined) throw error;
      await this.#uploads.forget(part.key);
      return { kind: 'retry', reason: 'the platform no longer has the upload', afterMs: 0, scope: 'part' };
    }
  }

  async #forget(key: string): Promise<void> {
    try {
      await this.#uploads.forget(key);
    } catch (error) {
      this.#deps.logger.warn('wecom.upload-not-forgotten', { detail: errorText(error) });
    }
  }

  /** Credentials that worked do no more: says so, and asks until they do. */
  #lose(error: CallError): void {
    this.#report('platform', faultOf(error));
    this.#trouble.resolve(error);
  }
}

interface Fault {
  readonly state: ChannelHealth;
  readonly detail: string;
}

const NOT_SENT: SendResult = { kind: 'retry', reason: 'stopped before the request left', scope: 'part' };
/** "Invalid media_id": never there, or older than three days. */
const UNKNOWN_MEDIA = 40_007;

/** What the operator is told to do about each. */
const ADVICE: Readonly<Record<number, string>> = {
  40001: 'copy the Secret of the application again',
  40013: 'check the id of the company',
  60020: 'add the address of this machine to "Trusted IPs" of the application in the admin console',
  48002: 'the Secret belongs to something that may not send messages: use the one of a self-built application',
  50003: 'switch the application on in the admin console',
  301002: 'agent_id and the Secret belong to different applications',
};

function faultOf(error: unknown): Fault {
  if (!(error instanceof CallError)) {
    return {
      state: 'down',
      detail: isGatehouseError(error) ? `${error.code}: ${error.message}; ${error.hint}` : errorText(error),
    };
  }
  const { failure, message } = error;
  if (!isAuthFailure(error)) return { state: 'degraded', detail: `GH1502: ${message}` };
  const advice = failure.kind === 'api' ? ADVICE[failure.errcode] : undefined;
  return { state: 'down', detail: `GH1501: ${message}; ${advice ?? 'check the application in the admin console'}` };
}

/** Must be noticed before the request leaves: afterwards nobody knows what the platform took. */
async function unusable({ path, bytes }: OutboundFile): Promise<string | undefined> {
  if (bytes < LEAST_BYTES) return `the platform takes no file of less than ${LEAST_BYTES} bytes`;
  try {
    return (await stat(path)).isFile() ? undefined : 'the attachment is not a file';
  } catch {
    return 'the attachment is not there any more';
  }
}
