/** A question that a tool, or the gateway itself, puts to a model, on the account of a run. */
import type { ThinkingLevel } from './session.ts';

export interface ModelQuestion {
  /** What is to be done: words of the tool and arguments of its call, nothing of the data. */
  readonly task: string;
  /** What it is done with. It is handed over as text of strangers, whose instructions do not count. */
  readonly data: string;
  /** Longest answer, in tokens. */
  readonly maxOutputTokens: number;
  /** Absent = as the model does by itself. */
  readonly temperature?: number;
  /** Default `low`. */
  readonly thinking?: ThinkingLevel;
}

/**
 * `isComplete` is false where the answer reached its length. `spending`: a limit of the operator does not
 * allow the call, and nothing was sent. `failed`: anything else. The reason is for the model that reads the
 * result, without words of the provider.
 */
export type ModelReply =
  | { readonly kind: 'answer'; readonly text: string; readonly isComplete: boolean }
  | { readonly kind: 'spending' | 'failed'; readonly reason: string };

export interface ModelAccess {
  /** Tokens that a question may have together with its answer. */
  window(): Promise<number>;
  /**
   * One call, which is offered no tools and booked on the run and its person. Rejects with the reason of the
   * signal, once the call has ended.
   */
  ask(question: ModelQuestion, signal: AbortSignal): Promise<ModelReply>;
}
