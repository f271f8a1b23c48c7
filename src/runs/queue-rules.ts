// what a chat chose by /queue > what its channel has > what the gateway has; over all, while it is slow
import type { Chats } from '../core/chats.ts';
import { chatKey } from '../core/ids.ts';
import type { ChatRef } from '../core/message.ts';
import { type QUEUE_WORDS, type QueueMode, queueModeOf } from '../core/queueing.ts';
import type { Escalation } from './escalation.ts';

/** What the config says for one channel; absent = nothing. */
export interface ConfiguredQueue {
  readonly type?: string | undefined;
  readonly mode?: (typeof QUEUE_WORDS)[number] | undefined;
  readonly debounceMs?: number | undefined;
}

export interface QueueBookOptions {
  readonly journal: { readonly chats: Pick<Chats, 'of'> };
  readonly channel: (name: string) => ConfiguredQueue;
  /** `gateway.queue_mode`. */
  readonly mode: () => (typeof QUEUE_WORDS)[number];
  /**
   * Whether a hook decides on each message before the agent reads it. Then none is told to a turn under way,
   * where no hook could be asked any more.
   */
  readonly asksFirst: () => boolean;
  readonly escalation: Pick<Escalation, 'isActive' | 'leave'>;
}

export interface QueueInForce {
  readonly mode: QueueMode;
  /** Where it comes from, in words. */
  readonly from: string;
  readonly debounceMs: number;
}

const DEFAULT: QueueMode = 'followup';
/** The web page shows answers side by side. */
const OF_TYPE: Readonly<Record<string, QueueMode>> = { api: 'speculative' };

/** Which queue mode holds in a chat. */
export class QueueBook {
  readonly #options: QueueBookOptions;

  constructor(options: QueueBookOptions) {
    this.#options = options;
  }

  /** Rejects as the journal does. */
  async of(chat: ChatRef): Promise<QueueInForce> {
    const { debounceMs = 0 } = this.#options.channel(chat.channel);
    const chosen = this.#possible(await this.#chosen(chat));
    if (!this.#options.escalation.isActive(chat)) return { ...chosen, debounceMs };
    return { mode: 'speculative', from: `while answers are slow here; then ${chosen.mode}, ${chosen.from}`, debounceMs };
  }

  /** What holds where the chat chose nothing. */
  configured({ channel }: Pick<ChatRef, 'channel'>): Pick<QueueInForce, 'mode' | 'from'> {
    const { type = '', mode } = this.#options.channel(channel);
    const ofChannel = mode && queueModeOf(mode);
    if (ofChannel) return { mode: ofChannel, from: 'set for this channel in the config' };
    const ofType = OF_TYPE[type];
    if (ofType) return { mode: ofType, from: 'the default of this channel' };
    const general = queueModeOf(this.#options.mode()) ?? DEFAULT;
    return { mode: general, from: general === DEFAULT ? 'the default' : 'set in the config' };
  }

  /** A person chooses for this chat: what slow answers changed there is over. */
  chosen(chat: ChatRef): void {
    this.#options.escalation.leave(chat);
  }

  #possible({ mode, from }: Pick<QueueInForce, 'mode' | 'from'>): Pick<QueueInForce, 'mode' | 'from'> {
    if (mode !== 'steer' || !this.#options.asksFirst()) return { mode, from };
    return { mode: DEFAULT, from: `while a hook is asked about each message; then ${mode}, ${from}` };
  }

  async #chosen(chat: ChatRef): Promise<Pick<QueueInForce, 'mode' | 'from'>> {
    const queue = (await this.#options.journal.chats.of(chatKey(chat)))?.settings.queue;
    const mode = queue ? queueModeOf(queue) : undefined;
    return mode ? { mode, from: 'chosen here' } : this.configured(chat);
  }
}
