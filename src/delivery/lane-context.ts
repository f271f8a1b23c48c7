import type { Channel } from '../core/channel.ts';
import type { Emit } from '../core/events.ts';
import type { Outbox } from '../core/outbox.ts';
import type { Clock } from '../core/ports.ts';
import type { Budget } from './budget.ts';
import type { Drafts } from './drafts.ts';
import type { Outages } from './outages.ts';
import type { BlindPolicy } from './outcome.ts';
import type { RowTimes } from './row-times.ts';
import type { Slots } from './slots.ts';

/** What all lanes share. */
export interface LaneContext {
  readonly journal: Outbox;
  readonly channels: ReadonlyMap<string, Channel>;
  readonly ready: (channel: Channel) => boolean;
  /** There is something new in another lane. */
  readonly poke: (lane: string) => void;
  readonly clock: Clock;
  readonly random: () => number;
  readonly emit: Emit;
  readonly budget: Budget;
  readonly slots: Slots;
  readonly drafts: Drafts;
  /** Of the rows of all lanes, so that a lane that parks and begins again keeps them. */
  readonly times: RowTimes;
  readonly outages: Outages;
  readonly blind: BlindPolicy;
  readonly maxAttempts: number;
  readonly sendTimeoutMs: number;
  /** No new send begins after this. */
  readonly stop: AbortSignal;
  /** What is under way ends now. */
  readonly kill: AbortSignal;
  /** Set by `drain`: a lane that would wait past this monotonic time ends instead. */
  readonly deadline: () => number;
}
