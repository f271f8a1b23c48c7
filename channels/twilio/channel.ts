/** One number: `webhook.ts`, `receive.ts` take in, `inbound.ts`, `outbound.ts` shape, `client.ts` calls. */
import type {
  Channel,
  ChannelDeps,
  ChannelHost,
  ChannelLimits,
  MediaFile,
  SendOptions,
  SendResult,
  Webhook,
} from '../../src/core/channel.ts';
import { errorText } from '../../src/core/errors.ts';
import type { InboundMessage, MediaRef, OutboundPart } from '../../src/core/message.ts';
import { settleFailedSend } from '../kit/call-result.ts';
import { withDeadline } from '../kit/deadline.ts';
import { downloadLimits } from '../kit/download.ts';
import { type Fault, HealthSum } from '../kit/health-sum.ts';
import { Lifecycle, NOT_LEFT } from '../kit/lifecycle.ts';
import { RecentSet } from '../kit/recent.ts';
import { sendTime } from '../kit/send-time.ts';
import { sentLength } from '../kit/sent-length.ts';
import type { StoringOptions } from '../kit/store-messages.ts';
import { CatchUp, type CatchUpOptions, type Caught } from './in/catch-up.ts';
import { download, isPlatformHost } from './in/download.ts';
import { fromRecord, fromWebhook, type InboundContext } from './in/inbound.ts';
import { InboundCap } from './in/inbound-cap.ts';
import { Intake } from './in/intake.ts';
import { receive } from './in/receive.ts';
import { createWebhookHandler, MAX_WEBHOOK_BYTES } from './in/webhook.ts';
import { find } from './out/find.ts';
import { toPlainText } from './out/format.ts';
import { TEXT_LIMIT, toBody, toSendResult } from './out/outbound.ts';
import { fileLater, PublicFiles, UPLOAD_BYTES } from './out/public-files.ts';
import { SentLog } from './out/sent-log.ts';
import { Statuses } from './out/status.ts';
import type { TwilioSettings } from './settings.ts';
import type { SendCall, TwilioClient } from './wire/client.ts';

/** Ten segments of 153 GSM characters, below the platform's 1600 characters; code units are never fewer. */
const TEXT = 1_530;
const LIMITS: Omit<ChannelLimits, 'rate'> = {
  text: TEXT,
  unit: 'utf16',
  sentLength: sentLength(TEXT, (markdown) => toPlainText(markdown).length),
  caption: TEXT_LIMIT,
  uploadBytes: UPLOAD_BYTES,
  // https://www.twilio.com/docs/messaging/guides/accepted-mime-types: 5 MB for all files of a message.
  downloadBytes: UPLOAD_BYTES,
};

/**
 * What can be wrong: storing, reading the list, the webhook, what the platform thinks of the number, messages
 * lost on the way.
 */
type Concern = 'journal' | 'api' | 'webhook' | 'number' | 'undelivered';

/** What is past hides nothing that is wrong now. */
function rankOf(concern: Concern, { state }: Fault): number {
  if (state === 'down') return 0;
  return state === 'starting' ? 3 : concern === 'undelivered' ? 2 : 1;
}

/** Numbers people have; a brand that writes under its name cannot be answered. */
const RECIPIENT = /^\+?\d{3,15}$/;
/** A message of the list is taken for missed by its webhook when it is older than this: the two may cross. */
const CROSSING_MS = 30_000;
/** More than any number gets between two readings of the list. */
const MAX_POSTED = 5_000;

export interface TwilioChannelOptions {
  readonly client: TwilioClient;
  readonly accountSid: string;
  readonly authToken: string;
  readonly settings: TwilioSettings;
  readonly deps: ChannelDeps;
}

export class TwilioChannel implements Channel {
  readonly name: string;
  readonly type = 'twilio';
  readonly account: string;
  readonly limits: ChannelLimits;
  readonly inboundClass = 'B';
  readonly sendClass = 'find';
  readonly #options: TwilioChannelOptions;
  readonly #cap: InboundCap;
  readonly #files: PublicFiles;
  readonly #sent = new SentLog();
  readonly #statuses: Statuses;
  /** SIDs of messages that were posted, and may have been left to the list all the same. */
  readonly #posted = new RecentSet(MAX_POSTED);
  readonly #life = new Lifecycle();
  #webhook: Webhook | undefined;
  #isServed = false;
  readonly #health = new HealthSum<Concern>((...health) => this.#life.host?.health(...health), rankOf, ['api']);
  /** Platform's time since which the webhook can have worked. */
  #servedSince: number | undefined;

  constructor(options: TwilioChannelOptions) {
    const { settings, deps } = options;
    this.#options = options;
    this.name = deps.name;
    this.account = settings.from_number;
    const perSecond = settings.messages_per_second;
    // Twilio would queue more for hours, while here it can expire. Three at once are for one long answer.
    const rate = {
      perAccount: { burst: Math.max(3, perSecond), perSecond },
      perChat: { burst: 3, perSecond: Math.min(1, perSecond) },
    };
    this.limits = { ...LIMITS, ...sendTime(settings), parts: settings.max_messages_per_answer, rate };
    this.#cap = new InboundCap({ perSender: settings.max_per_sender_per_minute, inAll: settings.max_per_minute });
    this.#files = new PublicFiles(deps.clock);
    this.#statuses = new Statuses(deps.logger, deps.clock, this.#health);
  }

  start(host: ChannelHost, signal: AbortSignal): Promise<void> {
    return this.#life.start(host, signal, (stop, settled) => this.#receive(host, stop, settled));
  }

  stop(): Promise<void> {
    return this.#life.stop(() => {
      this.#files.close();
      this.#options.client.close();
    });
  }

  send(part: OutboundPart, options: SendOptions): Promise<SendResult> {
    return this.#life.sends.run(options.signal, () => this.#send(part, options));
  }

  /** Undefined while the platform cannot be asked, and where an earlier part may have had the same words. */
  async find(part: OutboundPart, signal: AbortSignal): Promise<{ readonly platformId: string } | 'absent' | undefined> {
    const { client, settings, deps } = this.#options;
    const { clock, logger } = deps;
    try {
      const graceMs = settings.find_grace_secs * 1_000;
      return await find(part, { client, number: this.account, sent: this.#sent, graceMs, clock, signal });
    } catch (error) {
      signal.throwIfAborted();
      logger.warn('twilio.find-failed', { detail: errorText(error) });
      return undefined;
    }
  }

  download(media: MediaRef, signal: AbortSignal): Promise<MediaFile> {
    const { client, settings } = this.#options;
    const limits = downloadLimits(this.limits, settings, signal, this.#life.stopping);
    return download(media, { client, isAllowed: (url) => isPlatformHost(url, settings.media_hosts), ...limits });
  }

  async #receive(host: ChannelHost, signal: AbortSignal, settled: () => void): Promise<void> {
    const { settings, deps, client } = this.#options;
    const { clock, random, logger } = deps;
    const common = { host, clock, random, logger, health: this.#health, signal };
    const onTrouble: StoringOptions['onTrouble'] = (detail, state) => this.#health.set('journal', state, detail);
    const intake = new Intake({ ...common, onTrouble });
    // Before the list is read: what comes between the two would otherwise wait for the next reading.
    await this.#serve(intake);
    const toInbound: CatchUpOptions['toInbound'] = (record, media) => this.#capped(fromRecord(record, media, this.#context()));
    await receive({
      ...common,
      catchUp: new CatchUp({ ...common, client, intake, number: this.account, toInbound }),
      pollMs: settings.poll_interval_secs * 1_000,
      settled: () => {
        intake.open();
        settled();
      },
      onRead: async (caught, first) => {
        this.#onRead(caught, first);
        // The port may be free by now.
        if (!this.#webhook) await this.#serve(intake);
      },
    });
    // Answers leave until `stop`. A file among them could not be fetched, and waits for the next start.
    this.#isServed = false;
    await this.#webhook?.[Symbol.asyncDispose]();
    await intake.idle();
  }

  async #serve(intake: Intake): Promise<void> {
    const { settings, deps, accountSid, authToken } = this.#options;
    const publicUrl = settings.public_url;
    if (publicUrl === undefined) return;
    const { clock, logger, webhooks } = deps;
    const handler = createWebhookHandler({
      ...{ accountSid, number: this.account, intake, files: this.#files, clock, logger },
      proof: { publicUrl, authToken },
      toInbound: (fields) => {
        const message = fromWebhook(fields, this.#context());
        if (message) this.#posted.add(message.platformId);
        return message && this.#capped(message);
      },
      onStatus: (fields, part) => {
        const sid = fields.get('MessageSid');
        if (part !== undefined && sid !== undefined) this.#sent.own(sid, part);
        this.#statuses.note(fields);
      },
      onMessage: () => this.#health.set('webhook', 'healthy'),
    });
    try {
      this.#webhook = await webhooks.serve(handler, { maxBytes: MAX_WEBHOOK_BYTES });
      this.#isServed = true;
      this.#health.set('webhook', 'healthy');
      logger.info('twilio.webhook-served', { path: this.#webhook.path, at: this.#webhook.localOrigin, publicUrl });
    } catch (error) {
      // The list still works: slower, but nothing is lost.
      this.#health.set('webhook', 'degraded', `webhooks cannot be served: ${errorText(error)}`);
    }
  }

  #onRead({ messages, serverTime }: Caught, first: boolean): void {
    this.#statuses.show();
    if (!this.#webhook) return;
    if (first || this.#servedSince === undefined) {
      this.#servedSince = serverTime;
      return;
    }
    const since = this.#servedSince;
    const missed = messages.filter(
      ({ sid, at = serverTime }) => at > since && at < serverTime - CROSSING_MS && !this.#posted.has(sid),
    );
    if (missed.length === 0) return;
    this.#options.deps.logger.warn('twilio.webhook-missed', { messages: missed.length });
    const detail = 'GH1502: messages come by the list only, late: check that the number posts them to public_url, and the proxy';
    this.#health.set('webhook', 'degraded', detail);
  }

  #context(): InboundContext {
    const { accountSid, settings, deps } = this.#options;
    const own = [new URL(settings.api_root).hostname, ...settings.media_hosts];
    return {
      channel: this.name,
      number: this.account,
      accountSid,
      isMediaHost: (host) => own.includes(host) || host === 'twilio.com' || host.endsWith('.twilio.com'),
      answerOptOutWords: settings.answer_opt_out_words,
      now: deps.clock.now(),
    };
  }

  #capped(message: InboundMessage): InboundMessage | 'later' {
    const { platformId: sid, senderId: sender, timestamp: at } = message;
    const now = this.#options.deps.clock.now();
    const verdict = message.refusal !== undefined ? 'admitted' : this.#cap.admit({ sid, sender, at, now });
    if (verdict === 'admitted') return message;
    if (verdict === 'later') return verdict;
    this.#options.deps.logger.warn('twilio.refused', { reason: 'loop-cap', sid });
    return { ...message, text: '', media: [], refusal: 'loop-cap' };
  }

  async #send(part: OutboundPart, options: SendOptions): Promise<SendResult> {
    if (!RECIPIENT.test(part.chatId))
      return { kind: 'refused', reason: 'chat-gone', detail: 'this sender has no number to answer to' };
    const { client, settings, deps } = this.#options;
    const body = await toBody(part, options.plain);
    const offered = part.file && (await this.#offer(part.file));
    if (offered && 'result' in offered) return offered.result;
    if (options.signal.aborted) return NOT_LEFT;
    const name = SentLog.nameOf(part);
    this.#sent.begin(name, deps.clock.now());
    const call: SendCall = {
      to: part.chatId,
      from: this.account,
      ...(body !== '' && { body }),
      ...(offered && { mediaUrl: this.#address('file', offered.token) }),
      ...(this.#webhook && { statusCallback: this.#address('part', name) }),
    };
    try {
      const { clock } = deps;
      const sid = await withDeadline({ clock, ms: settings.send_timeout_secs * 1_000, signal: options.signal }, (inner) =>
        client.send(call, inner),
      );
      this.#sent.own(sid, name);
      return { kind: 'sent', platformId: sid };
    } catch (error) {
      const result = settleFailedSend(error, toSendResult);
      if (offered && result.kind !== 'unknown') this.#files.withdraw(offered.token);
      return result;
    }
  }

  async #offer(file: NonNullable<OutboundPart['file']>): Promise<{ token: string } | { result: SendResult }> {
    if (this.#options.settings.public_url === undefined) {
      const detail = 'files need `public_url`: Twilio fetches them from there';
      return { result: { kind: 'refused', reason: 'invalid', detail } };
    }
    if (!this.#isServed) return fileLater('the webhook is not served, so no file can be', 60_000);
    const offered = await this.#files.offer(file);
    if (offered.kind === 'held') return { token: offered.token };
    if (offered.kind === 'refused') return { result: offered };
    if (offered.kind === 'unread') return { result: offered.result };
    return fileLater('too many files wait to be fetched', 15_000);
  }

  #address(name: 'file' | 'part', value: string): string {
    const [base = ''] = (this.#options.settings.public_url ?? '').split('#', 1);
    return `${base}?${name}=${value}`;
  }
}
