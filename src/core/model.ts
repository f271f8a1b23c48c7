/** The model port. Retry, chain, router, budget and logging wrap it with the same shape. */
import type { SessionMessage, ToolCall } from './session.ts';

export interface ToolSpec {
  readonly name: string;
  readonly description: string;
  /** JSON Schema (draft 2020-12) of the arguments object. */
  readonly parameters: Readonly<Record<string, unknown>>;
}

export interface ModelRequest {
  /** Repaired and trimmed by the agent: at most one system message, first. */
  readonly messages: readonly SessionMessage[];
  readonly tools: readonly ToolSpec[];
  readonly maxOutputTokens?: number;
  readonly temperature?: number;
  /** Facts the demo provider reports and the ledger records; never sent to a provider. */
  readonly context: ModelCallContext;
}

export interface ModelCallContext {
  readonly session: string;
  readonly channel: string;
  readonly purpose: string;
  /** Milliseconds between acceptance of the message and this call. */
  readonly queuedMs?: number;
}

export interface Usage {
  readonly tokensIn: number;
  readonly tokensOut: number;
  readonly tokensCached: number;
}

export type StopReason = 'end' | 'tools' | 'length' | 'filtered';

/** What a caller can do about a failure; the mapping from wires to kinds is each wire's. */
export type FailureKind =
  | 'rate-limit'
  | 'overloaded'
  | 'server'
  | 'network'
  | 'timeout'
  | 'auth'
  | 'payment'
  | 'bad-request'
  | 'context-length'
  | 'content-filter'
  | 'empty'
  | 'malformed'
  | 'aborted';

export interface ModelFailure {
  readonly kind: FailureKind;
  /** GH21xx. */
  readonly code: string;
  /** For the operator's log: no key, no URL with a key. */
  readonly message: string;
  readonly hint: string;
  readonly retryable: boolean;
  readonly retryAfterMs?: number;
  readonly status?: number;
}

export type ModelEvent =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'reasoning'; readonly text: string }
  /** A wrapper starts over: forget the text of this call so far. */
  | { readonly type: 'restart'; readonly reason: string }
  | { readonly type: 'done'; readonly answer: ModelAnswer }
  | { readonly type: 'failed'; readonly failure: ModelFailure };

export interface ModelAnswer {
  readonly text: string;
  readonly reasoning?: string;
  readonly toolCalls: readonly ToolCall[];
  readonly stop: StopReason;
  readonly usage: Usage;
  readonly provider: string;
  readonly model: string;
}

export interface Model {
  /** `provider/model`, for logs and status. */
  readonly id: string;
  readonly contextWindow: number;
  /** The demo provider: labelled, never on external channels, never counted as usage. */
  readonly demo?: boolean;
  /**
   * One call. Yields any number of events and ends with exactly one `done` or `failed`; never throws. When `signal` aborts it
   * ends promptly with `failed` of kind `aborted`.
   */
  call(request: ModelRequest, signal: AbortSignal): AsyncIterable<ModelEvent>;
}
