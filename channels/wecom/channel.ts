/** The adapter: one application. `webhook.ts` and `intake.ts` take callbacks, the API takes the answers. */
import type {
  Channel,
  ChannelDeps,
  ChannelHost,
  ChannelLimits,
  MediaFile,
  SendClass,
  SendOptions,
  SendResult,
  Webhook,
} from '../../src/core/channel.ts';
import type { InboundMessage, MediaRef, OutboundPart } from '../../src/core/message.ts';
import { settledOrAborted } from '../../src/lib/time-limit.ts';
import { CallError } from '../kit/call-error.ts';
import { downloadLimits, MEGABYTE } from '../kit/download.ts';
import { HealthSum, inOrder } from '../kit/health-sum.ts';
import { Lifecycle } from '../kit/lifecycle.ts';
import { reconnect } from '../kit/reconnect.ts';
import { sendTime } from '../kit/send-time.ts';
import { sentLength } from '../kit/sent-length.ts';
import { download } from './in/download.ts';
import { Intake } from './in/intake.ts';
import type { CallbackKeys } from './in/request.ts';
import { createWebhookHandler, MAX_BODY_BYTES } from './in/webhook.ts';
import { toWecom } from './out/format.ts';
import { CARD_BUTTONS, CARD_TEXT } from './out/outbound.ts';
import { Sender } from './out/send.ts';
import { PLATFORM_LIMITS } from './platform-limits.ts';
import type { WecomSettings } from './settings.ts';
import type { WecomClient } from './wire/client.ts';
import { isAuthFailure, judge } from './wire/failure.ts';

/**
 * Below the platform's 2048: room for a fence that a split closes and opens again, and for the mark of
 * `outbound.ts`.
 */
const TEXT = 1_950;
const LIMITS: ChannelLimits = {
  text: TEXT,
  sentLength: sentLength(TEXT, (markdown) => Buffer.byteLength(toWecom(markdown, true).content)),
  buttons: { choices: CARD_BUTTONS, text: CARD_TEXT },
  unit: 'byte',
  caption: 0,
  uploadBytes: PLATFORM_LIMITS.file.value,
  downloadBytes: 20 * MEGABYTE,
};

/**
 * Burst plus refill stay below 30 a minute and 1000 an hour per member: the platform drops what is more in
 * silence.
 */
const RATES: NonNullable<ChannelLimits['rate']> = { perChat: { burst: 10, perSecond: 0.27 } };

/** Refused credentials are tried again at least this often, so that mended ones need no restart. */
const RECONNECT_CAP_MS = 300_000;

export class WecomChannel implements Channel {
  readonly name: string;
  readonly type = 'wecom';
  readonly account: string;
  readonly limits: ChannelLimits;
  readonly inboundClass = 'A';
  readonly sendClass: SendClass;
  /** The platform's duplicate check looks back this far at most; see settings. */
  readonly idemWindowMs = PLATFORM_LIMITS.duplicates.value;
  readonly buttons = true;
  readonly #client: WecomClient;
  readonly #keys: CallbackKeys;
  readonly #settings: WecomSettings;
  readonly #deps: ChannelDeps;
  readonly #sender: Sender;
  readonly #life = new Lifecycle();
  readonly #health = new HealthSum<'journal' | 'platform'>(
    (...health) => {
      if (!this.#life.stopping.aborted) this.#life.host?.health(...health);
    },
    inOrder('journal', 'platform'),
    ['platform'],
  );
  #trouble = Promise.withResolvers<CallError>();
  #intake: Intake | undefined;
  #served: Webhook | undefined;

  constructor(options: { client: WecomClient; keys: CallbackKeys; settings: WecomSettings; deps: ChannelDeps }) {
    const { client, keys, settings, deps } = options;
    this.#client = client;
    this.#keys = keys;
    this.#settings = settings;
    this.#deps = deps;
    this.#sender = new Sender({ client, settings, deps, onAuthFailure: (error) => this.#lose(error) });
    this.name = deps.name;
    this.account = `${keys.receiveId}:${settings.agent_id}`;
    this.limits = { ...LIMITS, ...sendTime(settings), ...(settings.rate_limits && { rate: RATES }) };
    this.sendClass = settings.duplicate_check ? 'idem' : 'blind';
  }

  start(host: ChannelHost, signal: AbortSignal): Promise<void> {
    return this.#life.start(host, signal, (stop, settled) => this.#stay(host, stop, settled));
  }

  stop(): Promise<void> {
    return this.#life.stop(() => this.#client.close());
  }

  send(part: OutboundPart, options: SendOptions): Promise<SendResult> {
    return this.#life.sends.run(options.signal, () => this.#sender.send(part, options));
  }

  download(media: MediaRef, signal: AbortSignal): Promise<MediaFile> {
    const limits = downloadLimits(this.limits, this.#settings, signal, this.#life.stopping);
    return download(media, { client: this.#client, ...limits });
  }

  async #stay(host: ChannelHost, signal: AbortSignal, settled: () => void): Promise<void> {
    const { clock, random } = this.#deps;
    await reconnect({
      run: (connected) =>
        this.#connect(host, signal, () => {
          connected();
          settled();
        }),
      onEnd: (error) => {
        const { state, detail } = judge(error);
        this.#health.set('platform', state, detail);
        settled();
        return true;
      },
      clock,
      random,
      signal,
      capMs: RECONNECT_CAP_MS,
    });
    await this.#served?.[Symbol.asyncDispose]();
    await this.#intake?.settled();
  }

  /** Serves callbacks from the first time on, also without the API: they have own keys. Ends in trouble. */
  async #connect(host: ChannelHost, signal: AbortSignal, connected: () => void): Promise<void> {
    if (!this.#served) {
      this.#served = await this.#serve(host, signal);
      await this.#sender.sweep();
    }
    await this.#check(signal);
    this.#trouble = Promise.withResolvers();
    this.#health.set('platform', 'healthy');
    connected();
    throw await settledOrAborted(this.#trouble.promise, signal);
  }

  /**
   * A refusal that is not about credentials says nothing of messages: not every installation lets an
   * application read itself.
   */
  async #check(signal: AbortSignal): Promise<void> {
    try {
      await this.#client.checkCredentials(this.#settings.agent_id, signal);
    } catch (error) {
      const harmless = error instanceof CallError && error.call === 'agent/get' && error.failure.kind === 'api';
      if (!harmless || isAuthFailure(error)) throw error;
      this.#deps.logger.info('wecom.not-checked', { detail: error.message });
    }
  }

  async #serve(host: ChannelHost, signal: AbortSignal): Promise<Webhook> {
    const { clock, random, logger, name, webhooks } = this.#deps;
    const intake = new Intake({
      ...{ host, clock, random, logger, signal },
      onTrouble: (detail, state) => this.#health.set('journal', state, detail),
    });
    const context = {
      channel: name,
      account: this.account,
      corpId: this.#keys.receiveId,
      agentId: String(this.#settings.agent_id),
    };
    const take = (message: InboundMessage): Promise<void> | undefined => intake.take(message);
    const handler = createWebhookHandler({ keys: this.#keys, context, take, clock, logger });
    const served = await webhooks.serve(handler, { maxBytes: MAX_BODY_BYTES });
    this.#intake = intake;
    logger.info('wecom.serving', { path: served.path, origin: served.localOrigin });
    return served;
  }

  /** Credentials that worked do no more: says so, and asks until they do. */
  #lose(error: CallError): void {
    const { state, detail } = judge(error);
    this.#health.set('platform', state, detail);
    this.#trouble.resolve(error);
  }
}
