/** Messages -> `host.receive`, each batch with the cursor that holds once it is committed. */
import type { ChannelHost } from '../../../src/core/channel.ts';
import { errorText } from '../../../src/core/errors.ts';
import type { InboundMessage } from '../../../src/core/message.ts';
import { type JsonObject, num } from '../../kit/json.ts';
import { RecentSet } from '../../kit/recent.ts';
import { type StoringOptions, storeMessages } from '../../kit/store-messages.ts';
import type { Packet } from '../wire/gateway.ts';
import { idAt, laterId, requireId } from '../wire/ids.ts';
import { THREAD_STARTER } from './called-in.ts';
import { advance, type Cursor, firstCursor, formatCursor, notAhead, parseCursor, withThread } from './cursor.ts';
import { type InboundContext, toMessage, unreadable } from './inbound.ts';
import type { Place } from './places.ts';

export interface HandoverOptions extends StoringOptions {
  readonly host: ChannelHost;
  readonly channel: string;
  readonly account: string;
  readonly catchUpMs: number;
}

/** Ids of messages already offered by this process, so that the overlap is not offered twice. */
const MAX_RECENT = 5_000;

export class Handover {
  readonly #options: HandoverOptions;
  #cursor: Cursor | undefined;
  readonly #recent = new RecentSet(MAX_RECENT);
  /** Private chats that were pushed and are in no cursor yet: no list of the platform's tells of them. */
  readonly #strangers = new Set<string>();
  /** Threads that we wrote in since the last commit. */
  readonly #joined = new Set<string>();

  constructor(options: HandoverOptions) {
    this.#options = options;
  }

  /** A private chat of which an event was pushed. It is in the cursor from the next commit on. */
  meet(chat: string): void {
    if (!this.#cursor?.seen.has(chat)) this.#strangers.add(chat);
  }

  /** Whether no cursor names this private chat yet. */
  isStranger(chat: string): boolean {
    return this.#strangers.has(chat);
  }

  /** As of the last commit; that of the host at first, or a new one. */
  async cursor(): Promise<Cursor> {
    const { host, clock } = this.#options;
    const known = this.#cursor ?? parseCursor(await host.cursor()) ?? firstCursor(clock.now());
    // At each look: the clock may be corrected while the daemon runs.
    this.#cursor = notAhead(known, clock.now());
    return this.#cursor;
  }

  /**
   * Whether we wrote in a thread, as our own messages tell that came back. What others write proves nothing:
   * whether they may call the agent is decided later, and a person who may not would have it answer talk
   * among those who may.
   */
  hasWritten(thread: string): boolean {
    return this.#joined.has(thread) || this.#cursor?.threads.has(thread) === true;
  }

  /**
   * Commits messages of one place, the oldest first, without those that this process offered before and those
   * of our own. `packet` is the event that is worked off with them. Rejects as `commit` and `contextOf` do.
   */
  async offer(
    messages: readonly JsonObject[],
    place: Place,
    contextOf: (message: JsonObject) => Promise<InboundContext>,
    packet: Packet | undefined,
  ): Promise<void> {
    // What is known of the threads that we wrote in.
    await this.cursor();
    const batch: InboundMessage[] = [];
    let newest: string | undefined;
    for (const message of messages) {
      const id = requireId(message['id'], 'message id');
      newest = laterId(newest ?? id, id);
      // A row that points to the first message of its thread, which was read where it was written.
      if (this.#recent.has(id) || num(message['type']) === THREAD_STARTER) continue;
      const read = this.#read(message, await contextOf(message), id);
      if (read.refusal === 'own-message' && place.parentId !== undefined) this.#joined.add(place.id);
      // We know what we wrote; committing the echo of every answer would cost as much as the question.
      if (read.refusal !== 'own-message') batch.push(read);
    }
    if (newest === undefined) return;
    const options = { isPrivate: place.guildId === undefined, oldest: this.#oldest() };
    const id = newest;
    if (batch.length > 0) await this.commit(batch, packet, (before) => advance(before, place.id, id, options));
    for (const message of messages) this.#recent.add(String(message['id']));
  }

  /**
   * Commits a batch, which may be empty, with the cursor after `change`. `packet` is the event that is worked
   * off with it. Rejects when the adapter stops, or when the cursor cannot be read.
   */
  async commit(
    batch: readonly InboundMessage[],
    packet: Packet | undefined,
    change: (cursor: Cursor) => Cursor = (cursor) => cursor,
  ): Promise<void> {
    const oldest = this.#oldest();
    let after = change(await this.cursor());
    const strangers = [...this.#strangers];
    for (const chat of strangers) {
      if (!after.seen.has(chat)) after = advance(after, chat, after.since, { isPrivate: true, oldest });
    }
    const threads = [...this.#joined];
    for (const thread of threads) after = withThread(after, thread);
    const { session: old, ...rest } = after;
    const session = packet ? packet.session && { ...packet.session, seq: packet.s } : old;
    const cursor: Cursor = { ...rest, ...(session && { session }) };
    await storeMessages(batch, formatCursor(cursor), this.#options);
    this.#cursor = cursor;
    for (const chat of strangers) this.#strangers.delete(chat);
    for (const thread of threads) this.#joined.delete(thread);
  }

  #read(message: JsonObject, context: InboundContext, id: string): InboundMessage {
    const { channel, account, clock, logger } = this.#options;
    try {
      return toMessage(message, context);
    } catch (error) {
      logger.error('discord.message-unreadable', { error: errorText(error) });
      return unreadable(channel, account, `message ${id}`, clock.now());
    }
  }

  #oldest(): string {
    return idAt(this.#options.clock.now() - this.#options.catchUpMs);
  }
}
