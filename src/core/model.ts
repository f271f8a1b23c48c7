/** The model port. Retry, chain, router, budget and logging wrap it with the same shape. */
import type { ProviderState, SessionMessage, ThinkingLevel, ToolCall } from './session.ts';
import type { Wanted } from './wait.ts';

export interface ToolSpec {
  readonly name: string;
  readonly description: string;
  /** JSON Schema (draft 2020-12) of the arguments object. */
  readonly parameters: Readonly<Record<string, unknown>>;
}

/** What every wire can carry (spec B7). */
export type ImageType = 'image/jpeg' | 'image/png' | 'image/gif' | 'image/webp';

/** A picture for the model to see. */
export interface Image {
  readonly mime: ImageType;
  /** Without a `data:` prefix. */
  readonly base64: string;
}

export interface ModelRequest {
  /** Repaired and trimmed by the agent: at most one system message, first. */
  readonly messages: readonly SessionMessage[];
  readonly tools: readonly ToolSpec[];
  /**
   * Pictures by the id of the user or tool message they belong to. A wire whose model cannot see says so in
   * the text instead.
   */
  readonly images?: ReadonlyMap<string, readonly Image[]>;
  readonly maxOutputTokens?: number;
  readonly temperature?: number;
  /** Default `auto`. Each wire maps it to the nearest level that the model has. */
  readonly thinking?: ThinkingLevel;
  /**
   * Name of the model to ask first, as the config has it; the default ones stand by. Absent, or unknown: the
   * default.
   */
  readonly model?: string;
  /**
   * The caller can wait for days, and makes the call again afterwards: `verdict` is what its last wait came
   * to. Absent: it cannot.
   */
  readonly mayWait?: { readonly verdict?: string };
  /** Facts the demo provider reports and the ledger records; never sent to a provider. */
  readonly context: ModelCallContext;
}

export interface ModelCallContext {
  readonly session: string;
  readonly channel: string;
  /** Who caused the call: `channel:sender`, or a name of ours for calls that no person asked for. */
  readonly sender: string;
  /** `turn`, `job`, `summary`, `embedding`, `transcription`, … */
  readonly purpose: string;
  /** Key of the run of a scheduled job that this call belongs to; `job_usd` limits each such run. */
  readonly job?: string;
  /** Milliseconds between acceptance of the message and this call. */
  readonly queuedMs?: number;
}

export interface Usage {
  /** All of the prompt: what was read from a cache and what was written to one are included. */
  readonly tokensIn: number;
  /** All of the answer: reasoning is included. */
  readonly tokensOut: number;
  /** Of `tokensIn`, read from a cache. */
  readonly tokensCached: number;
  /** Of `tokensIn`, written to a cache. Absent = none. */
  readonly tokensCacheWrite?: number;
  /** Of `tokensOut`, reasoning. Absent = not told. */
  readonly tokensReasoning?: number;
  /** USD; null where the price is unknown, absent where it was not worked out yet. */
  readonly costUsd?: number | null;
}

/** USD per million tokens. */
export interface PriceRates {
  readonly in: number;
  readonly out: number;
  /** Input read from a cache; absent = as `in`. */
  readonly cached?: number;
  /** Input written to a cache; absent = as `in`. */
  readonly cacheWrite?: number;
}

export interface Price extends PriceRates {
  /** Other rates for the whole call when its input is longer than `aboveTokensIn`; ascending. */
  readonly tiers?: readonly (PriceRates & { readonly aboveTokensIn: number })[];
  /** No source states this price: it is an upper bound from models of the same family. */
  readonly guess?: true;
  /** The price from the day `from` on (`YYYY-MM-DD`, UTC), as it was announced. */
  readonly later?: { readonly from: string; readonly price: Price };
}

/** What is known of a model apart from its wire. */
export interface ModelFacts {
  readonly maxOutputTokens: number;
  readonly vision: boolean;
  readonly tools: boolean;
  /** null = unknown, which is never taken for free. A server on this machine is `{in: 0, out: 0}`. */
  readonly price: Price | null;
  /**
   * Levels of thinking the model has, in the provider's own words; `on`: it thinks. Absent = not known, empty
   * = it does not think.
   */
  readonly thinking?: readonly string[];
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
  /** The key is good; a permission, a guardrail or the country is in the way. */
  | 'forbidden'
  /** The provider does not have the model (any more). */
  | 'model-gone'
  | 'context-length'
  | 'content-filter'
  | 'empty'
  | 'malformed'
  /** A limit of ours was reached: nothing was sent. */
  | 'budget'
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
  /** No other model is to be asked in place of this one. */
  readonly final?: true;
  /** What the provider bills for the failed call, where it said so. */
  readonly usage?: Usage;
  /** Of `context-length`: the window that the provider named, or that of a model that stood by. Tokens. */
  readonly contextWindow?: number;
  /** Of `context-length`, where several models stand by for each other: the id of the one that refused. */
  readonly model?: string;
  /** The most output tokens that the provider says it would accept, where the request asked for more. */
  readonly maxOutputTokens?: number;
}

export type ModelEvent =
  | { readonly type: 'text'; readonly text: string }
  | { readonly type: 'reasoning'; readonly text: string }
  /** A wrapper starts over: forget the text of this call so far. */
  | { readonly type: 'restart'; readonly reason: string }
  /** Another model takes over; ids as in `Model.id`. A `restart` follows when text had been streamed. */
  | { readonly type: 'switched'; readonly from: string; readonly to: string; readonly reason: string }
  /**
   * Nothing comes for this long, because of a limit that passes: the person who waits for the answer may be
   * told. `reason`: a `FailureKind`.
   */
  | { readonly type: 'waiting'; readonly reason: string; readonly waitMs: number }
  /** Ends the call: it is to be made again when this wait is over. Only for a request that `mayWait`. */
  | { readonly type: 'wait'; readonly wait: Extract<Wanted, { readonly kind: 'signal' }> }
  | { readonly type: 'done'; readonly answer: ModelAnswer }
  | { readonly type: 'failed'; readonly failure: ModelFailure };

export interface ModelAnswer {
  readonly text: string;
  readonly reasoning?: string;
  readonly toolCalls: readonly ToolCall[];
  readonly stop: StopReason;
  readonly usage: Usage;
  readonly provider: string;
  /** The model that was asked. */
  readonly model: string;
  /**
   * The model that the provider says has answered, where it is another one: it is the one that is paid for.
   */
  readonly servedModel?: string;
  /** To be kept with the answer and sent back with it. */
  readonly providerState?: ProviderState;
}

export interface Model {
  /** `provider/model`, for logs and status. */
  readonly id: string;
  readonly contextWindow: number;
  /** Absent for models that wrap several: each of those has its own. */
  readonly facts?: ModelFacts;
  /** The demo provider: labelled, never on external channels, never counted as usage. */
  readonly demo?: boolean;
  /**
   * One call. Yields any number of events and ends with exactly one `done` or `failed`; never throws. When
   * `signal` aborts it ends promptly with `failed` of kind `aborted`.
   */
  call(request: ModelRequest, signal: AbortSignal): AsyncIterable<ModelEvent>;
}
