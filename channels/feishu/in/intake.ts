/** Events from either side -> `host.receive`, one after another, in the order in which they came. */
import type { ChannelHealth } from '../../../src/core/channel.ts';
import { errorText } from '../../../src/core/errors.ts';
import type { InboundMessage } from '../../../src/core/message.ts';
import type { ReceivingContext } from '../../kit/context.ts';
import { InboundLine } from '../../kit/inbound-line.ts';
import { type StoringOptions, storeMessages } from '../../kit/store-messages.ts';
import type { Conversation } from './forwarded.ts';
import {
  conversationOf,
  type FeishuEvent,
  type InboundContext,
  type KnownMessage,
  readEvent,
  subjectOf,
  toInbound,
  unreadable,
} from './inbound.ts';
import type { KnownMessages } from './known-messages.ts';

export interface IntakeOptions extends Omit<ReceivingContext, 'signal'> {
  readonly known: KnownMessages;
  readonly context: InboundContext;
  readonly health: (state: ChannelHealth, detail?: string) => void;
}

/** Beyond it the platform keeps them: what is not acknowledged comes again. */
const MAX_WAITING = 500;

export class EventIntake {
  readonly #options: IntakeOptions;
  readonly #line = new InboundLine(MAX_WAITING);

  constructor(options: IntakeOptions) {
    this.#options = options;
  }

  /**
   * Resolves once the event is committed, or is none for us: only then may it be acknowledged. Rejects when
   * it must come again, and with the reason of a signal that aborted, whether or not the commit went through.
   */
  async take(payload: unknown, signal: AbortSignal): Promise<void> {
    const taken = this.#line.push(() => this.#handle(payload, signal));
    if (!taken) throw new Error('too many events are waiting');
    await taken;
  }

  /** Resolves when nothing waits any more. */
  idle(): Promise<void> {
    return this.#line.idle();
  }

  async #handle(payload: unknown, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    const message = await this.#read(payload, signal);
    if (!message) return;
    const { known, health } = this.#options;
    const onTrouble: StoringOptions['onTrouble'] = (detail, state) => health(state, detail);
    await storeMessages([message], undefined, { ...this.#options, signal, onTrouble });
    known.received(message);
    health('healthy');
  }

  async #read(payload: unknown, signal: AbortSignal): Promise<InboundMessage | undefined> {
    const { context, clock, logger } = this.#options;
    let event: FeishuEvent | undefined;
    try {
      event = readEvent(payload);
      if (event.appId !== '' && event.appId !== context.account) throw new Error('the event is for another app');
      const message = toInbound(event, context, ...(await this.#asked(event, signal)));
      if (!message) logger.debug('feishu.event-ignored', { type: event.type });
      return message;
    } catch (error) {
      signal.throwIfAborted();
      // One event that cannot be read must not come again and again.
      logger.error('feishu.event-unreadable', { ...(event && { type: event.type }), error: errorText(error) });
      return unreadable(payload, context, clock.now());
    }
  }

  /** What the event does not tell. Both at once: little time is left for its acknowledgement. */
  #asked(event: FeishuEvent, signal: AbortSignal): Promise<[KnownMessage | undefined, Conversation | undefined]> {
    const { known } = this.#options;
    const [subject, conversation] = [subjectOf(event), conversationOf(event)];
    return Promise.all([
      subject === undefined ? undefined : known.find(subject, signal),
      conversation === undefined ? undefined : known.conversation(conversation, signal),
    ]);
  }
}
