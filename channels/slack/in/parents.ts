/** The first message of a thread, for those who call the agent into it: events carry the reply alone. */
import type { InboundMessage, QuotedMessage } from '../../../src/core/message.ts';
import type { Clock, Logger } from '../../../src/core/ports.ts';
import { writtenBy } from '../../../src/lib/marks.ts';
import { oneLine } from '../../../src/lib/one-line.ts';
import { apiFailureOf, CallError } from '../../kit/call-error.ts';
import { withDeadline } from '../../kit/deadline.ts';
import { type JsonObject, list, obj, str } from '../../kit/json.ts';
import { RecentMap, RecentSet } from '../../kit/recent.ts';
import type { SlackClient } from '../wire/client.ts';
import type { Colleagues } from './colleagues.ts';
import type { InboundContext } from './inbound-fields.ts';
import { isPaneRoot, quotedParent } from './inbound-quoted.ts';
import type { UserNames } from './names.ts';

export interface ParentsOptions {
  readonly client: Pick<SlackClient, 'call'>;
  readonly names: Pick<UserNames, 'nameOf'>;
  readonly colleagues: Pick<Colleagues, 'among'>;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly context: () => InboundContext;
  /** True for a thread that we wrote in, beyond the message that it began with. */
  readonly answered: (chatId: string, threadId: string) => boolean;
}

/** The platform wants its acknowledgement within three seconds, and the commit comes after this. */
const LOOKUP_MS = 1_200;
/** The list of threads shows about as much of a title. Ours; the platform states no limit. */
const TITLE_CHARS = 60;
/** Calls into threads, by thread and person. */
const MAX_KNOWN = 1_000;
/** First messages that are kept for the next person who calls. */
const MAX_KEPT = 100;

/**
 * Asks with `conversations.replies` (https://docs.slack.dev/reference/methods/conversations.replies): the
 * parent comes first, so one message of one page is enough, also for apps whose pages hold 15 and who may ask
 * once a minute. Once a thread; one that the agent wrote in is in its session already. Each person who calls
 * gets it once: whether those before may write to the agent is not known here. The bare name gets it always.
 */
export class ThreadParents {
  readonly #options: ParentsOptions;
  readonly #known = new RecentSet(MAX_KNOWN);
  readonly #kept = new RecentMap<JsonObject>(MAX_KEPT);
  /** Monotonic ms until which the platform wants no further question. */
  #silentUntil = 0;

  constructor(options: ParentsOptions) {
    this.#options = options;
  }

  /**
   * The messages, and with those that call the agent into a thread the message that the thread began with.
   * One that cannot be had is noted in its place. Rejects with `signal.reason` alone.
   */
  async quoted(messages: readonly InboundMessage[], signal: AbortSignal): Promise<readonly InboundMessage[]> {
    return await Promise.all(messages.map((message) => this.#withParent(message, signal)));
  }

  /** The message was edited or deleted: it is asked for anew. */
  forget(platformId: string): void {
    this.#kept.delete(platformId);
  }

  async #withParent(message: InboundMessage, signal: AbortSignal): Promise<InboundMessage> {
    const { chatId, threadId } = message;
    if (threadId === undefined || message.refusal !== undefined || message.kind !== 'message') return message;
    const isCall = !message.isGroup || message.mentionsBot || (message.replyTo?.fromBot ?? false);
    const call = `${chatId}:${threadId} ${message.senderId}`;
    // The bare name says nothing but "this".
    const isBare = message.text === '' && message.media.length === 0;
    if (!isCall || (!isBare && this.#known.has(call))) return message;
    this.#known.add(call);
    if (message.startsThread || (!isBare && this.#options.answered(chatId, threadId))) return message;
    const parent = await this.#fetch(message, threadId, signal);
    return parent === 'pane' ? withTitle(message) : { ...message, replyTo: parent };
  }

  /** `pane`: the platform began the thread, and a person says the first words in it. */
  async #fetch(call: InboundMessage, threadId: string, signal: AbortSignal): Promise<QuotedMessage | 'pane'> {
    const { clock, logger, context, names, colleagues } = this.#options;
    const platformId = `${call.chatId}:${threadId}`;
    const kept = this.#kept.get(platformId);
    const missing = (reason: string): QuotedMessage => {
      logger.info('slack.thread-start-missing', { reason });
      const origin = `the first message of this thread, which could not be fetched: ${reason}`;
      return { platformId, fromBot: call.replyTo?.fromBot ?? false, origin };
    };
    if (!kept && clock.monotonic() < this.#silentUntil) return missing('too many requests');
    try {
      return await withDeadline({ clock, ms: LOOKUP_MS, signal }, async (inner) => {
        const parent = kept ?? (await this.#ask(call.chatId, threadId, inner));
        if (!parent) return missing('it is not there');
        this.#kept.set(platformId, parent);
        if (isPaneRoot(parent)) return 'pane';
        const sisterOf = await colleagues.among([parent], inner);
        const quoted = quotedParent(parent, platformId, { ...context(), sisterTeam: sisterOf(parent) });
        if (quoted.fromBot || quoted.senderId === undefined || quoted.senderId === call.senderId) return quoted;
        return { ...quoted, origin: writtenBy(await names.nameOf(quoted.senderId, inner)) };
      });
    } catch (error) {
      signal.throwIfAborted();
      if (error instanceof CallError && error.failure.kind === 'limited') {
        this.#silentUntil = clock.monotonic() + error.failure.retryAfterMs;
        return missing('too many requests');
      }
      return missing(String(apiFailureOf(error)?.code ?? 'no answer'));
    }
  }

  async #ask(channel: string, ts: string, signal: AbortSignal): Promise<JsonObject | undefined> {
    const answer = await this.#options.client.call('conversations.replies', { channel, ts, limit: 1 }, signal);
    return list(answer['messages'])
      .map(obj)
      .find((message) => str(message['ts']) === ts);
  }
}

/**
 * The first words of a thread in the AI pane name it once it is answered; a stranger's are not kept, a
 * command is no name.
 */
function withTitle(message: InboundMessage): InboundMessage {
  const title = oneLine(message.text, TITLE_CHARS);
  return title === '' || title.startsWith('/') ? message : { ...message, replyContext: { ...message.replyContext, title } };
}
