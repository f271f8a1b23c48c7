/** What delivery is built from. */
import type { Channel } from '../core/channel.ts';
import type { Emit } from '../core/events.ts';
import type { Outbox as OutboxRows } from '../core/outbox.ts';
import type { Clock } from '../core/ports.ts';
import type { AnswerPlaceOptions } from './answer-place.ts';
import type { BlindPolicy } from './outcome.ts';
import type { Reactions } from './signs.ts';

export interface DeliveryOptions {
  readonly journal: OutboxRows;
  /**
   * By instance name; read at each use, so channels may come and go. Parts of an absent one wait until they
   * expire.
   */
  readonly channels: ReadonlyMap<string, Channel>;
  /** Whether a channel can send now; parts wait while it cannot. Default: as soon as it is in the map. */
  readonly ready?: (channel: Channel) => boolean;
  readonly clock: Clock;
  /** 0 <= x < 1; for jitter. */
  readonly random: () => number;
  readonly emit: Emit;
  /** Whether answers are shown while they grow (default: yes), and until then what goes on (default: no). */
  readonly streams?: (channel: string) => boolean;
  readonly statusLine?: (channel: string) => boolean;
  /** Default: what any run says is seen. */
  readonly view?: AnswerPlaceOptions['view'];
  /** Reactions under the messages that are worked on. Default: none. */
  readonly reactions?: Reactions;
  /**
   * What channels of class `blind` do when it cannot be known whether a part arrived. Default at_most_once.
   */
  readonly policy?: { readonly blind: BlindPolicy };
  /** Then DEAD. */
  readonly maxAttempts: number;
  /** Of one wire call. Default 60 000. */
  readonly sendTimeoutMs?: number;
}
