import { errorCodeOf, notConnected } from './http-agent.ts';

/** A platform's own number or word for an error. */
export type ErrorCode = string | number;

/** The platform answered with an error. */
export interface ApiFailure {
  readonly kind: 'api';
  /** Of HTTP; absent where it says nothing because every answer has the same. */
  readonly status?: number;
  readonly code?: ErrorCode;
  /** The platform's own sentence. */
  readonly detail: string;
  /** How long the platform asks to wait. */
  readonly retryAfterMs?: number;
  /** What else of the answer a caller acts on, by the platform's names. */
  readonly data?: Readonly<Record<string, string>>;
}

/** Why a call failed, by what a caller can do about it. Holds neither a secret nor an address with one. */
export type CallFailure =
  | ApiFailure
  /** Too many requests; nothing was done. `scope` says who must wait. */
  | {
      readonly kind: 'limited';
      readonly retryAfterMs: number;
      readonly scope: 'chat' | 'account';
      readonly detail: string;
    }
  /** An HTTP status came in place of an answer that the platform would give. */
  | { readonly kind: 'http'; readonly status: number; readonly detail: string }
  /** The request never reached the platform: refused, no route, no name, no TLS. */
  | { readonly kind: 'unreached'; readonly detail: string }
  /** The request left and no readable answer came back. */
  | { readonly kind: 'lost'; readonly detail: string };

/**
 * A call to a platform failed. Whatever else a call rejects with is the reason of its signal, or a defect.
 */
export class CallError extends Error {
  /** What was asked of the platform, such as `message/send`; for people. */
  readonly call: string | undefined;
  readonly failure: CallFailure;

  /**
   * `words` describe the failure in the message. Default: its detail, behind the HTTP status of the
   * platform's answer.
   */
  constructor(call: string | undefined, failure: CallFailure, words = describe(failure)) {
    super(call === undefined ? words : `${call}: ${words}`);
    this.name = 'CallError';
    this.call = call;
    this.failure = failure;
  }
}

/** A failure in words, behind the HTTP status of the platform's answer. */
export function describe(failure: CallFailure): string {
  const status = failure.kind === 'api' ? failure.status : undefined;
  return status === undefined ? failure.detail : `${status} ${failure.detail}`;
}

/** The platform's answer, where the call failed because of one. */
export function apiFailureOf(error: unknown): ApiFailure | undefined {
  return error instanceof CallError && error.failure.kind === 'api' ? error.failure : undefined;
}

/**
 * What an error of the network means. `left` says whether the request had left, where the caller knows;
 * otherwise the code of a connection of `createHttpAgent` tells. The error's own words are dropped: they may
 * spell out an address or headers with a credential.
 */
export function networkFailure(error: unknown, left?: boolean): CallFailure {
  const code = errorCodeOf(error);
  if (left !== true && notConnected(code)) return { kind: 'unreached', detail: code };
  if (left === false) return { kind: 'unreached', detail: `not connected: ${code ?? 'no code'}` };
  return { kind: 'lost', detail: `the connection broke before an answer (${code ?? 'no usable reply'})` };
}

/** Runs one call. Rejects with the reason of `signal` once that aborted, otherwise with a `CallError`. */
export async function guardCall<T>(
  signal: AbortSignal,
  run: () => Promise<T>,
  toError: (error: unknown) => CallError,
): Promise<T> {
  signal.throwIfAborted();
  try {
    return await run();
  } catch (error) {
    signal.throwIfAborted();
    throw error instanceof CallError ? error : toError(error);
  }
}
