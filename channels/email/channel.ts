/** The adapter: one mailbox, one SMTP account. */
import type {
  Channel,
  ChannelDeps,
  ChannelHealth,
  ChannelHost,
  ChannelLimits,
  MediaFile,
  SendOptions,
  SendResult,
} from '../../src/core/channel.ts';
import { isGatehouseError } from '../../src/core/errors.ts';
import type { MediaRef, OutboundPart } from '../../src/core/message.ts';
import { Lifecycle } from '../kit/lifecycle.ts';
import { reconnect, STEADY_MS } from '../kit/reconnect.ts';
import { Bounces } from './in/bounces.ts';
import { Attachments } from './in/download.ts';
import type { InboundOptions } from './in/inbound.ts';
import { type BrokenFetches, type ReceiveOptions, receive } from './in/receive.ts';
import { ReplyCap } from './in/reply-cap.ts';
import { toMail } from './out/outbound.ts';
import { type EmailSettings, MAIL_ADDRESS } from './settings.ts';
import type { MailAccess } from './wire/access.ts';
import { ImapSession, type ServerAccess } from './wire/client.ts';
import { describeFault, type ServerFault } from './wire/failure.ts';
import { submitMail } from './wire/smtp.ts';
import { ownMessageId } from './wire/thread.ts';

/** A server that is silent for longer is taken for lost. RFC 5321 allows 10 minutes after the final dot. */
const SMTP_TIMEOUT_MS = 120_000;
/** On top of the time for looking. */
const IMAP_LOGIN_SECS = 30;
/**
 * After so many refused logins attempts are rare: a wrong password tried again and again locks accounts, but
 * one refusal may be the server's mood.
 */
const QUICK_AUTH_FAILURES = 3;
/** Seldom enough for any lock, and no refusal makes the channel deaf until somebody restarts it. */
const AUTH_RETRY_MS = 15 * 60_000;
/** No server is asked without a login: how soon a new one is seen. */
const LOGIN_LOOK_MS = 60_000;
const FIND_POLL_MS = 2_000;

export interface EmailChannelOptions {
  readonly settings: EmailSettings;
  readonly deps: ChannelDeps;
  readonly access: MailAccess;
  /** Longest silence of the SMTP server; tests shorten it. */
  readonly smtpTimeoutMs?: number;
}

export class EmailChannel implements Channel {
  readonly name: string;
  readonly type = 'email';
  readonly account: string;
  readonly limits: ChannelLimits;
  readonly inboundClass = 'B';
  readonly writesMail = true;
  readonly sendClass: 'find' | 'blind';
  readonly #options: EmailChannelOptions;
  readonly #imap: ServerAccess;
  readonly #smtp: ServerAccess;
  readonly #cap: ReplyCap;
  readonly #broken: BrokenFetches = new Map();
  readonly #bounces: Bounces;
  #shownBounces: string | undefined;
  readonly #blindCopy: boolean;
  readonly #attachments: Attachments;
  readonly #life = new Lifecycle();
  #session: ImapSession | undefined;
  #imapHealth: { state: ChannelHealth; detail?: string } = { state: 'starting' };
  #smtpFault: ServerFault | undefined;
  /** What is wrong with the folder that proves what was sent; the channel works, but doubts stay doubts. */
  #sentFault: string | undefined;

  constructor(options: EmailChannelOptions) {
    const { settings, deps } = options;
    this.#options = options;
    this.name = deps.name;
    this.account = settings.from_address.toLowerCase();
    this.#blindCopy = settings.bcc_self ?? settings.sent_mailbox === undefined;
    this.sendClass = this.#blindCopy || settings.sent_mailbox !== undefined ? 'find' : 'blind';
    const { imap, smtp, credentials } = options.access;
    this.#imap = { place: imap, credentials };
    this.#smtp = { place: smtp, credentials };
    this.#bounces = new Bounces(deps.clock);
    this.#attachments = new Attachments({
      imap: this.#imap,
      mailbox: settings.mailbox,
      maxMessageBytes: settings.max_message_bytes,
      capBytes: settings.max_attachment_bytes,
      shared: () => this.#session,
      clock: deps.clock,
    });
    this.#cap = new ReplyCap({
      perThread: settings.max_replies_per_thread_per_hour,
      perSender: settings.max_replies_per_sender_per_hour,
      clock: deps.clock,
    });
    const { max_attachment_bytes: bytes } = settings;
    // A mail has no length limit of its own; this one keeps a part a mail that people open.
    const sizes = { text: 100_000, unit: 'utf16', caption: 100_000, uploadBytes: bytes, downloadBytes: bytes } as const;
    // A silence of the server may be as long as that, and a mail is more than one exchange.
    const sendMs = 2 * (options.smtpTimeoutMs ?? SMTP_TIMEOUT_MS);
    this.limits = { ...sizes, sendMs, findMs: (options.settings.find_grace_secs + IMAP_LOGIN_SECS) * 1_000 };
  }

  start(host: ChannelHost, signal: AbortSignal): Promise<void> {
    return this.#life.start(host, signal, (stop, settled) => this.#stay(host, stop, settled));
  }

  get #imapName(): string {
    const { host, port } = this.#imap.place;
    return `IMAP server ${host}:${port}`;
  }

  #fault(error: unknown): ServerFault {
    return describeFault(this.#imapName, error, this.#imap.credentials);
  }

  stop(): Promise<void> {
    return this.#life.stop(async () => {
      // A renewal under way must reach the disk.
      await this.#imap.credentials[Symbol.asyncDispose]();
    });
  }

  async send(part: OutboundPart, { plain, signal }: SendOptions): Promise<SendResult> {
    const readers = part.mail ? [part.chatId, ...part.mail.to, ...part.mail.cc] : [part.chatId];
    if (!readers.every((one) => MAIL_ADDRESS.test(one)))
      return { kind: 'refused', reason: 'chat-gone', detail: 'not a mail address' };
    return await this.#life.sends.run(signal, () => this.#send(part, plain, signal));
  }

  /**
   * Looks for the copy of a sent mail in our own mailbox and in the Sent folder. A copy may still be on its
   * way, so `absent` is said only after `find_grace_secs`. Undefined while the IMAP server cannot be asked,
   * and where a folder that should have the copy is missing: `absent` makes delivery send again.
   */
  async find(part: OutboundPart, signal: AbortSignal): Promise<{ readonly platformId: string } | 'absent' | undefined> {
    const { settings, deps } = this.#options;
    const id = ownMessageId(part, settings.from_address);
    const end = deps.clock.monotonic() + settings.find_grace_secs * 1_000;
    try {
      await using session = await ImapSession.logIn(this.#imap, { mailbox: settings.mailbox, readOnly: true, signal });
      const sent = settings.sent_mailbox ?? (await session.sentMailbox());
      const folders = [...new Set([settings.mailbox, ...(sent === undefined ? [] : [sent])])];
      for (;;) {
        let missing = false;
        for (const folder of folders) {
          if (!(await session.examine(folder))) missing ||= folder === settings.sent_mailbox || folder === settings.mailbox;
          else if ((await session.findMessageId(id)).length > 0) return { platformId: id };
        }
        if (missing) throw new Error('a folder in which sent mail is looked up does not exist');
        if (deps.clock.monotonic() >= end) return 'absent';
        await deps.clock.sleep(FIND_POLL_MS, signal);
      }
    } catch (error) {
      signal.throwIfAborted();
      const { code, detail } = this.#fault(error);
      deps.logger.warn('email.find-failed', { code, detail });
      return undefined;
    }
  }

  download(media: MediaRef, signal: AbortSignal): Promise<MediaFile> {
    return this.#attachments.download(media, signal);
  }

  async #stay(host: ChannelHost, signal: AbortSignal, settled: () => void): Promise<void> {
    const { clock, random, logger } = this.#options.deps;
    let authFailures = 0;
    await reconnect({
      run: (connected) =>
        this.#receive(host, signal, () => {
          authFailures = 0;
          connected();
          if (this.#smtpFault?.withoutLogin) this.#smtpFault = undefined;
          this.#report({ state: 'healthy' });
          settled();
        }),
      // It is ready to receive, or known why not. The network may come later than the daemon, and it goes on
      // trying.
      onEnd: (error, waitMs) => {
        const fault = this.#fault(error);
        logger.warn('email.disconnected', { code: fault.code, detail: fault.detail, waitMs });
        this.#report({ state: fault.permanent ? 'down' : 'degraded', detail: `${fault.code}: ${fault.detail}` });
        settled();
        if (isGatehouseError(error) && error.code === 'GH2202') return LOGIN_LOOK_MS;
        if (fault.code === 'GH1501') authFailures += 1;
        return authFailures < QUICK_AUTH_FAILURES ? true : AUTH_RETRY_MS;
      },
      ...{ clock, random, signal, steadyMs: STEADY_MS },
    });
  }

  async #send(part: OutboundPart, plain: boolean, signal: AbortSignal): Promise<SendResult> {
    const { settings, smtpTimeoutMs = SMTP_TIMEOUT_MS } = this.#options;
    const from = { name: settings.from_name, address: settings.from_address };
    const mail = await toMail(part, { from, blindCopy: this.#blindCopy, plain });
    const { result, fault } = await submitMail(mail, { access: this.#smtp, timeoutMs: smtpTimeoutMs }, signal);
    if (fault || result.kind === 'sent') this.#smtpHealth(fault);
    if (result.kind === 'sent' || result.kind === 'unknown') this.#cap.answered(part);
    return result;
  }

  async #receive(host: ChannelHost, signal: AbortSignal, onReady: () => void): Promise<void> {
    const { settings, deps } = this.#options;
    await using session = await ImapSession.logIn(this.#imap, { mailbox: settings.mailbox, readOnly: false, signal });
    await this.#checkSentMailbox(session);
    this.#session = session;
    const inbound: InboundOptions = {
      channel: this.name,
      account: this.account,
      trustFrom: settings.trust_from,
      authservId: settings.authserv_id,
      maxBodyChars: settings.max_body_chars,
      maxFileBytes: settings.max_attachment_bytes,
    };
    const { clock, random, logger } = deps;
    const options: ReceiveOptions = {
      ...{ host, clock, random, logger, signal, inbound, onReady, cap: this.#cap, credentials: this.#imap.credentials },
      pollMs: settings.poll_interval_secs * 1_000,
      maxMessageBytes: settings.max_message_bytes,
      markSeen: settings.mark_seen,
      onBounce: (id) => this.#bounces.add(id),
      onDrained: () => {
        if (this.#imapHealth.state === 'healthy' && this.#bounces.detail !== this.#shownBounces) this.#report(this.#imapHealth);
      },
      onTrouble: (detail, state) => this.#report(detail === undefined ? { state } : { state, detail }),
    };
    try {
      await receive(session, this.#broken, options);
    } finally {
      this.#session = undefined;
    }
  }

  async #checkSentMailbox(session: ImapSession): Promise<void> {
    const { sent_mailbox: folder } = this.#options.settings;
    if (folder === undefined) return;
    this.#sentFault = (await session.exists(folder))
      ? undefined
      : `GH1502: the ${this.#imapName} has no folder ${JSON.stringify(folder)}: set \`sent_mailbox\` to the one that holds sent mail`;
  }

  #smtpHealth(fault: ServerFault | undefined): void {
    if (fault?.detail === this.#smtpFault?.detail) return;
    this.#smtpFault = fault;
    this.#report(this.#imapHealth);
  }

  /** The worse of both directions: an account that cannot send is not healthy because it can read. */
  #report(imap: { state: ChannelHealth; detail?: string }): void {
    this.#imapHealth = imap;
    const fault = this.#smtpFault;
    this.#shownBounces = this.#bounces.detail;
    if (imap.state !== 'healthy') this.#life.host?.health(imap.state, imap.detail);
    else if (fault) this.#life.host?.health(fault.permanent ? 'down' : 'degraded', `${fault.code}: ${fault.detail}`);
    else if (this.#sentFault !== undefined) this.#life.host?.health('degraded', this.#sentFault);
    else this.#life.host?.health('healthy', this.#shownBounces);
  }
}
