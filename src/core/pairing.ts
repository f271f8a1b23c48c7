/** People who asked to be let in. Kept beside the journal, in the same file. */

export interface PairingRequest {
  readonly channel: string;
  readonly account: string;
  readonly senderId: string;
  readonly senderName: string;
  readonly state: 'pending' | 'approved' | 'denied';
  readonly createdAt: number;
  readonly expiresAt: number;
}

export interface PairingStore {
  /**
   * What the owner decided about a sender; undefined when nothing was decided. Asks for nothing and changes
   * nothing.
   */
  decided(who: { channel: string; account: string; senderId: string }): Promise<'approved' | 'denied' | undefined>;
  /**
   * The state of a sender; asks for a code when there is none or the old one expired. `code` is set only when
   * the sender should be told one now: new, or older than the repeat interval. At most `maxPending` (3)
   * requests per channel account wait; beyond that `full`. Codes: 8 characters without look-alikes, 1 hour,
   * stored hashed, compared in constant time.
   */
  request(
    who: { channel: string; account: string; senderId: string; senderName: string },
    now: number,
  ): Promise<{ state: 'approved' | 'denied' | 'pending' | 'full'; code?: string }>;
  /** Undefined: no pending request has that code, or too many wrong codes were tried (10 an hour). */
  approve(code: string, now: number): Promise<PairingRequest | undefined>;
  deny(code: string, now: number): Promise<PairingRequest | undefined>;
  list(now: number): Promise<readonly PairingRequest[]>;
}
