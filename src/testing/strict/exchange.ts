/** One request to a strict server, and what it answers. */
import type { IncomingMessage } from 'node:http';

export interface TurnUsage {
  /** All of the prompt, what was read from a cache or written to one included. */
  readonly in: number;
  /** All of the answer, reasoning included. */
  readonly out: number;
  readonly cached?: number;
  readonly cacheWrite?: number;
  readonly reasoning?: number;
}

/** What the server answers to one accepted request. */
export interface Turn {
  readonly text?: string;
  readonly reasoning?: string;
  readonly calls?: readonly { readonly name: string; readonly args: object }[];
  /** Default: `tools` with calls, else `end`. */
  readonly stop?: 'end' | 'tools' | 'length' | 'filtered' | 'refusal';
  /** Default: what the server counts (4 characters = 1 token). */
  readonly usage?: TurnUsage;
  /** The headers come this long before anything else, ms. */
  readonly lateMs?: number;
  /**
   * Silence before the first byte of the answer, ms; with `signsOfLife` the wire's own keep-alives are sent
   * meanwhile.
   */
  readonly silentMs?: number;
  readonly signsOfLife?: boolean;
  /** The silence comes after that many events instead of before the first byte. */
  readonly silentAfterEvents?: number;
  /** Ends the connection after that many events. */
  readonly cutAfterEvents?: number;
  /** The answer breaks off with the wire's error event after its text. */
  readonly error?: { readonly status: number; readonly message: string };
  /** The model that the answer names. Default: the one asked for. */
  readonly servedModel?: string;
  /** The wire's own word for how the answer ended, in place of the one that `stop` stands for. */
  readonly finish?: string;
  /** What the provider says the call cost, where its wire reports that. */
  readonly costUsd?: number;
}

export interface Refusal {
  readonly status: number;
  readonly body: unknown;
  readonly headers?: Readonly<Record<string, string>>;
}

export interface StrictRequest {
  readonly method: string;
  /** Without the query. */
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage['headers'];
  /** Parsed JSON; `{}` when there was none. */
  readonly body: Readonly<Record<string, unknown>>;
}

/** The provider's own words for what every provider refuses. */
export interface CommonRefusals {
  /** No key, or a wrong one. */
  key(given: string | undefined): Refusal;
  /** A model that never existed, or is retired. */
  model(model: string, retired: boolean): Refusal;
  /** The prompt and the output that was asked for do not fit the window. Tokens. */
  overflow(size: { readonly prompt: number; readonly output: number; readonly window: number; readonly model: string }): Refusal;
}
