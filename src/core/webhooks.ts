/** Where platforms call us: what an adapter is given of a request, and what it answers. */

/** A request of a platform. Nothing about it is verified: that is the adapter's, before it reads the body. */
export interface WebhookRequest {
  /** HEAD comes as GET; the body of the answer is then left out. */
  readonly method: 'GET' | 'POST';
  /**
   * Path and query as received, `/hooks/sms?x=1`: what signatures are made over, behind the public origin.
   */
  readonly target: string;
  readonly query: URLSearchParams;
  /** By lower-case name; of a repeated header the first. */
  readonly headers: Readonly<Record<string, string | undefined>>;
  /** At most `maxBytes`. */
  readonly body: Buffer;
}

export interface WebhookAnswer {
  readonly status: number;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string | Uint8Array;
}

/** Rejecting answers 500. The signal aborts when the caller hung up or the server stops. */
export type WebhookHandler = (request: WebhookRequest, signal: AbortSignal) => Promise<WebhookAnswer>;

export interface Webhooks {
  /**
   * Serves `/hooks/<instance name>` until disposed. One at a time per instance. A larger body is answered
   * with 413 before the handler sees it. Default 1 MB. Rejects with GH1004 when the port is taken.
   */
  serve(handler: WebhookHandler, options?: { readonly maxBytes?: number }): Promise<Webhook>;
}

export interface Webhook extends AsyncDisposable {
  /** `/hooks/<instance name>`. */
  readonly path: string;
  /** `http://127.0.0.1:7781`, for a proxy or tunnel to point at. */
  readonly localOrigin: string;
}
