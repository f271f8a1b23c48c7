/** People who asked to be let in. Kept beside the journal, in the same file. */

import type { NewPart } from './outbox.ts';
import type { GroupRef, PersonRef } from './person.ts';

export interface PairingRequest {
  readonly channel: string;
  readonly account: string;
  readonly senderId: string;
  readonly senderName: string;
  readonly state: 'pending' | 'approved' | 'denied';
  readonly createdAt: number;
  readonly expiresAt: number;
  /** The chat they asked in. Absent = a version that did not keep it took the request. */
  readonly chatId?: string;
}

/** Who asks, and where. */
export interface Asking {
  readonly channel: string;
  readonly account: string;
  readonly senderId: string;
  readonly senderName: string;
  readonly chatId: string;
  /** What they wrote: read for a word of `expect`, and kept nowhere. */
  readonly text?: string;
}

/** A word that the owner gives to people who are expected. */
export interface ExpectedWord {
  readonly word: string;
  readonly expiresAt: number;
}

export interface Deciding {
  /** For the record of decisions. Default `cli`. */
  readonly by?: string;
  /** What the person is told, in the same commit. Called inside the transaction: it must be quick. */
  readonly tell?: (request: PairingRequest) => readonly NewPart[];
}

export interface PairingStore {
  /**
   * What the owner decided about a sender; undefined when nothing was decided. Asks for nothing and changes
   * nothing.
   */
  decided(who: { channel: string; account: string; senderId: string }): Promise<'approved' | 'denied' | undefined>;
  /**
   * Whether the owner blocked this person, or the group they write in: then nothing else counts. Changes
   * nothing.
   */
  isBlocked(who: PersonRef & GroupRef): Promise<boolean>;
  /**
   * The state of a sender; asks for a code when there is none or the old one expired. `code` is set only when
   * the sender should be told one now: new, or older than the repeat interval. Each sender has one request,
   * and none takes the place of another's; what bounds them is that at most ten codes a minute are told per
   * channel account: beyond that `full`, without a write. Who writes the word of `expect` has ten codes a
   * minute of their own, which other strangers cannot use up. Codes: 8 characters without look-alikes, 1
   * hour, stored hashed, compared in constant time.
   */
  request(who: Asking, now: number): Promise<{ state: 'approved' | 'denied' | 'pending' | 'full'; code?: string }>;
  /**
   * Lets in who was given this code, or, without a code, who is named: they must have asked, and may have
   * been turned away since. Undefined: no request is meant, or too many wrong codes were tried (10 an hour).
   */
  approve(which: string | PersonRef, now: number, deciding?: Deciding): Promise<PairingRequest | undefined>;
  /** As `approve`, of a request that waits. */
  deny(which: string | PersonRef, now: number, deciding?: Deciding): Promise<PairingRequest | undefined>;
  list(now: number): Promise<readonly PairingRequest[]>;
  /**
   * A new word, which holds for 7 days; the one before it ends. It lets no person in: who writes it, in any
   * case and among other words, is told a code however many strangers ask. Stored hashed.
   */
  expect(now: number): Promise<ExpectedWord>;
  /** Until when the newest word of `expect` holds, epoch ms; undefined where none does. */
  expectsUntil(now: number): Promise<number | undefined>;
}
