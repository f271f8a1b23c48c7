// a chat whose answers have become slow -> messages are answered beside each other, two models are asked
import { chatKey, isOverflowLane } from '../core/ids.ts';
import type { AnswerTarget, ChatRef } from '../core/message.ts';
import type { Logger } from '../core/ports.ts';
import type { RunRow } from '../core/run.ts';
import { Responsiveness } from './responsiveness.ts';

const CHATS_KEPT = 1_000;

/** What a router over several models can be switched to. */
export interface SwitchableRouter {
  mode: 'off' | 'lane' | 'hedge';
}

export interface EscalationOptions {
  /** `gateway.auto_escalation`; asked at each use. */
  readonly isOn: () => boolean;
  /** Absent: the models are no router's. */
  readonly router: () => SwitchableRouter | undefined;
  /** Says it in the chat, once for each time. Never rejects. */
  readonly tell: (target: AnswerTarget, text: string) => void;
  readonly logger: Pick<Logger, 'info'>;
}

const NOTICE =
  '🐢 Answers take much longer than usual here. Until that is over, each message is worked on at once, and not after the one before it.';

/**
 * Lies over what is configured and chosen and changes none of it, so what was in force before holds again
 * when it ends, also by a restart.
 */
export class Escalation {
  readonly #options: EscalationOptions;
  /** By `chatKey`; the one that was used last at the end. */
  readonly #chats = new Map<string, Responsiveness>();
  #hedged: { readonly router: SwitchableRouter; readonly before: SwitchableRouter['mode'] } | undefined;

  constructor(options: EscalationOptions) {
    this.#options = options;
  }

  isActive(chat: ChatRef): boolean {
    return this.#options.isOn() && (this.#chats.get(chatKey(chat))?.isActive ?? false);
  }

  /** A turn ended normally after `ms`. What ran beside another one was slow for a reason of its own. */
  answered(row: RunRow, ms: number): void {
    const { message, lane } = row;
    if (!message || isOverflowLane(lane)) return;
    if (!this.#options.isOn()) {
      this.#leaveAll();
      return;
    }
    const observed = this.#of(chatKey(message));
    const change = observed.sample(ms);
    if (!change) return;
    this.#hedge();
    const { baseline, patience } = observed;
    this.#options.logger.info(`responsiveness.${change}`, { session: row.session, ms, baseline, patience });
    if (change === 'activated') this.#options.tell({ ...message, id: `${row.key}#slow` }, NOTICE);
  }

  /** A person chose for this chat. */
  leave(chat: ChatRef): void {
    this.#chats.get(chatKey(chat))?.leave();
    this.#hedge();
  }

  #leaveAll(): void {
    this.#chats.clear();
    this.#hedge();
  }

  #of(key: string): Responsiveness {
    const known = this.#chats.get(key) ?? new Responsiveness();
    this.#chats.delete(key);
    this.#chats.set(key, known);
    const [oldest] = this.#chats.keys();
    if (this.#chats.size > CHATS_KEPT && oldest !== undefined) this.#chats.delete(oldest);
    return known;
  }

  /** Two models at once while any chat is slow; then what the router did before. */
  #hedge(): void {
    const isWanted = [...this.#chats.values()].some(({ isActive }) => isActive);
    const router = this.#options.router();
    if (isWanted && router && this.#hedged?.router !== router) {
      this.#hedged = { router, before: router.mode };
      router.mode = 'hedge';
    }
    if (isWanted || !this.#hedged) return;
    // Unless it was told something else meanwhile.
    if (this.#hedged.router.mode === 'hedge') this.#hedged.router.mode = this.#hedged.before;
    this.#hedged = undefined;
  }
}
