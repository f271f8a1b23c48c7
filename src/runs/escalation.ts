// a chat whose answers have become slow -> messages are answered beside each other, two models are asked
import { chatKey, isOverflowLane } from '../core/ids.ts';
import type { AnswerTarget, ChatRef } from '../core/message.ts';
import type { Clock, Logger } from '../core/ports.ts';
import type { RunRow } from '../core/run.ts';
import { Responsiveness } from './responsiveness.ts';

const CHATS_KEPT = 1_000;
/**
 * A chat in which no turn ended for so long is slow no more: no answer there could end it, while each call of
 * every chat would go on being paid for twice.
 */
const QUIET_MS = 30 * 60_000;

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
  readonly clock: Pick<Clock, 'monotonic'>;
  readonly logger: Pick<Logger, 'info'>;
}

const NOTICE =
  '🐢 Answers take much longer than usual here. Until that is over, each message is worked on at once, and not after the one before it.';

interface Observed {
  readonly turns: Responsiveness;
  /** When the last of them ended. Monotonic ms. */
  readonly at: number;
}

/**
 * Lies over what is configured and chosen and changes none of it, so what was in force before holds again
 * when it ends, also by a restart.
 */
export class Escalation {
  readonly #options: EscalationOptions;
  /** By `chatKey`; the one that was used last at the end. */
  readonly #chats = new Map<string, Observed>();
  #hedged: { readonly router: SwitchableRouter; readonly before: SwitchableRouter['mode'] } | undefined;

  constructor(options: EscalationOptions) {
    this.#options = options;
  }

  /** Whether the chat is slow now. Ends that first, with two models at once, in chats that fell silent. */
  isActive(chat: ChatRef): boolean {
    if (!this.#options.isOn()) return false;
    this.#leaveQuiet();
    this.#hedge();
    return this.#chats.get(chatKey(chat))?.turns.isActive ?? false;
  }

  /** A turn ended normally after `ms`. What ran beside another one was slow for a reason of its own. */
  answered(row: RunRow, ms: number): void {
    const { message, lane } = row;
    if (!message) return;
    if (!this.#options.isOn()) {
      this.#leaveAll();
      return;
    }
    this.#leaveQuiet();
    if (isOverflowLane(lane)) {
      // No sample, but an answer: the chat is not silent.
      if (this.#chats.has(chatKey(message))) this.#of(chatKey(message));
      this.#hedge();
      return;
    }
    const turns = this.#of(chatKey(message));
    const change = turns.sample(ms);
    this.#hedge();
    if (!change) return;
    const { baseline, patience } = turns;
    this.#options.logger.info(`responsiveness.${change}`, { session: row.session, ms, baseline, patience });
    if (change === 'activated') this.#options.tell({ ...message, id: `${row.key}#slow` }, NOTICE);
  }

  /** A person chose for this chat. */
  leave(chat: ChatRef): void {
    this.#chats.get(chatKey(chat))?.turns.leave();
    this.#hedge();
  }

  #leaveAll(): void {
    this.#chats.clear();
    this.#hedge();
  }

  #leaveQuiet(): void {
    const { clock, logger } = this.#options;
    for (const [chat, { turns, at }] of this.#chats) {
      if (clock.monotonic() - at < QUIET_MS) return; // so is none of those behind it
      if (!turns.isActive) continue;
      turns.leave();
      logger.info('responsiveness.deactivated', { chat, detail: 'no turn ended there for 30 minutes' });
    }
  }

  #of(key: string): Responsiveness {
    const { turns } = this.#chats.get(key) ?? { turns: new Responsiveness() };
    this.#chats.delete(key);
    this.#chats.set(key, { turns, at: this.#options.clock.monotonic() });
    const [oldest] = this.#chats.keys();
    if (this.#chats.size > CHATS_KEPT && oldest !== undefined) this.#chats.delete(oldest);
    return turns;
  }

  /** Two models at once while any chat is slow; then what the router did before. */
  #hedge(): void {
    const isWanted = [...this.#chats.values()].some(({ turns }) => turns.isActive);
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
