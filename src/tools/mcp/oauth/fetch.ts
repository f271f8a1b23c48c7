/** Requests to authorization servers: where they may go, how long they take, how much answer is read. */
import { isSafeForTokens } from '../../../../config/sections/mcp-oauth.ts';
import { errorText, GatehouseError, isGatehouseError } from '../../../core/errors.ts';
import type { Clock } from '../../../core/ports.ts';
import { printable } from '../../../lib/printable.ts';
import { readAtMost } from '../../../lib/read-at-most.ts';
import { timeLimit } from '../../../lib/time-limit.ts';
import type { McpFetch } from '../http.ts';

const ANSWER_MS = 15_000;
const MAX_ANSWER_BYTES = 256 * 1024;

export interface OAuthFetchOptions {
  /** Keeps to addresses that the entry allows. */
  readonly fetch: McpFetch;
  readonly allowPrivate: boolean;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

/**
 * Follows no redirect: what is sent may be a secret. Reads an answer whole, with a limit of size and time.
 * Rejects with GH2201, which holds nothing of what was sent, or with the reason of the signal.
 */
export function oauthFetch({ fetch: base, allowPrivate, clock, signal }: OAuthFetchOptions): McpFetch {
  return async (address, init) => {
    const url = new URL(address);
    const host = printable(url.host);
    mustBeSafe(url, allowPrivate);
    using limit = timeLimit(clock, ANSWER_MS, () => loginFailed(`${host} did not answer within ${ANSWER_MS / 1_000} s`), signal);
    try {
      const answer = await base(url, { ...init, redirect: 'manual', signal: limit.signal });
      const { bytes, complete } = await readAtMost(answer.body, MAX_ANSWER_BYTES);
      if (!complete) throw loginFailed(`${host} answered with more than ${MAX_ANSWER_BYTES} bytes`);
      const { status, statusText, headers } = answer;
      return new Response(bytes.length === 0 ? null : bytes, { status, statusText, headers });
    } catch (error) {
      limit.signal.throwIfAborted();
      throw isGatehouseError(error)
        ? error
        : loginFailed(`${host} cannot be reached: ${printable(errorText(error)).slice(0, 300)}`);
    }
  };
}

/** Throws GH2201 for an address that no code, token or secret may travel to. */
export function mustBeSafe(address: string | URL, allowPrivate: boolean): void {
  if (!URL.canParse(String(address)) || !isSafeForTokens(address, allowPrivate))
    throw loginFailed(
      `${printable(String(address)).slice(0, 200)} is not an encrypted address`,
      'tell the people who run the server',
    );
}

/** The message must hold no secret. */
export function loginFailed(message: string, hint?: string): GatehouseError {
  return new GatehouseError('GH2201', message, hint === undefined ? {} : { hint });
}
