/**
 * The adapter: one bot account. Receiving is `receive.ts`, shaping is `inbound.ts` and `outbound.ts`, wire
 * calls are `client.ts`.
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
import { errorText } from '../../src/core/errors.ts';
import type { MediaRef, OutboundPart } from '../../src/core/message.ts';
import { apiFailureOf } from '../kit/call-error.ts';
import { settleFailedSend } from '../kit/call-result.ts';
import { CALL_TIMEOUT_MS, withDeadline } from '../kit/deadline.ts';
import { downloadLimits } from '../kit/download.ts';
import { Lifecycle, NOT_LEFT } from '../kit/lifecycle.ts';
import { sendTime } from '../kit/send-time.ts';
import { sentLength } from '../kit/sent-length.ts';
import { unreadableFile } from '../kit/upload-file.ts';
import { showMenu } from './in/commands.ts';
import { download } from './in/download.ts';
import { DIRECT_TOPIC } from './in/inbound.ts';
import { pollUpdates } from './in/receive.ts';
import { receiveWebhook } from './in/webhook.ts';
import { shareOf } from './out/format.ts';
import { asDocument, CAPTION_LIMIT, toCall, toEdit, toSendResult } from './out/outbound.ts';
import { PLATFORM_LIMITS } from './platform-limits.ts';
import type { TelegramSettings } from './settings.ts';
import type { SendCall, TelegramClient } from './wire/client.ts';

/** Below what the platform takes: room for a fence that a split closes and opens again. */
const TEXT = PLATFORM_LIMITS.text.value - 96;
const LIMITS: ChannelLimits = {
  text: TEXT,
  unit: 'utf16',
  sentLength: sentLength(TEXT, (markdown) => shareOf(markdown, TEXT)),
  caption: CAPTION_LIMIT,
  uploadBytes: PLATFORM_LIMITS.upload.value,
  downloadBytes: PLATFORM_LIMITS.download.value,
};

/** Burst plus refill stay below what the platform states for a chat, a group and the bot. */
const RATES: NonNullable<ChannelLimits['rate']> = {
  perChat: { burst: 3, perSecond: 1 },
  perGroup: { burst: 4, perSecond: 16 / 60 },
  perAccount: { burst: 5, perSecond: 25 },
};

export class TelegramChannel implements Channel {
  readonly name: string;
  readonly type = 'telegram';
  readonly account: string;
  readonly limits: ChannelLimits;
  readonly inboundClass = 'B';
  readonly sendClass = 'blind';
  readonly buttons = true;
  readonly #client: TelegramClient;
  readonly #settings: TelegramSettings;
  readonly #deps: ChannelDeps;
  readonly #token: string;
  readonly #life = new Lifecycle();
  /** The menu was looked at. */
  #hasMenu = false;
  /**
   * Old id -> new id of groups that became supergroups. In memory: after a restart the first send learns it
   * again.
   */
  readonly #moved = new Map<string, string>();

  constructor(options: {
    client: TelegramClient;
    account: string;
    token: string;
    settings: TelegramSettings;
    deps: ChannelDeps;
  }) {
    this.#client = options.client;
    this.#token = options.token;
    this.#settings = options.settings;
    this.#deps = options.deps;
    this.name = options.deps.name;
    this.account = options.account;
    this.limits = { ...LIMITS, ...sendTime(options.settings), ...(options.settings.rate_limits && { rate: RATES }) };
  }

  async start(host: ChannelHost, signal: AbortSignal): Promise<void> {
    const { clock, random, logger, name, webhooks } = this.#deps;
    const { mode, public_url, poll_timeout_secs: pollTimeoutSecs } = this.#settings;
    await this.#life.start(host, signal, (stop, settled) => {
      const receiving = {
        ...{ client: this.#client, host, channel: name, account: this.account, callTimeoutMs: CALL_TIMEOUT_MS },
        ...{ clock, random, logger, signal: stop, settled },
        connected: () => this.#showMenu(),
        migrated: (from: string, to: string) => this.#move(from, to),
      };
      if (mode === 'poll' || public_url === undefined) return pollUpdates({ ...receiving, pollTimeoutSecs });
      return receiveWebhook({ ...receiving, publicUrl: new URL(public_url).origin, token: this.#token, webhooks });
    });
  }

  stop(): Promise<void> {
    return this.#life.stop(() => this.#client.close());
  }

  send(part: OutboundPart, options: SendOptions): Promise<SendResult> {
    return this.#life.sends.run(options.signal, () => this.#send(part, options));
  }

  #showMenu(): void {
    const { commands, dir, logger } = this.#deps;
    if (!this.#settings.command_menu || this.#hasMenu) return;
    this.#hasMenu = true;
    const signal = this.#life.stopping;
    void showMenu({ client: this.#client, commands, dir, logger, limited: (run) => this.#call(signal, run) });
  }

  async typing(part: Pick<OutboundPart, 'chatId' | 'threadId'>, signal: AbortSignal): Promise<void> {
    // "Channel chats and channel direct messages chats aren't supported" (Bot API, sendChatAction).
    if (part.threadId?.startsWith(DIRECT_TOPIC)) return;
    const chatId = this.#moved.get(part.chatId) ?? part.chatId;
    await this.#call(signal, (inner) => this.#client.sendTyping(chatId, part.threadId, inner));
  }

  async edit(platformId: string, part: OutboundPart, { plain, signal }: SendOptions): Promise<SendResult> {
    const messageId = messageIdOf(platformId);
    if (messageId === undefined || part.file) return { kind: 'refused', reason: 'invalid', detail: 'only a text can be edited' };
    const chatId = this.#moved.get(part.chatId) ?? part.chatId;
    try {
      const payload = await toEdit(part, { plain, chatId, messageId });
      await this.#call(signal, (inner) => this.#client.edit(payload, inner));
      return { kind: 'sent', platformId };
    } catch (error) {
      // The edit before this one arrived after all, and its answer was lost.
      if (apiFailureOf(error)?.detail.includes('message is not modified')) return { kind: 'sent', platformId };
      return settleFailedSend(error, toSendResult);
    }
  }

  async withdraw(target: Pick<OutboundPart, 'chatId'> & { platformId: string }, signal: AbortSignal): Promise<void> {
    const chat_id = this.#moved.get(target.chatId) ?? target.chatId;
    const message_id = messageIdOf(target.platformId);
    if (message_id === undefined) throw new Error('this is no message that can be deleted');
    try {
      await this.#call(signal, (inner) => this.#client.remove({ chat_id, message_id }, inner));
    } catch (error) {
      if (!apiFailureOf(error)?.detail.includes('message to delete not found')) throw error;
    }
  }

  async react(
    target: Pick<OutboundPart, 'chatId'> & { platformId: string },
    emoji: string | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const chat_id = this.#moved.get(target.chatId) ?? target.chatId;
    const message_id = messageIdOf(target.platformId);
    if (message_id === undefined) throw new Error('this is no message that can carry a reaction');
    // The platform's list of reactions is written without variation selectors (Bot API, ReactionTypeEmoji).
    const reaction = emoji === undefined ? [] : [{ type: 'emoji', emoji: emoji.replaceAll('\uFE0F', '') }];
    const payload = { chat_id, message_id, reaction };
    await this.#call(signal, (inner) => this.#client.react(payload, inner));
  }

  #call<T>(signal: AbortSignal, run: (inner: AbortSignal) => Promise<T>): Promise<T> {
    return this.#life.call({ clock: this.#deps.clock, ms: CALL_TIMEOUT_MS, signal }, run);
  }

  download(media: MediaRef, signal: AbortSignal): Promise<MediaFile> {
    const limits = downloadLimits(this.limits, this.#settings, signal, this.#life.stopping);
    return download(media, { client: this.#client, ...limits });
  }

  async #send(part: OutboundPart, options: SendOptions): Promise<SendResult> {
    const fault = part.file && (await unreadableFile(part.file.path));
    if (fault) return { kind: 'refused', reason: 'invalid', detail: fault };
    const ms = (part.file ? this.#settings.upload_timeout_secs : this.#settings.send_timeout_secs) * 1_000;
    let call: SendCall;
    try {
      call = await toCall(part, { plain: options.plain, chatId: this.#moved.get(part.chatId) ?? part.chatId });
    } catch (error) {
      return { kind: 'retry', reason: `it could not be rendered: ${errorText(error)}`, scope: 'part' };
    }
    if (options.signal.aborted) return NOT_LEFT;
    const result = await this.#dispatch(part.chatId, call, ms, options.signal);
    const document = asDocument(call, result);
    return document && !options.signal.aborted ? await this.#dispatch(part.chatId, document, ms, options.signal) : result;
  }

  async #dispatch(chatId: string, call: SendCall, ms: number, signal: AbortSignal): Promise<SendResult> {
    const progress = { whole: false };
    try {
      const send = (inner: AbortSignal) => this.#client.send(call, inner, progress);
      const message = await withDeadline({ clock: this.#deps.clock, ms, signal }, send);
      return { kind: 'sent', platformId: `${message.chat.id}:${message.message_id}` };
    } catch (error) {
      const result = this.#moveOn(chatId, error) ?? settleFailedSend(error, toSendResult);
      // Whatever ended the request ended the upload with it.
      const isCutOff = call.upload !== undefined && !progress.whole && result.kind === 'unknown';
      return isCutOff ? { kind: 'retry', reason: `the upload was cut off: ${result.detail}`, scope: 'part' } : result;
    }
  }

  /** Answers follow by themselves; who may write from there is the operator's to say. */
  #move(from: string, to: string): void {
    if (this.#moved.get(from) === to) return;
    this.#moved.set(from, to);
    const hint = `group ${from} became ${to}: put the new id in place of the old one into allowed_groups and gateway.owner`;
    this.#deps.logger.warn('telegram.chat-moved', { from, to, hint });
    this.#life.host?.health('degraded', hint);
  }

  /** The refusal that names a group's new id: nothing was sent, and the next attempt goes to the new id. */
  #moveOn(chatId: string, error: unknown): SendResult | undefined {
    const target = apiFailureOf(error)?.data?.['migrateToChatId'];
    if (target === undefined || this.#moved.get(chatId) === target) return undefined;
    this.#move(chatId, target);
    return { kind: 'retry', reason: 'the group became a supergroup', afterMs: 0, scope: 'part' };
  }
}

/** Of `chat:message`, as `send` gave it. */
function messageIdOf(platformId: string): number | undefined {
  const id = Number(/^-?\d+:(\d+)$/.exec(platformId)?.[1]);
  return Number.isSafeInteger(id) ? id : undefined;
}
