/**
 * The adapter: one app. Receiving is `receive.ts`, shaping is `inbound.ts` and `outbound.ts`, wire calls are
 * `client.ts`.
 */
import type {
  Channel,
  ChannelDeps,
  ChannelHost,
  ChannelLimits,
  MediaFile,
  SendOptions,
  SendResult,
} from '../../src/core/channel.ts';
import type { EarlierMessage } from '../../src/core/earlier-message.ts';
import type { InboundMessage, MediaRef, OutboundFile, OutboundPart } from '../../src/core/message.ts';
import { CallError } from '../kit/call-error.ts';
import { settleFailedSend } from '../kit/call-result.ts';
import { CALL_TIMEOUT_MS, withDeadline } from '../kit/deadline.ts';
import { downloadLimits, MEGABYTE } from '../kit/download.ts';
import { Lifecycle, NOT_LEFT } from '../kit/lifecycle.ts';
import { RecentSet } from '../kit/recent.ts';
import { sendTime } from '../kit/send-time.ts';
import { sentLength } from '../kit/sent-length.ts';
import { unreadableFile } from '../kit/upload-file.ts';
import { download } from './in/download.ts';
import { earlierMessages } from './in/earlier.ts';
import { KnownMessages } from './in/known-messages.ts';
import { receiveEvents } from './in/receive.ts';
import type { WebhookKeys } from './in/request.ts';
import { shareOf } from './out/format.ts';
import { pressOf, targetOf, toFileMessage, toMessage, toUpload, uuidOf, withListedChoices } from './out/outbound.ts';
import { Reactions } from './out/reactions.ts';
import { StreamingCards } from './out/streaming.ts';
import { PLATFORM_LIMITS } from './platform-limits.ts';
import type { FeishuSettings } from './settings.ts';
import type { FeishuClient, SendCall } from './wire/client.ts';
import { toReactionName } from './wire/emoji.ts';
import { isMissingScope, isTargetGone, notSeen, toSendResult } from './wire/failure.ts';

/** A card may have 30 KB: enough for this much of three-byte letters, unless markup takes much of it. */
const TEXT = 4_000;
const LIMITS: ChannelLimits = {
  text: TEXT,
  unit: 'utf16',
  sentLength: sentLength(TEXT, (markdown) => shareOf(markdown, TEXT)),
  caption: 0,
  uploadBytes: PLATFORM_LIMITS.upload.value,
  // The platform itself gives up to 100 MB.
  downloadBytes: 30 * MEGABYTE,
  // Of text and rich text (code 230072). Cards have no such limit; once streaming cards are known to work,
  // every answer that grows is one.
  edits: PLATFORM_LIMITS.edits.value,
};

/** Send message: 5 a second to a person or a group, there shared by all its bots; 1000 a minute in all. */
const RATES: NonNullable<ChannelLimits['rate']> = {
  perChat: { burst: 2, perSecond: 3 },
  perGroup: { burst: 2, perSecond: 2 },
  perAccount: { burst: 10, perSecond: 15 },
};

/** Questions that were taken back; older ones are forgotten. */
const REMEMBERED = 1_000;

/** What is posted; `isEntity`: it names a card that was made before. */
interface Posted {
  readonly type: string;
  readonly content: string;
  readonly isEntity?: true;
}

export class FeishuChannel implements Channel {
  readonly name: string;
  readonly type = 'feishu';
  readonly account: string;
  readonly inboundClass = 'A';
  readonly sendClass = 'idem';
  /** Send message, `uuid`: at most one message within an hour. */
  readonly idemWindowMs = PLATFORM_LIMITS.keyWindow.value;
  readonly buttons = true;
  readonly #client: FeishuClient;
  readonly #settings: FeishuSettings;
  readonly #deps: ChannelDeps;
  readonly #webhook: WebhookKeys | undefined;
  readonly #known: KnownMessages;
  readonly #limits: ChannelLimits;
  readonly #limitsWithCards: ChannelLimits;
  readonly #cards: StreamingCards;
  readonly #life = new Lifecycle();
  readonly #reactions: Reactions;
  /** Messages that cannot be answered any more. A restart forgets them; the first answer learns it again. */
  readonly #gone = new RecentSet(REMEMBERED);
  #openId: string | undefined;
  #isHistoryClosed = false;

  constructor(options: {
    readonly client: FeishuClient;
    readonly account: string;
    readonly settings: FeishuSettings;
    readonly deps: ChannelDeps;
    readonly webhook?: WebhookKeys;
  }) {
    this.#client = options.client;
    this.#settings = options.settings;
    this.#deps = options.deps;
    this.#webhook = options.webhook;
    this.name = options.deps.name;
    this.account = options.account;
    this.#limits = { ...LIMITS, ...sendTime(options.settings), ...(options.settings.rate_limits && { rate: RATES }) };
    const { edits: _, ...rest } = this.#limits;
    this.#limitsWithCards = rest;
    const { clock, logger } = options.deps;
    this.#cards = new StreamingCards({ client: this.#client, isOn: options.settings.streaming_cards, clock, logger });
    this.#known = new KnownMessages({ client: this.#client, account: this.account, openId: () => this.#openId, clock, logger });
    this.#reactions = new Reactions({
      client: this.#client,
      isOurs: (id) => id === this.account || id === this.#openId,
      hasArrived: (id) => this.#known.hasArrived(id),
      logger,
    });
  }

  /** Until a first card was made, an answer that grows may have to be a message of text. */
  get limits(): ChannelLimits {
    return this.#cards.usable ? this.#limitsWithCards : this.#limits;
  }

  async start(host: ChannelHost, signal: AbortSignal): Promise<void> {
    await this.#life.start(host, signal, (stop, settled) =>
      receiveEvents({
        client: this.#client,
        host,
        known: this.#known,
        account: this.account,
        deps: this.#deps,
        ...(this.#webhook && { webhook: this.#webhook }),
        callTimeoutMs: CALL_TIMEOUT_MS,
        identified: (me) => {
          this.#openId = me.openId;
        },
        signal: stop,
        settled,
      }),
    );
  }

  stop(): Promise<void> {
    return this.#life.stop(() => this.#client.close());
  }

  send(part: OutboundPart, options: SendOptions): Promise<SendResult> {
    return this.#track(options, () => this.#send(part, options));
  }

  edit(platformId: string, part: OutboundPart, options: SendOptions): Promise<SendResult> {
    return this.#track(options, () => this.#edit(platformId, part, options));
  }

  async withdraw({ platformId }: { readonly platformId: string }, signal: AbortSignal): Promise<void> {
    await this.#within(CALL_TIMEOUT_MS, signal, (inner) => this.#client.withdraw(platformId, inner)).catch((error: unknown) => {
      if (!(error instanceof CallError) || !isTargetGone(error.failure)) throw error;
    });
  }

  /** Nothing, and a line in the log, while the app may not read what was said in groups. */
  async earlier(message: InboundMessage, limit: number, signal: AbortSignal): Promise<readonly EarlierMessage[]> {
    const options = { client: this.#client, openId: this.#openId };
    try {
      const found = await this.#within(CALL_TIMEOUT_MS, signal, (inner) =>
        earlierMessages(message, limit, { ...options, signal: inner }),
      );
      this.#isHistoryClosed = false;
      return found;
    } catch (error) {
      if (!(error instanceof CallError) || !isMissingScope(error.failure)) throw error;
      const hint =
        'add the scope im:message.group_msg and release a version of the app; until then the agent reads only what names it';
      if (!this.#isHistoryClosed) this.#deps.logger.warn('feishu.history-closed', { detail: error.message, hint });
      this.#isHistoryClosed = true;
      return [];
    }
  }

  async react(target: { readonly platformId: string }, emoji: string | undefined, signal: AbortSignal): Promise<void> {
    const { platformId: id } = target;
    const name = emoji === undefined ? undefined : toReactionName(emoji);
    // The platform knows no such reaction, and another one would say something else.
    if (emoji !== undefined && name === undefined) throw new Error(`the platform has no reaction ${emoji}`);
    await this.#within(CALL_TIMEOUT_MS, signal, (inner) => this.#reactions.put(id, name, inner));
  }

  download(media: MediaRef, signal: AbortSignal): Promise<MediaFile> {
    const limits = downloadLimits(this.limits, this.#settings, signal, this.#life.stopping);
    return download(media, { client: this.#client, ...limits });
  }

  #track({ signal }: SendOptions, run: () => Promise<SendResult>): Promise<SendResult> {
    return this.#life.sends.run(signal, () => run().catch((error: unknown): SendResult => settleFailedSend(error, toSendResult)));
  }

  async #send(part: OutboundPart, options: SendOptions): Promise<SendResult> {
    const messageId = part.replyContext?.['messageId'];
    const to = targetOf(part, typeof messageId === 'string' && this.#gone.has(messageId));
    const message = part.file ? await this.#upload(part.file, options.signal) : await this.#render(part, options);
    if ('kind' in message) return message;
    if (options.signal.aborted) return NOT_LEFT;
    const call: SendCall = { to, ...message, uuid: uuidOf(part) };
    const progress = { left: false };
    try {
      const ms = this.#settings.send_timeout_secs * 1_000;
      const id = await this.#within(ms, options.signal, (inner) => this.#client.send(call, progress, inner));
      const { chatId, threadId, text } = part;
      if (message.type === 'interactive') this.#cards.sent(id, message.isEntity === true);
      this.#known.sent(id, { chatId, type: message.type, text, ...(threadId !== undefined && { threadId }) });
      return { kind: 'sent', platformId: id };
    } catch (error) {
      if (!progress.left) return notSeen(error, 'it waited for a token', options.signal);
      return this.#withoutReply(to, error) ?? Promise.reject(error);
    }
  }

  /** An answer that begins to grow is a card of its own; without one it is what its words make it. */
  async #render(part: OutboundPart, { plain, signal }: SendOptions): Promise<Posted | SendResult> {
    const isGroup = this.#isGroup(part);
    try {
      const ms = this.#settings.send_timeout_secs * 1_000;
      const cardId = await this.#within(ms, signal, (inner) => this.#cards.begin(part, { plain }, inner));
      if (cardId !== undefined) {
        const content = JSON.stringify({ type: 'card', data: { card_id: cardId } });
        return { type: 'interactive', content, isEntity: true };
      }
    } catch (error) {
      return notSeen(error, 'the card was not made', signal);
    }
    const { type, content } = toMessage(part, { plain, isGroup });
    return { type, content: JSON.stringify(content) };
  }

  #isGroup(part: OutboundPart): boolean | undefined {
    const group = part.replyContext?.['group'];
    return typeof group === 'boolean' ? group : this.#known.isGroup(part.chatId);
  }

  async #upload(file: OutboundFile, signal: AbortSignal): Promise<Posted | SendResult> {
    const fault = await unreadableFile(file.path);
    if (fault) return { kind: 'refused', reason: 'invalid', detail: fault };
    const upload = toUpload(file);
    try {
      const ms = this.#settings.upload_timeout_secs * 1_000;
      const key = await this.#within(ms, signal, (inner) => this.#client.upload(upload, inner));
      return toFileMessage(upload.kind, key);
    } catch (error) {
      return notSeen(error, 'the file was not uploaded', signal);
    }
  }

  /**
   * The question was taken back: nothing was sent, and the next attempt goes to the chat itself. A part in a
   * thread does not: others would read the answer.
   */
  #withoutReply(to: SendCall['to'], error: unknown): SendResult | undefined {
    if (!(error instanceof CallError) || !isTargetGone(error.failure) || 'chatId' in to || to.inThread) return undefined;
    this.#gone.add(to.messageId);
    return { kind: 'retry', reason: 'the message it answers is gone', afterMs: 0, scope: 'part' };
  }

  async #edit(platformId: string, part: OutboundPart, { plain, signal }: SendOptions): Promise<SendResult> {
    const ms = this.#settings.send_timeout_secs * 1_000;
    return this.#within(ms, signal, async (inner) => {
      const type = await this.#known.typeOf(platformId, inner);
      if (type !== 'text' && type !== 'post' && type !== 'interactive') {
        return { kind: 'refused', reason: 'invalid', detail: `a message of type ${type ?? 'unknown'} cannot be edited` };
      }
      const shared = { plain, isGroup: this.#isGroup(part) };
      const shape = { plain, press: pressOf(part, shared.isGroup) };
      if (type === 'interactive' && (await this.#cards.edit(platformId, part, shape, inner)))
        return this.#edited(platformId, part);
      // Only a card can become a card, and only a card has buttons.
      const words = type === 'interactive' ? part : withListedChoices(part);
      let message = await toMessage(words, { ...shared, ...(type !== 'text' && { form: type }) });
      if (type !== 'interactive' && message.type === 'interactive') message = await toMessage(words, { ...shared, form: 'post' });
      await this.#client.edit(platformId, { type: message.type, content: JSON.stringify(message.content) }, inner);
      return this.#edited(platformId, part);
    });
  }

  #edited(platformId: string, { text }: OutboundPart): SendResult {
    this.#known.edited(platformId, text);
    return { kind: 'sent', platformId };
  }

  #within<T>(ms: number, signal: AbortSignal, task: (signal: AbortSignal) => Promise<T>): Promise<T> {
    return withDeadline({ clock: this.#deps.clock, ms, signal }, task);
  }
}
