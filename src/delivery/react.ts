import type { Channel } from '../core/channel.ts';
import type { InboundMessage } from '../core/message.ts';
import type { Clock } from '../core/ports.ts';
import { withTimeLimit } from '../lib/with-time-limit.ts';
import type { Budget } from './budget.ts';

/** A turn waits for it, so it is short; the wait for the rate limit is part of it. */
const REACT_MS = 10_000;

export interface ReactOptions {
  /** Undefined: it cannot send now. */
  readonly channel: Channel | undefined;
  readonly budget: Budget;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/**
 * See `Delivery.react`; undefined takes ours away. No row of the outbox: a reaction that is lost costs no
 * person an answer, and the same one again changes nothing.
 */
export async function putReaction(message: InboundMessage, emoji: string | undefined, options: ReactOptions): Promise<void> {
  const { channel, clock, signal } = options;
  if (!channel?.react) throw new Error('the channel is not connected, or has no reactions');
  const waitMs = await untilAllowed(message, channel, options);
  signal.throwIfAborted();
  const { chatId, threadId, replyContext, platformId, targetId } = message;
  const target = {
    chatId,
    ...(threadId === undefined ? {} : { threadId }),
    ...(replyContext && { replyContext }),
    platformId: (message.kind === 'edit' ? targetId : undefined) ?? platformId,
  };
  const call = async (limit: AbortSignal): Promise<{ readonly error?: unknown }> => {
    try {
      await channel.react?.(target, emoji, limit);
      return {};
    } catch (error) {
      return { error };
    }
  };
  const result = await withTimeLimit(call, REACT_MS - waitMs, { clock, signal });
  signal.throwIfAborted();
  if (!result) throw new Error('the platform did not answer in time');
  if (result.error !== undefined) throw result.error;
}

/**
 * Waits for its place in the budget of answers; rejects when that would take too long. Resolves to the ms it
 * took.
 */
async function untilAllowed(message: InboundMessage, channel: Channel, { budget, clock, signal }: ReactOptions): Promise<number> {
  const reservation = budget.reserve(message, channel.limits.rate);
  const waitMs = Math.max(reservation.waitMs, budget.closedFor(message));
  try {
    if (waitMs >= REACT_MS / 2) throw new Error('the rate limit of this chat is needed for answers');
    if (waitMs > 0) await clock.sleep(waitMs, signal);
    return waitMs;
  } catch (error) {
    reservation.release();
    throw error;
  }
}
