/**
 * Threads that answers open: made when the first part is sent, or the answer stands in the channel and the
 * operator is told.
 */
import type { OutboundPart } from '../../../src/core/message.ts';
import type { Logger } from '../../../src/core/ports.ts';
import { type ApiFailure, apiFailureOf, describe } from '../../kit/call-error.ts';
import type { JsonObject } from '../../kit/json.ts';
import { RecentMap } from '../../kit/recent.ts';
import { isFinal, isNotPermitted, isNotThere } from '../wire/failure.ts';
import { placeOf, threadOpenedBy } from './outbound.ts';

export interface ThreadsOptions {
  /** Whether answers open threads. */
  readonly isOn: boolean;
  /** Minutes of silence after which the platform hides a thread. */
  readonly archiveMinutes: number;
  /** Rejects with a `CallError`. */
  readonly call: (route: string, body: JsonObject, signal: AbortSignal) => Promise<unknown>;
  /** Told what keeps answers out of threads; undefined when nothing does. */
  readonly told: (trouble: string | undefined) => void;
  readonly logger: Logger;
}

/** Where the answers of one message go. */
type Where = 'thread' | 'channel';
type Target = Pick<OutboundPart, 'chatId' | 'threadId'>;

/**
 * https://docs.discord.com/developers/topics/opcodes-and-status-codes#json: "A thread has already been
 * created for this message".
 */
const HAS_THREAD = 160_004;
const MAX_KNOWN = 1_000;
const MAX_TROUBLED = 500;

/**
 * A thread has the id of its message ("as such a message can only have a single thread created from it",
 * https://docs.discord.com/developers/resources/channel#start-thread-from-message), so that making it again,
 * after a lost answer or in another process, finds the one that is there.
 */
export class Threads {
  readonly #options: ThreadsOptions;
  /** By the id of the message. Forgotten, it is found out again. */
  readonly #known = new RecentMap<Where>(MAX_KNOWN);
  /** What keeps answers out of threads, by channel. */
  readonly #troubled = new RecentMap<string>(MAX_TROUBLED);

  constructor(options: ThreadsOptions) {
    this.#options = options;
  }

  /**
   * Where a part is sent; its thread is there when this resolves. Undefined when an id is none of the
   * platform's. Rejects when it is not known whether there is a thread: nothing of the part was sent then.
   */
  async placeOf(part: OutboundPart, signal: AbortSignal): Promise<string | undefined> {
    const opened = threadOpenedBy(part);
    if (!opened) return placeOf(part);
    const where = this.#known.get(opened.id) ?? (await this.#open(opened, signal));
    return where === 'thread' ? opened.id : opened.chat;
  }

  /**
   * The platform refused a part in the thread that it opened, or does not know that thread any more, so that
   * the answer has to stand in the channel. False for any other part, and for what has nothing to do with
   * threads.
   */
  refused(part: OutboundPart, error: unknown): boolean {
    const opened = threadOpenedBy(part);
    const failure = apiFailureOf(error);
    if (!opened || !failure || this.#known.get(opened.id) !== 'thread') return false;
    if (!isNotPermitted(failure) && !isNotThere(failure)) return false;
    this.#stayInChannel(opened, failure);
    return true;
  }

  /**
   * Does something to a message, or in a place, that lies in the thread, or in the channel as the message
   * that the thread was opened of does: `work` is tried in the thread, and where the platform knows no such
   * thing there, in the channel. Undefined when an id is none of the platform's. Rejects as `work` does.
   */
  async inEither<T>(target: Target, work: (place: string) => Promise<T>): Promise<T | undefined> {
    const place = placeOf(target);
    const chat = placeOf({ chatId: target.chatId });
    if (place === undefined || chat === undefined) return undefined;
    if (this.#known.get(place) === 'channel') return await work(chat);
    if (!this.#options.isOn || place === chat) return await work(place);
    try {
      return await work(place);
    } catch (error) {
      if (!isNotThere(apiFailureOf(error))) throw error;
      return await work(chat);
    }
  }

  /** Whether what is sent for this message stands in the channel. It is not known after a restart. */
  isInChannel(id: string): boolean {
    return this.#known.get(id) === 'channel';
  }

  async #open(opened: NonNullable<ReturnType<typeof threadOpenedBy>>, signal: AbortSignal): Promise<Where> {
    const { call, archiveMinutes } = this.#options;
    const { id, chat, name } = opened;
    try {
      await call(`/channels/${chat}/messages/${id}/threads`, { name, auto_archive_duration: archiveMinutes }, signal);
    } catch (error) {
      const failure = apiFailureOf(error);
      if (!failure || !isFinal(error)) throw error;
      if (failure.code !== HAS_THREAD) return this.#stayInChannel(opened, failure);
    }
    this.#known.set(id, 'thread');
    if (this.#troubled.has(chat)) {
      this.#troubled.delete(chat);
      this.#tell();
    }
    return 'thread';
  }

  #stayInChannel({ id, chat }: { readonly id: string; readonly chat: string }, failure: ApiFailure): Where {
    this.#known.set(id, 'channel');
    // A question that was deleted is no trouble of the operator's.
    if (isNotThere(failure)) return 'channel';
    const why = isNotPermitted(failure)
      ? 'give the bot the permissions Create Public Threads and Send Messages in Threads there'
      : `the platform says: ${describe(failure)}`;
    if (this.#troubled.get(chat) !== why) this.#options.logger.warn('discord.no-thread', { chat, why });
    this.#troubled.set(chat, why);
    this.#tell();
    return 'channel';
  }

  #tell(): void {
    const whys = [...this.#troubled].map(([, why]) => why);
    const lines = [...new Set(whys)].map((why) => {
      const count = whys.filter((other) => other === why).length;
      return `answers stand in the channel and not in a thread of their own in ${count} channels: ${why}`;
    });
    this.#options.told(lines.length === 0 ? undefined : lines.join('; '));
  }
}
