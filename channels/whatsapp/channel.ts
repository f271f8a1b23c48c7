/**
 * The adapter: one linked account. Receiving is `receive.ts`, shaping is `inbound.ts` and `outbound.ts`, wire
 * calls are `client.ts`.
 */
import { join } from 'node:path';
import {
  type Channel,
  type ChannelDeps,
  type ChannelHost,
  type ChannelLimits,
  type MediaFile,
  NOT_LINKED,
  type SendOptions,
  type SendResult,
} from '../../src/core/channel.ts';
import type { MediaRef, OutboundPart } from '../../src/core/message.ts';
import { CallError } from '../kit/call-error.ts';
import { settleFailedSend } from '../kit/call-result.ts';
import { withDeadline } from '../kit/deadline.ts';
import { downloadLimits, MEGABYTE } from '../kit/download.ts';
import { Lifecycle } from '../kit/lifecycle.ts';
import { sendTime } from '../kit/send-time.ts';
import { sentLength } from '../kit/sent-length.ts';
import { unreadableFile } from '../kit/upload-file.ts';
import { platformIdOf, splitPlatformId } from './in/inbound.ts';
import { stayConnected } from './in/receive.ts';
import { SelfChatCap } from './in/self-chat.ts';
import { toWhatsApp } from './out/format.ts';
import {
  messageId,
  ownMessageId,
  storedAs,
  targetOf,
  toEdit,
  toMessage,
  toReaction,
  toRevoke,
  toSendResult,
  wordsOf,
} from './out/outbound.ts';
import { PLATFORM_LIMITS } from './platform-limits.ts';
import type { WhatsAppSettings } from './settings.ts';
import type { WhatsAppConnection } from './wire/client.ts';
import { lockLogin } from './wire/lock.ts';
import { download, type StoredFile, UploadError, upload } from './wire/media.ts';
import { accountOf, LoginStore } from './wire/store.ts';

const TEXT = PLATFORM_LIMITS.text.value - 96;
/** A minute less than the apps take an edit for: it may be on its way for a while. */
const EDIT_MS = PLATFORM_LIMITS.editable.value - 60_000;
const LIMITS: ChannelLimits = {
  // The apps fold what is longer.
  text: TEXT,
  unit: 'utf16',
  sentLength: sentLength(TEXT, (markdown) => toWhatsApp(markdown).length),
  caption: PLATFORM_LIMITS.caption.value,
  editMs: EDIT_MS,
  uploadBytes: 50 * MEGABYTE,
  downloadBytes: 50 * MEGABYTE,
};

/**
 * What a quick person types: no limits are published for linked devices, and accounts that send in bursts are
 * banned.
 */
const RATES: NonNullable<ChannelLimits['rate']> = {
  perChat: { burst: 3, perSecond: 0.5 },
  perAccount: { burst: 5, perSecond: 1 },
};

export const LOGIN_FILE = 'login.db';
/** Between two looks at a login that is in use. */
const LOCK_AGAIN_MS = 5_000;

export class WhatsAppChannel implements Channel {
  readonly name: string;
  readonly type = 'whatsapp';
  readonly account: string;
  readonly limits: ChannelLimits;
  readonly inboundClass = 'A';
  readonly sendClass = 'idem';
  readonly ownersAccount: boolean;
  readonly #settings: WhatsAppSettings;
  readonly #deps: ChannelDeps;
  readonly #life = new Lifecycle();
  #connection: WhatsAppConnection | undefined;

  constructor(options: { account: string | undefined; settings: WhatsAppSettings; deps: ChannelDeps }) {
    this.#settings = options.settings;
    this.#deps = options.deps;
    this.name = options.deps.name;
    this.account = options.account ?? NOT_LINKED;
    this.ownersAccount = options.settings.self_chat && options.account !== undefined;
    this.limits = { ...LIMITS, ...sendTime(options.settings), ...(options.settings.rate_limits && { rate: RATES }) };
  }

  start(host: ChannelHost, signal: AbortSignal): Promise<void> {
    return this.#life.start(host, signal, (over, settled) => {
      over.addEventListener('abort', settled, { once: true });
      return this.#run(host, signal, settled);
    });
  }

  /** Waits for sends under way, up to their own time limit: breaking them would leave their fate unknown. */
  async stop(): Promise<void> {
    await this.#life.sends.close();
    await this.#life.stop(() => undefined);
  }

  send(part: OutboundPart, options: SendOptions): Promise<SendResult> {
    return this.#life.sends.run(options.signal, async () => {
      const fault = part.file && (await unreadableFile(part.file.path));
      if (fault) return { kind: 'refused', reason: 'invalid', detail: fault };
      const seconds = part.file ? this.#settings.upload_timeout_secs : this.#settings.send_timeout_secs;
      return await this.#limited(seconds, options.signal, async (signal) => {
        const words = await wordsOf(part, options.plain);
        const jid = targetOf(part, this.#open().pins);
        const stored = part.file && (await this.#store(part.file.path, storedAs(part.file, words), signal));
        // Nothing has left yet that anybody could see; from here on it may have.
        if (signal.aborted) throw new CallError(undefined, { kind: 'unreached', detail: 'stopped before the message left' });
        const id = this.#idOf(part.chatId, part.key);
        await this.#open().relay(jid, toMessage(part, words, stored), { id });
        return platformIdOf(part.chatId, this.account, id);
      });
    });
  }

  edit(platformId: string, part: OutboundPart, options: SendOptions): Promise<SendResult> {
    return this.#life.sends.run(options.signal, async () => {
      const target = splitPlatformId(platformId);
      if (target?.authorId !== this.account) return { kind: 'refused', reason: 'invalid', detail: 'not a message of ours' };
      return await this.#limited(this.#settings.send_timeout_secs, options.signal, async () => {
        const words = await wordsOf(part, options.plain);
        const jid = targetOf(part, this.#open().pins);
        // The same edit twice is one edit. Another part is another one, also where its words stood before:
        // apps drop an id that they had.
        const id = this.#idOf(target.chatId, `${part.key}\n${platformId}\n${words}`);
        const message = toEdit(jid, target.id, words, this.#deps.clock.now());
        await this.#open().relay(jid, message, { id, attributes: { edit: '1' } });
        return platformId;
      });
    });
  }

  async withdraw(
    target: Pick<OutboundPart, 'chatId' | 'replyContext'> & { platformId: string },
    signal: AbortSignal,
  ): Promise<void> {
    const about = splitPlatformId(target.platformId);
    if (about?.authorId !== this.account) throw new Error('this is no message of ours');
    await this.#within(this.#settings.send_timeout_secs, signal, async () => {
      const jid = targetOf(target, this.#open().pins);
      const id = messageId(`revoke:${target.platformId}`);
      await this.#open().relay(jid, toRevoke(jid, about.id), { id, attributes: { edit: '7' } });
    });
  }

  async react(
    target: Pick<OutboundPart, 'chatId' | 'threadId' | 'replyContext'> & { platformId: string },
    emoji: string | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const about = splitPlatformId(target.platformId);
    if (!about) throw new Error('this is no message that can carry a reaction');
    const now = this.#deps.clock.now();
    const fromMe = about.authorId === this.account;
    const id = this.#idOf(target.chatId, `reaction:${target.platformId}:${emoji ?? ''}:${now}`);
    await this.#within(this.#settings.send_timeout_secs, signal, async () => {
      const connection = this.#open();
      const jid = targetOf(target, connection.pins);
      const author = jid.endsWith('@g.us') && !fromMe ? await connection.memberJid(jid, about.authorId) : undefined;
      await connection.relay(jid, toReaction(about.id, { jid, author, fromMe, emoji: emoji ?? '', now }), { id });
    });
  }

  async typing(part: Pick<OutboundPart, 'chatId' | 'threadId'>, signal: AbortSignal): Promise<void> {
    await this.#within(this.#settings.send_timeout_secs, signal, () => this.#open().typing(targetOf(part, this.#open().pins)));
  }

  download(media: MediaRef, signal: AbortSignal): Promise<MediaFile> {
    const limits = downloadLimits(this.limits, this.#settings, signal, this.#life.stopping);
    return download(media, { mediaRoot: this.#settings.media_root.replace(/\/+$/, ''), ...limits });
  }

  /** Rejects when the file of the login cannot be opened or is of another account, which may pass. */
  async #run(host: ChannelHost, intake: AbortSignal, settled: () => void): Promise<void> {
    const { dir, clock, random, logger } = this.#deps;
    const signal = this.#life.stopping;
    const down = (detail: string): void => {
      logger.error('whatsapp.not-started', { detail });
      host.health('down', detail);
    };
    const login = `\`gatehouse channels login ${this.name}\``;
    if (this.account === NOT_LINKED) return down(`GH1501: no account is linked; run ${login}, then restart the daemon`);
    using _lock = await this.#lockLogin(host, settled);
    using store = await LoginStore.open(join(dir, LOGIN_FILE), { create: false, now: clock.now() });
    if (!store) return down(`GH1501: the login is gone; run ${login}, then restart the daemon`);
    // The next life reads it anew.
    if (accountOf(store) !== this.account) throw new Error('the login is of another account by now');
    await stayConnected({
      ...{ store, host, clock, random, logger, signal, intake, settled },
      settings: this.#settings,
      selfChat: this.ownersAccount ? new SelfChatCap(this.#deps) : undefined,
      channel: this.name,
      account: this.account,
      connected: (connection) => {
        this.#connection = connection;
      },
    });
  }

  /**
   * Waits as long as another has the login: `channels login`, or an earlier life of this channel, which the
   * daemon left behind in the middle of a send. Rejects as `lockLogin` does.
   */
  async #lockLogin(host: ChannelHost, settled: () => void): Promise<Disposable> {
    const { dir, clock, logger } = this.#deps;
    const signal = this.#life.stopping;
    const detail = 'GH1503: another program, or an earlier life of this channel, uses the login; it is tried again';
    for (let isTold = false; ; isTold = true) {
      const lock = await lockLogin(dir, { clock, signal });
      if (lock) return lock;
      if (!isTold) {
        logger.warn('whatsapp.login-in-use', { detail });
        host.health('degraded', detail);
        settled();
      }
      await clock.sleep(LOCK_AGAIN_MS, signal);
    }
  }

  #idOf(chatId: string, key: string): string {
    return this.ownersAccount && chatId === this.account ? ownMessageId(key) : messageId(key);
  }

  #open(): WhatsAppConnection {
    if (!this.#connection?.isOpen) throw new CallError(undefined, { kind: 'unreached', detail: 'not connected' });
    return this.#connection;
  }

  async #limited(seconds: number, signal: AbortSignal, work: (signal: AbortSignal) => Promise<string>): Promise<SendResult> {
    try {
      return { kind: 'sent', platformId: await this.#within(seconds, signal, work) };
    } catch (error) {
      return error instanceof UploadError ? uploadResult(error) : settleFailedSend(error, toSendResult);
    }
  }

  #within<T>(seconds: number, signal: AbortSignal, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
    return withDeadline({ clock: this.#deps.clock, ms: seconds * 1_000, signal }, work);
  }

  async #store(path: string, kind: Parameters<typeof upload>[0]['kind'], signal: AbortSignal): Promise<StoredFile> {
    const { hosts, auth } = await this.#open().mediaHosts();
    const configured = this.#settings.media_root.replace(/\/+$/, '');
    const assigned = hosts.find((name) => /^[a-z0-9.-]+\.whatsapp\.net$/.test(name));
    const own = configured.endsWith('.whatsapp.net') && assigned !== undefined;
    return await upload({ path, kind, root: own ? `https://${assigned}` : configured, auth, signal });
  }
}

/** An upload that failed was seen by nobody. */
function uploadResult({ status, message }: UploadError): SendResult {
  if (status === 413 || status === 415) return { kind: 'refused', reason: 'invalid', detail: message };
  return { kind: 'retry', reason: message, scope: status === 429 || status === undefined ? 'account' : 'part' };
}
