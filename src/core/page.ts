/** What a page of HTML says, read where a hostile one harms nothing. */

export interface PageRequest {
  readonly html: string;
  /** Where it came from: links in it are shown as whole addresses. */
  readonly url: string;
  readonly mode: 'text' | 'markdown';
  readonly maxChars: number;
  readonly callId: string;
  /** Default: 15 s, which is the most. */
  readonly timeoutMs?: number;
}

/** `isComplete` is false where the page says more. The reason is a sentence for the model. */
export type PageText =
  | { readonly kind: 'read'; readonly title: string; readonly text: string; readonly isComplete: boolean }
  | { readonly kind: 'failed'; readonly reason: string };

/** Rejects as `Spawner.run` does. */
export type ReadPage = (request: PageRequest, signal: AbortSignal) => Promise<PageText>;
