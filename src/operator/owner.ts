// trouble -> tell(key, text) -> told before? -> a chat of the owner (owner-posts.ts), or a line in the log
import type { RunEvent } from '../core/events.ts';
import { shortHash } from '../core/ids.ts';
import type { InboundMessage } from '../core/message.ts';
import type { OwnerPostsOptions, PostOptions, ReadyPost } from './post.ts';
import { OwnerPosts } from './posts.ts';

/** A notice is news for a day; then its cause is told anew, if it lasts. */
const NOTICE_EXPIRES_MS = 24 * 3_600_000;
/**
 * A cause that mends itself and comes back is told this often in a day: what comes and goes must not flood
 * the owner.
 */
const MOST_A_DAY = 3;

export interface OwnerNotice {
  /** What it is about and why, not when: the same key is told once a day, also across restarts. */
  readonly key: string;
  /** The cause had mended, and is back: it is told again, up to three times a day in all. */
  readonly isBack?: boolean;
  /** For the operator: no words of a conversation. Secrets are taken out here. */
  readonly text: string;
  /** The channel that cannot carry it, because it is what the notice is about. */
  readonly except?: string;
}

interface Told {
  /** How often today, this time included. */
  readonly times: number;
  readonly where: 'chat' | 'log';
}

export type OwnerOptions = OwnerPostsOptions;

/**
 * The chats in which the operator is told of trouble. What cannot be told there is a warning in the log,
 * never silence.
 */
export class Owner implements AsyncDisposable {
  readonly #options: OwnerOptions;
  readonly #posts: OwnerPosts;
  readonly #running = new Set<Promise<unknown>>();
  #today = '';
  /** By key, of today. */
  #told = new Map<string, Told>();

  constructor(options: OwnerOptions) {
    this.#options = options;
    this.#posts = new OwnerPosts(options);
  }

  /** Whether there is a chat to tell or to ask in. */
  get exists(): boolean {
    return this.#options.chats.length > 0;
  }

  /**
   * Resolves when the notice is on disk or in the log; the owner waits for it when disposed. Never rejects.
   */
  tell(notice: OwnerNotice): Promise<void> {
    const owned = this.#tell(notice).finally(() => this.#running.delete(owned));
    this.#running.add(owned);
    return owned;
  }

  /**
   * To be told every event: what becomes of channels and parts decides whether a text has to go to another
   * chat.
   */
  observe(event: RunEvent): void {
    this.#posts.observe(event);
  }

  /**
   * Makes one text ready for the outbox of the owner's chat; where that chat turns out not to work, it goes
   * into the next one's. Undefined when no chat works; the caller says so in the log. `id` is part of the
   * outbox key.
   */
  prepare(id: string, text: string, options: PostOptions): ReadyPost | undefined {
    return this.#posts.prepare(id, text, options);
  }

  /**
   * What was posted under this id before is looked after again; where it reached no chat that is still the
   * owner's, it is posted anew. What the outbox does not know left days ago. Never rejects.
   */
  async lookAfter(id: string, text: string, options: PostOptions): Promise<void> {
    await this.#posts.lookAfterAgain(id, text, options);
  }

  /** Whether a message was written in a chat of the owner, with the account that we have there. */
  isOwnersChat({ channel, account, chatId }: Pick<InboundMessage, 'channel' | 'account' | 'chatId'>): boolean {
    return this.#options.chats.some(
      (chat) => chat.channel === channel && chat.chatId === chatId && this.#options.channel(channel)?.account === account,
    );
  }

  /**
   * Whether the operator is known to have written it: under an id of theirs, or in a private chat of theirs.
   * The members of a group that is a chat of theirs are other people.
   */
  wrote(message: Pick<InboundMessage, 'channel' | 'account' | 'chatId' | 'senderId' | 'isGroup'>): boolean {
    return this.isOwnersId(message) || (!message.isGroup && this.isOwnersChat(message));
  }

  /** Whether the config names an id under which the operator writes on this channel. */
  namesIds(channel: string): boolean {
    return this.#options.chats.some((chat) => chat.channel === channel && (chat.senderIds ?? []).length > 0);
  }

  /**
   * Whether the sender is the operator, by an id that the config names: a chat of theirs may be a group of
   * many.
   */
  isOwnersId({ channel, senderId }: Pick<InboundMessage, 'channel' | 'senderId'>): boolean {
    // Where a private chat has the id of the person, naming the chat names the person.
    return this.#options.chats.some(
      (chat) => chat.channel === channel && [chat.chatId, ...(chat.senderIds ?? [])].includes(senderId),
    );
  }

  /** Waits for what is under way. */
  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#running);
    await this.#posts[Symbol.asyncDispose]();
  }

  async #tell(notice: OwnerNotice): Promise<void> {
    const { key, text, isBack = false } = notice;
    const { logger, redact } = this.#options;
    const today = this.#turnDay();
    const before = this.#told.get(key);
    const again = before?.where === 'chat';
    const times = (before?.times ?? 1) + (again ? 1 : 0);
    if (again && (!isBack || times > MOST_A_DAY)) return logger.debug('owner.told-before', { key, times: before.times });
    this.#told.set(key, { times, where: 'chat' });
    const told = await this.#post(notice, today, times);
    if (told !== undefined) {
      if (today === this.#today) this.#told.set(key, { times: told.times, where: 'chat' });
      return told.isNew ? logger.info('owner.told', { key }) : logger.debug('owner.told-before', { key, times: told.times });
    }
    // Again when it happens again: a chat may work by then.
    if (today === this.#today) this.#told.set(key, { times, where: 'log' });
    if (before?.where !== 'log') logger.warn('owner.not-told', { key, detail: redact(text), hint: this.#hint() });
  }

  /** Undefined: in no chat. An earlier process of the day may have told the same. */
  async #post(
    { key, text, except, isBack = false }: OwnerNotice,
    day: string,
    first: number,
  ): Promise<{ times: number; isNew: boolean } | undefined> {
    const onLost = (): void => {
      const told = this.#told.get(key);
      if (told && day === this.#today) this.#told.set(key, { ...told, where: 'log' });
    };
    const options = { expiresInMs: NOTICE_EXPIRES_MS, isNews: true, onLost, ...(except === undefined ? {} : { except }) };
    for (let times = first; times <= MOST_A_DAY; times += 1) {
      const posted = await this.#posts.postOnce(
        `${day}/${shortHash(key, 32)}${times === 1 ? '' : `/again-${times}`}`,
        text,
        options,
      );
      if (posted === undefined) return undefined;
      if (posted !== 'known' || !isBack) return { times, isNew: posted !== 'known' };
    }
    return { times: MOST_A_DAY, isNew: false };
  }

  #hint(): string {
    return this.exists ? 'no chat of gateway.owner can be used now' : 'name a chat in gateway.owner to be told there';
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
