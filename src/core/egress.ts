/** The way of a tool to other machines. There is no second one: a tool opens no connection of its own. */

export interface EgressRequest {
  /** Name of the tool: says which of the operator's lists of domains hold. */
  readonly tool: string;
  /** As the model or a redirect wrote it. It is checked in the form that is connected to. */
  readonly url: string;
  /** Default GET. Only a GET follows redirects, at most five. */
  readonly method?: 'GET' | 'POST';
  /** A redirect to another origin gets none of these but `accept`, `accept-language` and `user-agent`. */
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: string;
  /** Of the answer, unpacked. */
  readonly maxBytes: number;
  /** For the whole of it: names, connections, redirects, the last byte. */
  readonly timeoutMs: number;
}

export interface EgressAnswer {
  readonly kind: 'answer';
  /** Where the answer came from, after redirects. */
  readonly url: string;
  readonly status: number;
  readonly headers: Headers;
  /** Unpacked. */
  readonly bytes: Buffer;
  /** False: there was more than `maxBytes`. */
  readonly isComplete: boolean;
}

/**
 * `refused`: it may not be asked for, now or later. `failed`: it could not be reached or read. The reason is
 * a sentence for the model, without the address that a name leads to.
 */
export type EgressResult = EgressAnswer | { readonly kind: 'refused' | 'failed'; readonly reason: string };

/** Rejects with the reason of the signal, and never otherwise. */
export type Egress = (request: EgressRequest, signal: AbortSignal) => Promise<EgressResult>;

export interface SearchHit {
  readonly title: string;
  readonly url: string;
  readonly snippet: string;
}

/** `source` is the search engine that answered; `failed` says why each of those that were asked did not. */
export type SearchResult =
  | { readonly kind: 'found'; readonly source: string; readonly hits: readonly SearchHit[] }
  | { readonly kind: 'failed'; readonly reason: string };

/** Asks the search engines of the config, in its order, until one answers. Rejects as `Egress` does. */
export type WebSearch = (query: string, count: number, signal: AbortSignal) => Promise<SearchResult>;
