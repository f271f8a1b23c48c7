/**
 * Messages and parts that were given up, kept whole until the operator decides about them, and parts that
 * expired, kept for days.
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
  /** The whole payload as it is stored. Only `show` prints it. */
  readonly payload: Json;
}

export interface DeadLetters {
  list(): Promise<readonly DeadLetter[]>;
  show(id: string): Promise<DeadLetter | undefined>;
  /**
   * Makes it NEW or PENDING again, with no attempts counted and a new expiry. `false` = there is no such dead
   * letter.
   */
  replay(id: string): Promise<boolean>;
  drop(id: string): Promise<boolean>;
}
