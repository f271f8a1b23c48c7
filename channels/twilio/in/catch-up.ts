/** The list of messages -> what no webhook brought. Runs at start, after every failure, once per period. */
import type { ChannelHost } from '../../../src/core/channel.ts';
import { errorText } from '../../../src/core/errors.ts';
import type { InboundMessage } from '../../../src/core/message.ts';
import type { Clock, Logger } from '../../../src/core/ports.ts';
import { apiFailureOf } from '../../kit/call-error.ts';
import { withDeadline } from '../../kit/deadline.ts';
import type { MediaRecord, MessageList, MessageRecord, TwilioClient } from '../wire/client.ts';
import { advance, firstCursor, type ListCursor, OVERLAP_MS, since } from './cursor.ts';
import { MESSAGE_SID } from './inbound.ts';
import type { Intake } from './intake.ts';

/** Small, so that a crash repeats little. */
const BATCH = 50;
/** As many come each time, new or not: few, for they are asked for as often as every 5 s. */
const PAGE_SIZE = 20;
/**
 * A list of files may fail this often, within a minute or two. Then its message goes without them: it holds
 * up all that came later.
 */
const MEDIA_TRIES = 7;
/** Longest wait for one page. */
const CALL_TIMEOUT_MS = 30_000;
/** The oldest ones are kept when there are more; the rest is read in the next round. */
const MAX_HELD = 2_000;

export interface CatchUpOptions {
  readonly client: Pick<TwilioClient, 'list' | 'media'>;
  readonly host: Pick<ChannelHost, 'cursor'>;
  readonly intake: Pick<Intake, 'resume' | 'offer' | 'accepted'>;
  readonly number: string;
  /** `later`: there is no room for it in this minute. It and what follows is left to the next reading. */
  readonly toInbound: (record: MessageRecord, media: readonly MediaRecord[] | undefined) => InboundMessage | 'later';
  readonly clock: Clock;
  readonly logger: Logger;
  readonly signal: AbortSignal;
}

/**
 * What one reading found that the host had not accepted before, the oldest `BATCH` of it, and the platform's
 * time.
 */
export interface Caught {
  readonly messages: readonly MessageRecord[];
  readonly serverTime: number;
}

interface HandedOver {
  readonly cursor: ListCursor;
  /** Not all of it: the rest has to wait. */
  readonly held: boolean;
}

export class CatchUp {
  readonly #options: CatchUpOptions;
  #cursor: ListCursor | undefined;
  /** `at` of the last cursor on disk. */
  #saved = Number.NEGATIVE_INFINITY;
  /** Of the message whose files were asked for last. */
  #media: { readonly sid: string; readonly failures: number } | undefined;

  constructor(options: CatchUpOptions) {
    this.#options = options;
  }

  /**
   * Reads until nothing is left or a message has to wait. Rejects with a `CallError` or a `DeadlineError`,
   * with an `Error` when only files cannot be listed, or with the signal's reason.
   */
  async run(): Promise<Caught> {
    const { host, clock, logger, intake } = this.#options;
    if (!this.#cursor) {
      const stored = await host.cursor();
      this.#cursor = intake.resume(stored);
      if (!this.#cursor) {
        if (stored !== undefined) logger.warn('twilio.cursor-unreadable');
        // This call also tells whether the credentials are good. The first start answers nothing that is
        // older than it, and says so on disk at once: else what comes while the daemon is down would again
        // lie before the first start.
        const { serverTime } = await this.#call((signal) => this.#options.client.list({ to: this.#options.number }, signal));
        const cursor = firstCursor(serverTime ?? clock.now());
        await intake.offer([], cursor);
        this.#cursor = cursor;
        this.#saved = cursor.at;
        return { messages: [], serverTime: cursor.at };
      }
    }
    const caught: MessageRecord[] = [];
    for (let from = since(this.#cursor), hold = MAX_HELD; ; ) {
      const { found, serverTime, complete } = await this.#read(from, hold);
      const fresh = found.filter(({ sid }) => !intake.accepted(sid));
      const { cursor, held } = await this.#handOver(fresh, this.#cursor, complete ? serverTime : found.at(-1)?.at);
      this.#cursor = cursor;
      for (const message of fresh) if (caught.length < BATCH) caught.push(message);
      if (complete || held) return { messages: caught, serverTime };
      const reached = found.at(-1)?.at ?? from;
      // More in one second than can be held: only a longer reading gets past it.
      if (reached <= from) hold *= 2;
      from = Math.max(from, reached);
    }
  }

  /** From the newest back to the cursor, then turned round. */
  async #read(from: number, hold: number): Promise<{ found: MessageRecord[]; serverTime: number; complete: boolean }> {
    const { client, number, clock, signal } = this.#options;
    // No filter by date: it goes by when Twilio asked our webhook, which a number without one may never have.
    let page: MessageList | undefined = await this.#call((inner) => client.list({ to: number, pageSize: PAGE_SIZE }, inner));
    const serverTime = page.serverTime ?? clock.now();
    const found: MessageRecord[] = [];
    let complete = true;
    while (page) {
      signal.throwIfAborted();
      let reached: boolean = page.messages.length > 0;
      for (const message of page.messages) {
        if ((message.at ?? serverTime) >= from) reached = false;
        else continue;
        if (isInbound(message, number)) found.push(message);
      }
      if (found.length > hold) {
        found.splice(0, found.length - hold);
        complete = false;
      }
      // The list is in order, so a page of older ones is the end.
      const next: MessageList['next'] = reached ? undefined : page.next;
      page = next && (await this.#call(next));
    }
    return { found: found.reverse(), serverTime, complete };
  }

  async #handOver(fresh: readonly MessageRecord[], before: ListCursor, end: number | undefined): Promise<HandedOver> {
    const { intake } = this.#options;
    let cursor = before;
    for (let start = 0; start < fresh.length; start += BATCH) {
      const chunk = fresh.slice(start, start + BATCH);
      const batch: InboundMessage[] = [];
      for (const record of chunk) {
        const message = await this.#message(record);
        if (message === 'later') break;
        batch.push(message);
      }
      const held = batch.length < chunk.length;
      const last = !held && start + BATCH >= fresh.length;
      cursor = advance(cursor, (last ? end : undefined) ?? chunk[batch.length - 1]?.at ?? cursor.at);
      if (batch.length > 0) {
        await intake.offer(batch, cursor);
        this.#saved = cursor.at;
      }
      if (held) return { cursor, held };
    }
    if (fresh.length === 0 && end !== undefined) cursor = advance(cursor, end);
    // A cursor that only grew older costs a longer list after a restart, a commit each minute costs more.
    if (cursor.at - this.#saved > OVERLAP_MS / 3) {
      await intake.offer([], cursor);
      this.#saved = cursor.at;
    }
    return { cursor, held: false };
  }

  async #message(record: MessageRecord): Promise<InboundMessage | 'later'> {
    const { client, toInbound } = this.#options;
    if (record.mediaCount === 0) return toInbound(record, []);
    try {
      return toInbound(record, await this.#call((signal) => client.media(record.sid, signal)));
    } catch (error) {
      this.#options.signal.throwIfAborted();
      const failures = 1 + (this.#media?.sid === record.sid ? this.#media.failures : 0);
      this.#media = { sid: record.sid, failures };
      // The message was deleted since. Anything else is tried again with the whole reading: it must not lose
      // its files too easily.
      const gone = apiFailureOf(error)?.status === 404;
      if (!gone && failures < MEDIA_TRIES) throw ofMedia(error);
      this.#options.logger.warn('twilio.files-given-up', { sid: record.sid, failures, detail: errorText(error) });
      return toInbound(record, undefined);
    }
  }

  #call<T>(run: (signal: AbortSignal) => Promise<T>): Promise<T> {
    const { clock, signal } = this.#options;
    return withDeadline({ clock, ms: CALL_TIMEOUT_MS, signal }, run);
  }
}

/** The list was read, so a refusal is about these files and not about the credentials. */
function ofMedia(error: unknown): unknown {
  const { status = 500 } = apiFailureOf(error) ?? {};
  return status < 500 && status !== 429
    ? new Error(`the files of a message cannot be listed (${errorText(error)})`, { cause: error })
    : error;
}

/** False for what we sent to ourselves, and for what still arrives in pieces: the next reading has that. */
function isInbound(message: MessageRecord, number: string): boolean {
  const { direction, to, status, sid } = message;
  return direction === 'inbound' && to === number && status !== 'receiving' && MESSAGE_SID.test(sid);
}
