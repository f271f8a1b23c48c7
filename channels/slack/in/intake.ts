import { errorText } from '../../../src/core/errors.ts';
import type { InboundMessage } from '../../../src/core/message.ts';
import { InboundLine } from '../../kit/inbound-line.ts';
import { obj, str } from '../../kit/json.ts';
import { RecentSet } from '../../kit/recent.ts';
import { type StoringOptions, storeMessages } from '../../kit/store-messages.ts';
import type { BotTurns } from './bots.ts';
import type { Cursor } from './cursor.ts';
import { hasReplyOf, toInbound, unreadable } from './inbound.ts';
import { type InboundContext, TS } from './inbound-fields.ts';
import type { UserNames } from './names.ts';
import type { Notices } from './notices.ts';
import type { ThreadParents } from './parents.ts';
import type { SlackPayload } from './payload.ts';

export interface IntakeItem {
  readonly payload: SlackPayload;
  /** Called once, after the commit, unless the channel stops first. If it fails, the payload comes again. */
  ack(): Promise<void>;
}

export interface IntakeOptions extends StoringOptions {
  readonly cursor: Cursor;
  readonly context: () => InboundContext;
  readonly names: Pick<UserNames, 'named'>;
  readonly parents: Pick<ThreadParents, 'quoted' | 'forget'>;
  readonly notices: Pick<Notices, 'take'>;
  readonly bots: Pick<BotTurns, 'judge'>;
  /** Told the platformId of each message that was edited. */
  readonly onEdit: (targetId: string) => void;
}

/** A payload and all that waits for its commit: it may be delivered again while the first delivery waits. */
interface Waiting {
  readonly payload: SlackPayload;
  readonly key: string | undefined;
  readonly acks: (() => Promise<void>)[];
}

/** Most payloads in memory; more are left with the platform, which repeats what is not acknowledged. */
const MAX_WAITING = 1_000;
const MAX_BATCH = 100;
/** How many messages a catch-up need not offer again. */
const MAX_RECENT = 5_000;

export class Intake {
  readonly #options: IntakeOptions;
  #waiting: Waiting[] = [];
  /** By the platform's id of the payload, until it is committed. */
  readonly #pending = new Map<string, Waiting>();
  #wake = Promise.withResolvers<void>();
  /** Ids accepted lately: the journal does not remember a message it refused, and would count it again. */
  readonly #recent = new RecentSet(MAX_RECENT);
  /**
   * Payloads that are stored, by the platform's id. One comes again when its acknowledgement was lost with
   * the socket. If it were queued once more, a thousand of them would fill the line at each new socket, and
   * it would be left again and again.
   */
  readonly #stored = new RecentSet(MAX_RECENT);
  /** Live messages wait for it: what was missed before comes first. */
  #gate: Promise<void> = Promise.resolve();
  /** One batch at a time, live or caught up. */
  readonly #line = new InboundLine();

  constructor(options: IntakeOptions) {
    this.#options = options;
    options.signal.addEventListener('abort', () => this.#wake.resolve(), { once: true });
  }

  /** False when there are too many: the caller must not acknowledge. */
  push(item: IntakeItem): boolean {
    const { payload, ack } = item;
    const key = payload.kind === 'event' ? str(payload.body['event_id']) : str(payload.body['trigger_id']);
    if (key !== undefined && this.#stored.has(key)) {
      void this.#confirm(ack);
      return true;
    }
    const pending = key === undefined ? undefined : this.#pending.get(key);
    if (pending) {
      pending.acks.push(ack);
      return pending.acks.length < MAX_WAITING;
    }
    if (this.#waiting.length >= MAX_WAITING) return false;
    const waiting = { payload, key, acks: [ack] };
    this.#waiting.push(waiting);
    if (key !== undefined) this.#pending.set(key, waiting);
    this.#wake.resolve();
    return true;
  }

  /** Holds live messages back until `gate` settles. */
  holdUntil(gate: Promise<void>): void {
    this.#gate = gate;
  }

  /**
   * Runs until the signal aborts, after the batch that the host works on is acknowledged. Rejects only on a
   * defect.
   */
  async run(): Promise<void> {
    const { signal } = this.#options;
    while (!signal.aborted) {
      await this.#wake.promise;
      await this.#gate;
      this.#wake = Promise.withResolvers();
      const items = this.#waiting.splice(0, MAX_BATCH);
      if (this.#waiting.length > 0 || signal.aborted) this.#wake.resolve();
      if (items.length === 0) continue;
      try {
        await this.#line.run(() => this.#commitLive(items));
      } catch (error) {
        if (!signal.aborted) throw error;
        return;
      }
      for (const item of items) await this.#acknowledge(item);
    }
  }

  /** Commits fetched messages but for those accepted lately. The cursor stays. Rejects as the signal does. */
  async commitFetched(messages: readonly InboundMessage[]): Promise<void> {
    await this.#line.run(async () => {
      const news = messages.filter((message) => !this.#recent.has(message.id));
      for (let from = 0; from < news.length; from += MAX_BATCH) {
        await this.#offer(news.slice(from, from + MAX_BATCH), undefined);
      }
    });
  }

  /** Commits the cursor alone. Rejects with `signal.reason`. */
  async commitCursor(cursor: () => string): Promise<void> {
    await this.#line.run(() => this.#offer([], cursor()));
  }

  async #commitLive(items: readonly Waiting[]): Promise<void> {
    const read = items.flatMap(({ payload }) => this.#read(payload) ?? []);
    const messages = [...new Map(read.map((message) => [message.id, message])).values()].filter(
      ({ id }) => !this.#recent.has(id),
    );
    if (messages.length === 0) return;
    const latest = Math.max(...messages.map((message) => (message.kind === 'message' ? message.timestamp : 0)));
    await this.#offer(messages, this.#options.cursor.after(latest / 1_000));
  }

  #read(payload: SlackPayload): InboundMessage | undefined {
    const { logger, cursor } = this.#options;
    const context = this.#options.context();
    try {
      this.#learnThread(payload, context);
      const message = toInbound(payload, context);
      if (message) cursor.learn(message);
      else this.#options.notices.take(payload, context);
      return message;
    } catch (error) {
      // One payload that cannot be read must not stop those behind it.
      logger.error('slack.payload-unreadable', { kind: payload.kind, error: errorText(error) });
      return unreadable(payload, context);
    }
  }

  /** The message that began a thread tells who wrote in it, whenever a reply was counted. */
  #learnThread({ kind, body }: SlackPayload, { me }: InboundContext): void {
    if (kind !== 'event') return;
    const event = obj(body['event']);
    const [chatId, first] = [str(event['channel']), obj(event['message'] ?? event['root'] ?? event)];
    const threadId = str(first['thread_ts']) ?? str(first['ts']);
    if (chatId === undefined || threadId === undefined || !TS.test(threadId)) return;
    if (hasReplyOf(first, me.userId)) this.#options.cursor.hint(chatId, threadId);
  }

  async #offer(batch: readonly InboundMessage[], cursor: string | undefined): Promise<void> {
    const { names, parents, signal, bots } = this.#options;
    for (const { kind, targetId } of batch) {
      if (targetId === undefined || (kind !== 'edit' && kind !== 'delete')) continue;
      parents.forget(targetId);
      if (kind === 'edit') this.#options.onEdit(targetId);
    }
    const judged = batch.map((message) => bots.judge(message));
    const [named, quoted] = await Promise.all([names.named(judged, signal), parents.quoted(judged, signal)]);
    const whole = named.map((message, n) => ({ ...message, ...asQuoted(quoted[n]) }));
    await storeMessages(whole, cursor, this.#options);
    for (const { id } of batch) this.#recent.add(id);
  }

  async #acknowledge({ key, acks }: Waiting): Promise<void> {
    if (key !== undefined) {
      this.#pending.delete(key);
      this.#stored.add(key);
    }
    for (const ack of acks) await this.#confirm(ack);
  }

  /** Never rejects: what is not acknowledged comes again. */
  async #confirm(ack: () => Promise<void>): Promise<void> {
    try {
      await ack();
    } catch (error) {
      this.#options.logger.info('slack.ack-failed', { error: errorText(error) });
    }
  }
}

/** What the first message of its thread adds to a message. */
function asQuoted(quoted: InboundMessage | undefined): Pick<InboundMessage, 'replyTo' | 'replyContext'> {
  return {
    ...(quoted?.replyTo && { replyTo: quoted.replyTo }),
    ...(quoted?.replyContext && { replyContext: quoted.replyContext }),
  };
}
