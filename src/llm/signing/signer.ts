/** A request as it is about to leave, for providers whose requests are signed. */
export interface UnsignedRequest {
  readonly method: string;
  readonly url: string;
  /** Ours so far, without `host`. */
  readonly headers: Headers;
  readonly body: string;
  /** Epoch ms. */
  readonly now: number;
  readonly signal: AbortSignal | undefined;
}

/** Headers to add. Rejects with a `WireFault` when there is nothing to sign with; no secret is in its message. */
export type Signer = (request: UnsignedRequest) => Promise<Readonly<Record<string, string>>>;
