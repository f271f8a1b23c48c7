/**
 * Messages and parts that were given up, and parts that expired, kept whole until the operator decides or, if
 * expired, for days.
 */
import type { Json } from './message.ts';

export interface DeadLetter {
  /** `in-<seq>` or `out-<seq>`. */
  readonly id: string;
  readonly at: number;
  readonly channel: string;
  readonly chatId: string;
  readonly sender: string;
  readonly reason: string;
  readonly attempts: number;
  /** Whole payload as stored; only `show` prints it. */
  readonly payload: Json;
}

export interface DeadLetters {
  list(): Promise<readonly DeadLetter[]>;
  show(id: string): Promise<DeadLetter | undefined>;
  /** Back to NEW or PENDING with attempts 0 and a fresh expiry. `false` = no such dead letter. */
  replay(id: string): Promise<boolean>;
  drop(id: string): Promise<boolean>;
}
