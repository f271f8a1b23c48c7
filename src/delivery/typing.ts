import type { Channel } from '../core/channel.ts';
import type { ChatRef } from '../core/message.ts';
import type { Clock } from '../core/ports.ts';
import { NO_LONGER_NEEDED } from '../lib/no-longer-needed.ts';
import type { Budget, Place } from './budget.ts';

/**
 * An answer that comes sooner needs no indicator, which costs a call of its own and a place in the platform's
 * rate limits.
 */
const FIRST_MS = 300;
/** Platforms drop the indicator after 5 to 10 s (spec D3). */
const REPEAT_MS = 5_000;
/** A backstop, should nobody dispose of it. */
const LONGEST_MS = 600_000;

export interface TypingOptions {
  readonly channels: ReadonlyMap<string, Channel>;
  readonly budget: Budget;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/**
 * Shows typing after 300 ms and then every 5 s until disposed or 10 minutes passed. Skips a beat when the
 * chat's budget is needed for answers.
 */
export function showTyping(ref: Place, options: TypingOptions): Disposable & { readonly done: Promise<void> } {
  const stop = new AbortController();
  const signal = AbortSignal.any([stop.signal, options.signal]);
  return { done: beat(ref, options, signal), [Symbol.dispose]: () => stop.abort(NO_LONGER_NEEDED) };
}

async function beat(ref: Place, { channels, budget, clock }: TypingOptions, signal: AbortSignal): Promise<void> {
  const end = clock.monotonic() + LONGEST_MS;
  for (let waitMs = FIRST_MS; ; waitMs = REPEAT_MS) {
    try {
      await clock.sleep(waitMs, signal);
    } catch {
      return; // the sleep ends early only because the signal aborted
    }
    if (clock.monotonic() >= end) return;
    const channel = channels.get(ref.channel);
    // Not awaited: a hanging call must not hold up the next beat, and its failure is nobody's concern.
    if (channel?.typing && budget.plentiful(ref, channel.limits.rate)) {
      const chat = { chatId: ref.chatId, ...(ref.threadId !== undefined && { threadId: ref.threadId }) };
      void show(channel, chat, signal);
    }
  }
}

async function show(channel: Channel, chat: Pick<ChatRef, 'chatId' | 'threadId'>, signal: AbortSignal): Promise<void> {
  try {
    await channel.typing?.(chat, signal);
  } catch {
    return; // an indicator that fails is not shown
  }
}
