/** What an authorization server gives for a code, a refresh token, or the client's own word. */
import type { OAuthTokens } from '@modelcontextprotocol/sdk/shared/auth.js';
import { GatehouseError, isGatehouseError } from '../../../core/errors.ts';
import type { Clock } from '../../../core/ports.ts';
import { areTokens } from '../../../lib/auth/credential.ts';
import type { Tokens } from '../../../lib/auth/oauth.ts';
import { printable } from '../../../lib/printable.ts';
import { createRedactor } from '../../../lib/redact.ts';
import { loadOAuth } from '../sdk.ts';
import { loginFailed } from './fetch.ts';

export interface Granted extends Tokens {
  /** What was granted, where the server says so. */
  readonly scope?: string;
}

export interface PlainOptions {
  readonly signal: AbortSignal;
  /** Values that no error may show. */
  readonly secrets?: readonly (string | undefined)[];
}

export interface AskOptions extends PlainOptions {
  readonly clock: Clock;
}

/** What is shorter may be a word, and a redactor would take it out of every text. */
export const MIN_SECRET_CHARS = 8;

/** The server refused: the same request will not succeed. */
export class Refused extends GatehouseError {}

/**
 * Runs `work`, which asks for tokens. Rejects with GH2201, as `Refused` where the server says no; with what
 * `work` rejects with, where that is an error of ours. No error holds a secret.
 */
export async function askForTokens(work: () => Promise<OAuthTokens>, { clock, ...options }: AskOptions): Promise<Granted> {
  const askedAt = clock.now();
  const raw = await plainly(work, options);
  const { access_token: accessToken, refresh_token: refreshToken, expires_in: seconds, token_type: type, scope } = raw;
  const tokens = { accessToken, ...(refreshToken === undefined ? {} : { refreshToken }) };
  if (!areTokens(tokens) || [accessToken, refreshToken ?? accessToken].some((token) => token.length < MIN_SECRET_CHARS))
    throw loginFailed('the authorization server sent what is no token');
  if (type.toLowerCase() !== 'bearer') throw loginFailed('the authorization server sent a token of a kind that MCP has not');
  const isLimited = seconds !== undefined && Number.isFinite(seconds) && seconds > 0;
  return {
    ...tokens,
    // From when it was asked for: never later than the server means.
    ...(isLimited ? { expiresAt: askedAt + seconds * 1_000 } : {}),
    ...(scope === undefined ? {} : { scope }),
  };
}

/** Runs `work` of the SDK, whose errors may hold the server's whole answer. Rejects as `askForTokens`. */
export async function plainly<T>(work: () => Promise<T>, { signal, secrets = [] }: PlainOptions): Promise<T> {
  try {
    return await work();
  } catch (error) {
    signal.throwIfAborted();
    if (isGatehouseError(error)) throw error;
    const { OAuthError, ServerError } = await loadOAuth();
    if (!(error instanceof OAuthError) || error instanceof ServerError)
      throw loginFailed('the authorization server answered what cannot be understood');
    const redact = createRedactor(() => secrets.filter((secret) => secret !== undefined && secret !== '') as string[]);
    const said = [error.errorCode, error.message].filter((part) => part !== '').join(': ');
    const text = `the authorization server refused: ${printable(redact(said)).slice(0, 300)}`;
    throw PASSING.has(error.errorCode) ? loginFailed(text) : new Refused('GH2201', text);
  }
}

/** RFC 6749 4.1.2.1, and 429 in words. */
const PASSING: ReadonlySet<string> = new Set(['temporarily_unavailable', 'too_many_requests', 'server_error']);
