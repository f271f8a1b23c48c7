// text -> the first chat of the owner that works -> outbox; a chat that then does not work ->
//   withdrawn there -> the next healthy one
import type { ChannelHealth } from '../core/channel.ts';
import { errorText } from '../core/errors.ts';
import type { RunEvent } from '../core/events.ts';
import { chatKey, partKey } from '../core/ids.ts';
import type { ChatRef } from '../core/message.ts';
import { isLoginRefused, type Settlement, type StoredPart } from '../core/outbox.ts';
import { planParts } from '../delivery/plan.ts';
import { NO_LONGER_NEEDED } from '../lib/no-longer-needed.ts';
import {
  type Entrusted,
  isOwners,
  isSame,
  messageId,
  next,
  type OwnerChat,
  type OwnerPostsOptions,
  type PostOptions,
  type ReadyPost,
  type Text,
  usable,
  withoutMessage,
} from './post.ts';

/** A channel may take this long to connect before what waits for it is told where one is connected. */
const CONNECTING_MS = 30_000;
const JOURNAL_RETRY_MS = 1_000;
/** Chats that one text is posted to, one after another, while channels come and go. */
const MOST_POSTS = 8;

/**
 * Texts for the owner in the outbox, looked after until one has left. A text whose channel goes down, does
 * not connect within half a minute or gives it up is posted to the next healthy chat, once it can no longer
 * leave from the first: it is never in two chats, unless the process is killed in between. A text that may
 * have arrived stays where it is.
 */
export class OwnerPosts implements AsyncDisposable {
  readonly #options: OwnerPostsOptions;
  readonly #entrusted = new Set<Entrusted>();
  readonly #running = new Set<Promise<unknown>>();
  readonly #closing = new AbortController();

  constructor(options: OwnerPostsOptions) {
    this.#options = options;
  }

  /** Undefined when no chat works. The caller writes the parts, in a commit of its own. */
  prepare(id: string, text: string, options: PostOptions): ReadyPost | undefined {
    const ready = this.#ready({
      id,
      text,
      options,
      expiresAt: this.#options.clock.now() + options.expiresInMs,
      attempt: 1,
      gaveUp: [],
    });
    return ready && { chat: ready.key, parts: ready.parts, onDisk: ready.onDisk };
  }

  /**
   * Posts the text in a commit of its own. 'known' when a text with this id was posted before, by whichever
   * process, and may have arrived or may still; one that waits is looked after from now on. One that surely
   * reached no chat, or none that is still the owner's, is posted again. Undefined when no chat works or the
   * journal cannot be written. Never rejects.
   */
  postOnce(id: string, text: string, options: PostOptions): Promise<OwnerChat | 'known' | undefined> {
    return this.#own(this.#postOnce(id, text, options));
  }

  /** As `postOnce`, of what was posted before: without a row it arrived, and was forgotten days later. */
  async lookAfterAgain(id: string, text: string, options: PostOptions): Promise<void> {
    const first = await this.#options.journal.part(partKey(messageId(id, 1), 0)).catch(() => undefined);
    if (first) await this.postOnce(id, text, options);
  }

  /** What became of parts and channels. */
  readonly observe = (event: RunEvent): void => {
    if (this.#closing.signal.aborted) return;
    if (event.type === 'channel') {
      for (const one of this.#entrusted) this.#check(one);
    } else if (event.type === 'part.sent' || event.type === 'part.unknown') {
      this.#find(event.key)?.over.abort(NO_LONGER_NEEDED);
    } else if (event.type === 'part.retry') {
      // It was being sent when its channel got into trouble, and did not arrive.
      const late = this.#find(event.key);
      if (late) this.#check(late, isLoginRefused(event.reason));
    } else if (event.type === 'part.dead' || event.type === 'part.expired') {
      const lost = this.#find(event.key);
      if (!lost) return;
      lost.over.abort(NO_LONGER_NEEDED);
      void this.#own(this.#replace(lost));
    }
  };

  /** Waits for what is under way. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#closing.abort(NO_LONGER_NEEDED);
    for (const one of this.#entrusted) one.over.abort(NO_LONGER_NEEDED);
    await Promise.all(this.#running);
  }

  async #postOnce(id: string, text: string, options: PostOptions): Promise<OwnerChat | 'known' | undefined> {
    const { journal, clock, logger } = this.#options;
    const posted = { id, text, options, gaveUp: [] };
    let known: ChatRef | undefined;
    try {
      for (let attempt = 1; attempt <= MOST_POSTS; attempt += 1) {
        const stored = await journal.part(partKey(messageId(id, attempt), 0));
        if (!stored && known) break;
        if (!stored) {
          const placed = await this.#place({ ...posted, expiresAt: clock.now() + options.expiresInMs, attempt });
          if (placed && attempt > 1) options.onMoved?.(placed.chat, placed.key);
          return placed?.chat;
        }
        if (stored.state === 'DEAD' || stored.state === 'EXPIRED') continue;
        const { key, count, channel, chatId } = stored.part;
        const keys = Array.from({ length: count }, (_, n) => partKey(messageId(id, attempt), n));
        const found = { ...posted, expiresAt: stored.expiresAt, attempt, chat: { channel, chatId }, keys };
        if (!isOwners(stored.part, this.#options)) await this.#takeBack(found);
        else if (!known) {
          known = stored.part;
          if (stored.state === 'PENDING' && !this.#find(key)) this.#lookAfter({ ...found, since: clock.monotonic() });
        }
      }
    } catch (error) {
      logger.warn('owner.post-failed', { detail: errorText(error) });
    }
    if (known && chatKey(known) !== options.standsIn) options.onMoved?.(known, chatKey(known));
    return known && 'known';
  }

  /**
   * Its chat is the owner's no more: what has not left is not sent there, and how it ends is no news of the
   * text.
   */
  async #takeBack(found: Pick<Entrusted, 'keys' | 'chat'>): Promise<void> {
    this.#find(found.keys[0] ?? '')?.over.abort(NO_LONGER_NEEDED);
    for (const { seq } of await this.#take(found)) await this.#settle(seq, { kind: 'expired' });
  }

  async #place(text: Text, states?: readonly ChannelHealth[]): Promise<{ chat: OwnerChat; key: string } | undefined> {
    const ready = this.#ready(text, states);
    if (!ready) return undefined;
    const { journal, logger } = this.#options;
    try {
      await journal.enqueue(ready.parts);
    } catch (error) {
      logger.warn('owner.post-failed', { channel: ready.chat.channel, detail: errorText(error) });
      return undefined;
    }
    ready.onDisk();
    return ready;
  }

  #ready(text: Text, states: readonly ChannelHealth[] = ['healthy', 'degraded', 'starting']) {
    const place = usable(text, states, this.#options);
    if (!place || text.attempt > MOST_POSTS) return undefined;
    const { onParts, redact, clock } = this.#options;
    const { channel, chat } = place;
    const message = { ...chat, id: messageId(text.id, text.attempt), account: channel.account };
    const { choices = [] } = text.options;
    const now = clock.now();
    const plan = { message, text: redact(text.text), files: [], choices, limits: channel.limits, now };
    const expiry = { expiresInMs: text.expiresAt - now, buttons: channel.buttons ?? false };
    const parts = planParts({ ...plan, ...expiry }).map(withoutMessage);
    const keys = parts.map(({ part }) => part.key);
    const onDisk = (): void => {
      this.#lookAfter({ ...text, chat, keys, since: clock.monotonic() });
      onParts(parts);
    };
    return { chat, key: chatKey(message), parts, onDisk };
  }

  #lookAfter(text: Omit<Entrusted, 'over' | 'moving'>): void {
    if (this.#closing.signal.aborted) return;
    const one: Entrusted = { ...text, over: new AbortController(), moving: false };
    this.#entrusted.add(one);
    const { signal } = one.over;
    signal.addEventListener('abort', () => this.#entrusted.delete(one), { once: true });
    const { clock, state } = this.#options;
    if (state(one.chat.channel) === 'healthy') return;
    clock.sleep(CONNECTING_MS, signal).then(
      () => this.#check(one),
      () => undefined,
    );
    this.#check(one);
  }

  #find(key: string): Entrusted | undefined {
    return [...this.#entrusted].find(({ keys }) => keys.includes(key));
  }

  /** Moves it when its channel is in trouble and another one is not. */
  #check(one: Entrusted, refused = false): void {
    const { state, clock } = this.#options;
    const health = state(one.chat.channel);
    const isConnecting = health === 'starting' && clock.monotonic() - one.since < CONNECTING_MS;
    // Channels stop when the process ends: the next one goes on with what is left.
    if ((health === 'healthy' && !refused) || health === 'stopped' || isConnecting || one.moving) return;
    if (refused && !one.gaveUp.some((chat) => isSame(chat, one.chat))) one.gaveUp.push(one.chat);
    if (!usable(one, ['healthy'], this.#options) || one.attempt === MOST_POSTS) return;
    one.moving = true;
    void this.#own(
      this.#move(one).finally(() => {
        one.moving = false;
      }),
    );
  }

  async #move(one: Entrusted): Promise<void> {
    const { clock, logger, onParts } = this.#options;
    const taken = await this.#take(one);
    const isOurs = taken.length === one.keys.length && !one.over.signal.aborted;
    const placed = isOurs ? await this.#place(next(one), ['healthy']) : undefined;
    const back = { kind: 'retry', notBefore: clock.now(), reason: 'it stays in this chat', uncounted: true } as const;
    for (const { seq } of taken) await this.#settle(seq, placed ? { kind: 'expired' } : back);
    if (!placed) return onParts(taken);
    one.over.abort(NO_LONGER_NEEDED);
    logger.info('owner.moved', { from: one.chat.channel, to: placed.chat.channel });
    one.options.onMoved?.(placed.chat, placed.key);
  }

  /**
   * Last first: once the first is ours, none of them has left. Only the process that makes a part SENDING may
   * send it.
   */
  async #take({ keys, chat }: Pick<Entrusted, 'keys' | 'chat'>): Promise<readonly StoredPart[]> {
    const { journal, logger, clock } = this.#options;
    const taken: StoredPart[] = [];
    try {
      for (const key of [...keys].reverse()) {
        const stored = await journal.part(key);
        // Its question ended: no event tells of that.
        if (stored?.state === 'EXPIRED' && stored.expiresAt > clock.now()) this.#find(key)?.over.abort(NO_LONGER_NEEDED);
        // One that may have arrived stays.
        if (!stored || stored.doubtSince !== undefined || !(await journal.sending(stored.seq))) break;
        taken.push(stored);
      }
    } catch (error) {
      logger.warn('owner.move-failed', { channel: chat.channel, detail: errorText(error) });
    }
    return taken;
  }

  /**
   * Until the journal can be written, or the process ends: the next one settles what was taken as a send that
   * was cut off.
   */
  async #settle(seq: number, settlement: Settlement): Promise<void> {
    const { journal, logger, clock } = this.#options;
    for (;;) {
      try {
        return await journal.settle(seq, settlement);
      } catch (error) {
        logger.warn('owner.move-failed', { detail: errorText(error) });
      }
      const isOver = await clock.sleep(JOURNAL_RETRY_MS, this.#closing.signal).then(
        () => false,
        () => true,
      );
      if (isOver) return;
    }
  }

  /**
   * The channel gave it up: it surely did not arrive. News that is too old to be sent there is news in
   * another chat.
   */
  async #replace(one: Entrusted): Promise<void> {
    const { clock, logger } = this.#options;
    const { onLost, onMoved, isNews = false, expiresInMs } = one.options;
    const isOver = one.expiresAt <= clock.now();
    const expiresAt = isOver && isNews ? clock.now() + expiresInMs : one.expiresAt;
    const gaveUp = [...one.gaveUp, one.chat];
    const placed = expiresAt > clock.now() ? await this.#place({ ...next(one), expiresAt, gaveUp }) : undefined;
    if (!placed) {
      logger.warn('owner.lost', { channel: one.chat.channel });
      return onLost?.();
    }
    logger.info('owner.moved', { from: one.chat.channel, to: placed.chat.channel });
    onMoved?.(placed.chat, placed.key);
  }

  #own<T>(work: Promise<T>): Promise<T> {
    const owned = work.finally(() => this.#running.delete(owned));
    this.#running.add(owned);
    return owned;
  }
}
