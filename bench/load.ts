/** What the benchmark asks of the process that plays the people and the platform. */
export interface Load {
  /**
   * `burst`: all messages are there at once. `one-by-one`: the next comes when the last was answered.
   * `steady`: by the clock.
   */
  readonly shape: 'burst' | 'one-by-one' | 'steady';
  /** Of `steady`. */
  readonly perSecond?: number;
  readonly messages: number;
  /** Messages go round these many private chats. */
  readonly chats: number;
  /** Id of the first; loads with different ids meet sessions without history. */
  readonly firstChat: number;
  readonly timeoutMs: number;
}

export interface LoadResult {
  /** From the first message being there to the last answer having arrived. ms. */
  readonly elapsedMs: number;
  /** Of each message: from being there to its answer having arrived. ms. */
  readonly latenciesMs: readonly number[];
}

export type LoadAnswer = LoadResult | { readonly error: string };

/** Calls that came during the load, and what else the result must be judged by. */
export function isFailure(answer: LoadAnswer): answer is { readonly error: string } {
  return 'error' in answer;
}
