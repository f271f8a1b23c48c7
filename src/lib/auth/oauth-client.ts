import type { Configuration, CustomFetch } from 'openid-client';
import { GatehouseError, isGatehouseError } from '../../core/errors.ts';
import type { Clock } from '../../core/ports.ts';
import { isLoopbackName } from '../loopback-name.ts';
import { printable } from '../printable.ts';
import { readAtMost } from '../read-at-most.ts';
import { createRedactor } from '../redact.ts';

const REQUEST_LIMIT_S = 15;
const MAX_RESPONSE_BYTES = 1_000_000;

export interface OAuthOptions {
  /** https, or http on this machine. Its OpenID configuration is looked up (OpenID Connect Discovery 1.0). */
  readonly issuer: string;
  readonly clientId: string;
  /** Of a client that can keep one; sent in the body of each request (RFC 6749 2.3.1). */
  readonly clientSecret?: string | undefined;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

export type Oidc = typeof import('openid-client');

export interface Client {
  /** Runs `work`. Rejects with GH2201, which holds no secret, or with the reason of the abort. */
  attempt<T>(work: (tools: { readonly oidc: Oidc; readonly config: Configuration }) => Promise<T>): Promise<T>;
  /** No error may show this value. */
  protect(secret: string): void;
}

/** Looks up what the issuer offers. `given`: values that no error may show; `protect` adds to them. */
export async function connect(options: OAuthOptions, given: readonly string[]): Promise<Client> {
  const { issuer, clientId, clientSecret, signal } = options;
  signal.throwIfAborted();
  const server = parseIssuer(issuer);
  const oidc = await import('openid-client');
  const secrets = [...given, clientSecret ?? ''];
  const redact = createRedactor(() => secrets.filter((secret) => secret !== ''));
  const attempt = async <T>(work: () => Promise<T>): Promise<T> => {
    try {
      return await work();
    } catch (error) {
      if (signal.aborted) throw signal.reason;
      // No `cause`: the errors of the library carry bodies and parameters, tokens included.
      throw ownError(error) ?? toFailure(oidc, error, redact);
    }
  };
  const config = await attempt(() =>
    oidc.discovery(server, clientId, undefined, clientSecret === undefined ? oidc.None() : oidc.ClientSecretPost(clientSecret), {
      [oidc.customFetch]: guardedFetch(signal),
      timeout: REQUEST_LIMIT_S,
      // Only lifts the library's own check: `guardedFetch` lets http through to this machine alone.
      execute: server.protocol === 'http:' ? [oidc.allowInsecureRequests] : [],
    }),
  );
  return {
    attempt: (work) => attempt(() => work({ oidc, config })),
    protect: (secret) => void secrets.push(secret),
  };
}

/** Every request: a safe address, the caller's signal, and no more of an answer than fits in memory. */
function guardedFetch(signal: AbortSignal): CustomFetch {
  return async (url, { signal: own, body, ...init }) => {
    mustBeSafe(new URL(url));
    const response = await fetch(url, {
      ...init,
      ...(body === undefined ? {} : { body: body as Exclude<typeof body, ArrayBuffer> }),
      signal: own ? AbortSignal.any([signal, own]) : signal,
    });
    const { bytes, complete } = await readAtMost(response.body, MAX_RESPONSE_BYTES);
    if (!complete) throw failed('the answer of the issuer is too large');
    const { status, statusText, headers } = response;
    // A status without a body (204) may not be given one.
    return new Response(bytes.length === 0 ? null : bytes, { status, statusText, headers });
  };
}

/** What `guardedFetch` threw, which the library hands on as a cause. */
function ownError(error: unknown): GatehouseError | undefined {
  if (isGatehouseError(error)) return error;
  return error instanceof Error ? ownError(error.cause) : undefined;
}

/** The issuer was not reached, took too long, or is failing: the same request may succeed later. */
export function isPassing(oidc: Oidc, error: unknown): boolean {
  // `fetch` reports a connection that failed as a TypeError with a cause.
  if (error instanceof TypeError) return error.cause !== undefined;
  if (error instanceof oidc.ResponseBodyError) {
    return error.status >= 500 || error.status === 429 || error.error === 'temporarily_unavailable';
  }
  if (!(error instanceof oidc.ClientError)) return false;
  return error.code === 'OAUTH_TIMEOUT' || (error.cause instanceof Response && error.cause.status >= 500);
}

function parseIssuer(issuer: string): URL {
  const url = URL.parse(issuer);
  if (url === null || [url.username, url.password, url.search, url.hash].some((part) => part !== '')) {
    throw failed('the issuer is not a plain URL', 'give one such as https://auth.example.com');
  }
  return mustBeSafe(url);
}

/** RFC 8252 8.3, RFC 6749 3.1.2.1: codes and tokens travel encrypted, or do not leave this machine. */
export function mustBeSafe(url: URL): URL {
  if (url.protocol === 'https:') return url;
  if (url.protocol === 'http:' && isLoopbackName(url.hostname)) return url;
  throw failed(`${printable(url.origin)} is not an encrypted address`, 'use an issuer with https; http is for this machine only');
}

/**
 * RFC 8628 3.5, and the word of Microsoft for it
 * (https://learn.microsoft.com/en-us/entra/identity-platform/v2-oauth2-device-code#expected-errors).
 */
const REFUSED = new Set(['access_denied', 'authorization_declined']);

function toFailure(oidc: Oidc, error: unknown, redact: (text: string) => string): GatehouseError {
  const answered = error instanceof oidc.ResponseBodyError || error instanceof oidc.AuthorizationResponseError;
  if (answered && REFUSED.has(error.error)) return failed('the login was refused at the issuer');
  if (answered && error.error === 'expired_token') {
    return failed('the code expired before it was entered', 'run the command again for a new code');
  }
  const said = answered ? [error.error, error.error_description].filter((part) => part).join(': ') : messages(error);
  const what = answered ? 'refused' : isPassing(oidc, error) ? 'cannot be reached' : 'cannot be understood';
  // Foreign text: redacted before it is escaped or cut, which could leave a secret unrecognised but readable.
  return failed(`the issuer ${what}: ${printable(redact(said)).slice(0, 300)}`);
}

function messages(error: unknown): string {
  if (!(error instanceof Error)) return 'unknown';
  return error.cause instanceof Error ? `${error.message} (${messages(error.cause)})` : error.message;
}

/** The one error of a login. The message must hold no secret. */
export function failed(message: string, hint?: string): GatehouseError {
  return new GatehouseError('GH2201', message, hint === undefined ? {} : { hint });
}
