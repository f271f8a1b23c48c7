// trouble -> tell(key, text) -> the first chat of the owner that works -> outbox, or a line in the log
import type { Channel, ChannelHealth } from '../core/channel.ts';
import { errorText } from '../core/errors.ts';
import { shortHash } from '../core/ids.ts';
import type { Journal, NewPart } from '../core/journal.ts';
import type { Choice, InboundMessage } from '../core/message.ts';
import type { Clock, Logger } from '../core/ports.ts';
import { planParts } from '../delivery/plan.ts';

/** A notice is news for a day; then its cause is told anew, if it lasts. */
const NOTICE_EXPIRES_MS = 24 * 3_600_000;

export interface OwnerChat {
  /** Instance name. */
  readonly channel: string;
  readonly chatId: string;
}

export interface OwnerNotice {
  /** What it is about, not when: the same key is told at most once a day, also across restarts. */
  readonly key: string;
  /** For the operator: no words of anybody's conversation. Secrets are taken out here. */
  readonly text: string;
  /** The channel that cannot carry it, because it is what the notice is about. */
  readonly except?: string;
}

export interface PostOptions {
  readonly expiresInMs: number;
  /** Not on this channel. */
  readonly except?: string;
  /** Answers to press, or to type where there are no buttons. */
  readonly choices?: readonly Choice[];
}

export interface OwnerOptions {
  /** In order of preference. Empty: everything goes to the log. */
  readonly chats: readonly OwnerChat[];
  readonly journal: Pick<Journal, 'enqueue'>;
  readonly channel: (name: string) => Channel | undefined;
  readonly state: (name: string) => ChannelHealth | undefined;
  /** Parts are on disk: delivery may look. */
  readonly onParts: (parts: readonly NewPart[]) => void;
  readonly redact: (text: string) => string;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The chats in which the operator is told of trouble. What cannot be told there is a warning in the log, never silence. */
export class Owner implements AsyncDisposable {
  readonly #options: OwnerOptions;
  readonly #running = new Set<Promise<unknown>>();
  #today = '';
  /** Keys of today: told in a chat (true), or only in the log. */
  #told = new Map<string, boolean>();

  constructor(options: OwnerOptions) {
    this.#options = options;
  }

  /** Whether there is anybody to tell or to ask. */
  get exists(): boolean {
    return this.#options.chats.length > 0;
  }

  /** Resolves when the notice is on disk or in the log; the owner waits for it when disposed. Never rejects. */
  tell(notice: OwnerNotice): Promise<void> {
    return this.#own(this.#tell(notice));
  }

  /**
   * Puts one text into the outbox of the owner's chat, and says which that is. Undefined when no chat works or the journal cannot be
   * written; the caller says so in the log. `id` is part of the outbox key: the same one again changes nothing. Never rejects.
   */
  post(id: string, text: string, options: PostOptions): Promise<OwnerChat | undefined> {
    return this.#own(this.#post(id, text, options));
  }

  /** Whether a message was written in a chat of the owner, with the account that we have there. */
  isOwnersChat({ channel, account, chatId }: Pick<InboundMessage, 'channel' | 'account' | 'chatId'>): boolean {
    return this.#options.chats.some(
      (chat) => chat.channel === channel && chat.chatId === chatId && this.#options.channel(channel)?.account === account,
    );
  }

  /** Waits for what is under way. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#running);
  }

  async #post(id: string, text: string, options: PostOptions): Promise<OwnerChat | undefined> {
    const chat = this.#usable(options.except);
    if (!chat) return undefined;
    const { journal, onParts, redact, clock, logger } = this.#options;
    const { channel, chatId } = chat;
    // No message is called so: `#` is escaped there.
    const message = { id: `#owner/${id}`, channel: channel.name, account: channel.account, chatId };
    const { expiresInMs, choices = [] } = options;
    const plan = { message, text: redact(text), files: [], choices, limits: channel.limits, now: clock.now(), expiresInMs };
    const parts = planParts({ ...plan, buttons: channel.buttons ?? false }).map(withoutMessage);
    try {
      await journal.enqueue(parts);
    } catch (error) {
      logger.warn('owner.post-failed', { channel: channel.name, detail: errorText(error) });
      return undefined;
    }
    onParts(parts);
    return { channel: channel.name, chatId };
  }

  async #tell({ key, text, except }: OwnerNotice): Promise<void> {
    const { logger, redact } = this.#options;
    const today = this.#turnDay();
    const before = this.#told.get(key);
    if (before) return;
    this.#told.set(key, true);
    const options = { expiresInMs: NOTICE_EXPIRES_MS, ...(except === undefined ? {} : { except }) };
    if (await this.post(`${today}/${shortHash(key, 32)}`, text, options)) {
      logger.info('owner.told', { key });
      return;
    }
    // Again when it happens again: a chat may work by then.
    if (today === this.#today) this.#told.set(key, false);
    if (before === undefined) logger.warn('owner.not-told', { key, detail: redact(text), hint: this.#hint() });
  }

  #hint(): string {
    return this.exists ? 'no chat of gateway.owner can be used now' : 'name a chat in gateway.owner to be told there';
  }

  #own<T>(work: Promise<T>): Promise<T> {
    const owned = work.finally(() => this.#running.delete(owned));
    this.#running.add(owned);
    return owned;
  }

  /** One that is connected; else one in trouble that mends itself, or still connecting: the part waits for it. */
  #usable(except: string | undefined): { channel: Channel; chatId: string } | undefined {
    const { chats, channel: find, state } = this.#options;
    for (const wanted of ['healthy', 'degraded', 'starting']) {
      for (const { channel: name, chatId } of chats) {
        const channel = find(name);
        if (channel && name !== except && state(name) === wanted) return { channel, chatId };
      }
    }
    return undefined;
  }

  /** The day in the daemon's time zone, as the budget counts it. */
  #turnDay(): string {
    const at = new Date(this.#options.clock.now());
    const today = [at.getFullYear(), at.getMonth() + 1, at.getDate()].join('-');
    if (today !== this.#today) this.#told = new Map();
    this.#today = today;
    return today;
  }
}

/** It answers no message. */
function withoutMessage({ part: { messageId: _none, ...part }, ...row }: NewPart): NewPart {
  return { ...row, part };
}
