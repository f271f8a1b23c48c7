import { randomBytes } from 'node:crypto';
import type { DeviceAuthorizationResponse, TokenEndpointResponse } from 'openid-client';
import { errorText, type GatehouseError } from '../../core/errors.ts';
import { openCallbackServer } from '../callback-server.ts';
import { printable } from '../printable.ts';
import { timeLimit } from '../time-limit.ts';
import type { Credential } from './credential.ts';
import { connect, failed, isPassing, mustBeSafe, type OAuthOptions, type Oidc } from './oauth-client.ts';

export const DEFAULT_ISSUER = 'https://auth.openai.com';
/** What a loopback redirect of the default issuer expects (spec L2). */
const CALLBACK_PORT = 1455;
const CALLBACK_PATH = '/auth/callback';
const BROWSER_LIMIT_MS = 5 * 60_000;
/** RFC 8628 3.5: five seconds unless the server says otherwise, five more each time it says `slow_down`. */
const POLL_MS = 5_000;
const SLOW_DOWN_MS = 5_000;
const MAX_POLL_MS = 60_000;
/** A code that is never entered is not asked about for ever, whatever the server says. */
const DEVICE_LIMIT_MS = 30 * 60_000;
/** A person types it: RFC 8628 6.1 has eight characters in mind. */
const MOST_USER_CODE = 100;
const SCOPES = ['openid', 'profile', 'email', 'offline_access'];
/** OpenID Connect Core 11: a refresh token is given only when the person is asked. */
const ASK: Readonly<Record<string, string>> = { prompt: 'consent' };
const DEVICE_GRANT = 'urn:ietf:params:oauth:grant-type:device_code';

export interface Tokens {
  readonly accessToken: string;
  readonly refreshToken?: string;
  /** Epoch ms. */
  readonly expiresAt?: number;
}

export interface LoginOptions extends OAuthOptions {
  /** Default: who the person is, and a refresh token (OpenID Connect Core 5.4, 11). */
  readonly scopes?: readonly string[] | undefined;
}

export interface BrowserLoginOptions extends LoginOptions {
  /** Called once, with the address the person must open. */
  readonly show: (url: string) => void;
  /** Where the browser comes back to, on 127.0.0.1; 0 = any. Default 1455. */
  readonly port?: number;
  /** Default 5 minutes. */
  readonly limitMs?: number;
  /** Further ones of the authorization request. Default: `prompt=consent`. */
  readonly parameters?: Readonly<Record<string, string>> | undefined;
}

export interface DeviceCode {
  readonly userCode: string;
  readonly url: string;
  /** With the code in it, where the issuer offers that. */
  readonly completeUrl: string | undefined;
  /** Epoch ms. */
  readonly expiresAt: number;
}

export interface DeviceLoginOptions extends LoginOptions {
  /** Called once, with the code to enter and where. */
  readonly show: (code: DeviceCode) => void;
}

export interface RenewOptions extends OAuthOptions {
  readonly refreshToken: string;
  readonly binding?: Credential['binding'];
}

/** `final`: the issuer refused this refresh token; only a new login helps. */
export type Renewal =
  | { readonly ok: true; readonly tokens: Tokens }
  | { readonly ok: false; readonly reason: string; readonly final: boolean };

/**
 * Logs in through a browser on this machine: authorization code with PKCE (RFC 7636, S256) and state. A
 * server on 127.0.0.1 takes the answer and is closed afterwards. Rejects with GH2201 when the login fails or
 * is refused, or with `signal.reason`.
 */
export async function loginWithBrowser(options: BrowserLoginOptions): Promise<Tokens> {
  const { clock, clientId, limitMs = BROWSER_LIMIT_MS, port = CALLBACK_PORT, scopes = SCOPES, parameters = ASK } = options;
  const late = (): GatehouseError =>
    failed('the login was not finished within the time', 'run the command again and finish in the browser');
  using limit = timeLimit(clock, limitMs, late, options.signal);
  // 64 characters of 43 to 128 (RFC 7636 4.1).
  const verifier = randomBytes(32).toString('hex');
  const state = randomBytes(32).toString('base64url');
  // Comes back in the ID token, which only this scope asks for (OpenID Connect Core 3.1.2.1).
  const nonce = scopes.includes('openid') ? randomBytes(32).toString('base64url') : undefined;
  const client = await connect({ ...options, signal: limit.signal }, [verifier, state, nonce ?? '']);
  return await client.attempt(async ({ oidc, config }) => {
    await using server = await openCallbackServer({ port, path: CALLBACK_PATH, state });
    const url = oidc.buildAuthorizationUrl(config, {
      ...parameters,
      client_id: clientId,
      redirect_uri: server.redirectUri,
      scope: scopes.join(' '),
      code_challenge: await oidc.calculatePKCECodeChallenge(verifier),
      code_challenge_method: 'S256',
      state,
      ...(nonce === undefined ? {} : { nonce }),
    });
    mustBeSafe(url);
    options.show(url.href);
    const callback = await server.callback(limit.signal);
    client.protect(callback.url.searchParams.get('code') ?? '');
    let ok = false;
    try {
      const askedAt = clock.now();
      const checks = {
        pkceCodeVerifier: verifier,
        expectedState: state,
        ...(nonce === undefined ? {} : { expectedNonce: nonce }),
      };
      const tokens = toTokens(await oidc.authorizationCodeGrant(config, callback.url, checks), askedAt);
      ok = true;
      return tokens;
    } finally {
      callback.answer(ok);
    }
  });
}

/**
 * Logs in with a code that the person enters on any device (RFC 8628). Asks the issuer until the person
 * agreed or refused, or the code expired. Rejects as `loginWithBrowser`.
 */
export async function loginWithDeviceCode(options: DeviceLoginOptions): Promise<Tokens> {
  const { clock, signal, scopes = SCOPES } = options;
  const client = await connect(options, []);
  return await client.attempt(async ({ oidc, config }) => {
    if (config.serverMetadata().device_authorization_endpoint === undefined) {
      throw failed('this issuer has no login with a code', 'log in with a browser, or store a key');
    }
    const grant = await oidc.initiateDeviceAuthorization(config, { scope: scopes.join(' ') });
    client.protect(grant.device_code);
    const start = clock.monotonic();
    const lifeMs = Math.min(grant.expires_in * 1_000, DEVICE_LIMIT_MS);
    options.show(toDeviceCode(grant, clock.now() + lifeMs));
    let pollMs = Math.max(POLL_MS, (grant.interval ?? 0) * 1_000);
    for (;;) {
      if (clock.monotonic() - start + pollMs >= lifeMs) {
        await clock.sleep(Math.max(0, start + lifeMs - clock.monotonic()), signal);
        throw failed('the code expired before it was entered', 'run the command again for a new code');
      }
      await clock.sleep(pollMs, signal);
      const askedAt = clock.now();
      try {
        return toTokens(await oidc.genericGrantRequest(config, DEVICE_GRANT, { device_code: grant.device_code }), askedAt);
      } catch (error) {
        pollMs = nextPollMs(oidc, error, pollMs);
      }
    }
  });
}

/** The refresh token grant. Rejects with `signal.reason` only; every other outcome is a value. */
export async function renewTokens(options: RenewOptions): Promise<Renewal> {
  const { clock, refreshToken, signal } = options;
  let final = false;
  try {
    const client = await connect(options, [refreshToken]);
    const tokens = await client.attempt(async ({ oidc, config }) => {
      const askedAt = clock.now();
      try {
        return toTokens(await oidc.refreshTokenGrant(config, refreshToken), askedAt);
      } catch (error) {
        final = error instanceof oidc.ResponseBodyError && !isPassing(oidc, error);
        throw error;
      }
    });
    return { ok: true, tokens };
  } catch (error) {
    if (signal.aborted) throw signal.reason;
    return { ok: false, reason: errorText(error), final };
  }
}

/** How long to wait before the issuer is asked again (RFC 8628 3.5). Throws the error that ends the login. */
function nextPollMs(oidc: Oidc, error: unknown, pollMs: number): number {
  const answer = error instanceof oidc.ResponseBodyError ? error.error : undefined;
  if (answer === 'authorization_pending') return pollMs;
  if (answer === 'slow_down') return pollMs + SLOW_DOWN_MS;
  // An issuer that cannot be reached is asked less often, instead of giving up.
  if (isPassing(oidc, error)) return Math.min(Math.max(pollMs, MAX_POLL_MS), pollMs * 2);
  throw error;
}

function toTokens(response: TokenEndpointResponse, askedAt: number): Tokens {
  const { access_token: accessToken, refresh_token: refreshToken, expires_in: seconds } = response;
  return {
    accessToken,
    ...(refreshToken === undefined ? {} : { refreshToken }),
    // From when it was asked for: never later than the issuer means.
    ...(seconds === undefined ? {} : { expiresAt: askedAt + seconds * 1_000 }),
  };
}

function toDeviceCode(grant: DeviceAuthorizationResponse, expiresAt: number): DeviceCode {
  const complete = grant.verification_uri_complete;
  return {
    userCode: printable(grant.user_code.slice(0, MOST_USER_CODE)),
    url: mustBeSafe(new URL(grant.verification_uri)).href,
    completeUrl: complete === undefined ? undefined : mustBeSafe(new URL(complete)).href,
    expiresAt,
  };
}
