import type { Channel } from '../core/channel.ts';
import type { ChatRef } from '../core/message.ts';
import type { Clock } from '../core/ports.ts';
import { linkedSignal } from '../lib/linked-signal.ts';
import { NO_LONGER_NEEDED } from '../lib/no-longer-needed.ts';
import { startTimer } from '../lib/timer.ts';
import type { Budget, Place } from './budget.ts';

/**
 * An answer that comes sooner needs no indicator, which costs a call of its own and a place in the platform's
 * rate limits.
 */
const FIRST_MS = 300;
/** Platforms drop the indicator after 5 to 10 s (spec D3). */
const REPEAT_MS = 5_000;
/** A backstop, should it never be disposed of. */
const LONGEST_MS = 600_000;

export interface TypingOptions {
  readonly channels: ReadonlyMap<string, Channel>;
  readonly budget: Budget;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/**
 * Shows typing after 300 ms and then every 5 s until disposed, delivery ends or 10 minutes passed. Skips a
 * beat when the chat's budget is needed for answers.
 */
export class Typing implements Disposable {
  readonly #ref: Place;
  readonly #options: TypingOptions;
  readonly #end: number;
  #stopTimer: () => void;
  /** Of calls; there is none before the first. */
  #calling: ReturnType<typeof linkedSignal> | undefined;
  readonly #onStop = (): void => this.#stopTimer();

  constructor(ref: Place, options: TypingOptions) {
    const { clock, signal } = options;
    this.#ref = ref;
    this.#options = options;
    this.#end = clock.monotonic() + LONGEST_MS;
    this.#stopTimer = startTimer(clock, FIRST_MS, () => this.#beat());
    signal.addEventListener('abort', this.#onStop, { once: true });
    if (signal.aborted) this.#stopTimer();
  }

  [Symbol.dispose](): void {
    this.#stopTimer();
    this.#options.signal.removeEventListener('abort', this.#onStop);
    this.#calling?.abort(NO_LONGER_NEEDED);
    this.#calling?.[Symbol.dispose]();
  }

  #beat(): void {
    const { channels, budget, clock, signal } = this.#options;
    if (clock.monotonic() >= this.#end) return;
    this.#stopTimer = startTimer(clock, REPEAT_MS, () => this.#beat());
    const channel = channels.get(this.#ref.channel);
    if (!channel?.typing || !budget.plentiful(this.#ref, channel.limits.rate)) return;
    const { chatId, threadId } = this.#ref;
    this.#calling ??= linkedSignal(signal);
    // Not awaited: a hanging call must not hold up the next beat, and its failure changes nothing.
    void show(channel, { chatId, ...(threadId !== undefined && { threadId }) }, this.#calling.signal);
  }
}

async function show(channel: Channel, chat: Pick<ChatRef, 'chatId' | 'threadId'>, signal: AbortSignal): Promise<void> {
  try {
    await channel.typing?.(chat, signal);
  } catch {
    return; // an indicator that fails is not shown
  }
}
