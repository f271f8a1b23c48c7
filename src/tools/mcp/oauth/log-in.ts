// ask the server -> whom it trusts -> which client we are -> a person in a browser -> code -> tokens -> disk

/** The login of a person at an MCP server: authorization code with PKCE (OAuth 2.1, MCP 2025-11-25). */
import { randomBytes } from 'node:crypto';
import { dirname } from 'node:path';
import type { McpServerEntry } from '../../../../config/sections/mcp.ts';
import { GatehouseError } from '../../../core/errors.ts';
import { openCallbackServer } from '../../../lib/callback-server.ts';
import { giveToOwner } from '../../../lib/give-to-owner.ts';
import { printable } from '../../../lib/printable.ts';
import { timeLimit } from '../../../lib/time-limit.ts';
import { addressedFetch, type McpFetch } from '../http.ts';
import { type ProbeOptions, probe } from '../look.ts';
import { loadOAuth } from '../sdk.ts';
import { answerOf, type LoginUi } from './answer.ts';
import { type Challenge, loginNeeded } from './challenge.ts';
import { clientFor, type OAuthClient } from './client.ts';
import { discover, type Found, type ServerMetadata } from './discover.ts';
import { loginFailed, mustBeSafe, oauthFetch } from './fetch.ts';
import { wantsLogin } from './server-login.ts';
import { loginKey, openLogins, readLogin, toCredential } from './stored-login.ts';
import { askForTokens, type Granted, plainly } from './tokens.ts';

/** For the person; looking up and asking for tokens have limits of their own. */
const PERSON_MS = 5 * 60_000;
/** What a refresh token is given for, at servers that know it (SEP-2207). */
const OFFLINE = 'offline_access';

export interface LogInOptions extends ProbeOptions {
  readonly signal: AbortSignal;
  readonly ui: LoginUi;
  /** Asked for beside what the server asks for, and beside what the login has that is there. */
  readonly scopes?: readonly string[];
  /** Default: 5 minutes. ms. */
  readonly limitMs?: number;
}

/** What a login came to. No tokens. */
export interface LoggedIn {
  readonly issuer: string;
  readonly scope: string;
  /** Epoch ms. */
  readonly expiresAt?: number | undefined;
  readonly renews: boolean;
}

interface Asked {
  readonly entry: McpServerEntry & { readonly url: string };
  readonly found: Found;
  readonly fetch: McpFetch;
}

/**
 * Resolves once the login is on disk, where a running daemon finds it. Rejects with GH1001 for an entry whose
 * server is not logged in to this way, with GH2201 where the login fails, with GH2302 where the server does
 * not work, or with the reason of the signal.
 */
export async function logIn(server: string, entry: McpServerEntry, options: LogInOptions): Promise<LoggedIn> {
  if (!wantsLogin(entry) || entry.oauth.grant !== 'authorization_code') throw notThisWay(server, entry);
  const { clock, signal, secret, ui, fetch: base = addressedFetch, limitMs = PERSON_MS } = options;
  const { url, oauth, allow_private: allowPrivate } = entry;
  const late = (): Error =>
    loginFailed('the login was not finished within the time', 'run the command again, and finish in the browser');
  using limit = timeLimit(clock, limitMs, late, signal);
  const fetch = oauthFetch({ fetch: base(allowPrivate), allowPrivate, clock, signal: limit.signal });
  const challenge = await challengeOfServer(server, entry, { ...options, signal: limit.signal });
  const seen = await discover({ url, challenge, issuer: oauth.issuer, allowPrivate, fetch });
  if (!challenge && !seen.metadata)
    throw loginFailed(`${new URL(url).host} asks for no login`, `see \`gatehouse mcp test ${server}\``);
  mustSpeakPkce(seen.metadata);
  await using store = openLogins({ ...options, server });
  const key = loginKey({ server, url });
  const before = await readLogin(store, key);
  const had = before?.issuer === seen.issuer ? (before.binding?.['scope'] ?? '').split(' ') : [];
  const found = { ...seen, scopes: scopesFor(oauth.scopes, seen, [...had, ...(options.scopes ?? [])]) };
  const state = randomBytes(32).toString('base64url');
  await using listener = await openCallbackServer({ port: oauth.redirect_port ?? 0, path: '/callback', state });
  const { redirectUri } = listener;
  const client = await clientFor(oauth, { found, redirectUri, secret, fetch, signal: limit.signal });
  const { url: link, verifier } = await linkFor({ found, client, state, redirectUri, signal: limit.signal });
  mustBeSafe(link, allowPrivate);
  ui.show({ server: new URL(url).origin, issuer: found.issuer, scopes: found.scopes, link: printable(link.href) });
  const answer = await answerOf({ listener, ui, state, metadata: found.metadata, issuer: found.issuer, signal: limit.signal });
  let ok = false;
  try {
    const granted = await exchange(
      { entry, found, fetch },
      { client, verifier, redirectUri, code: answer.code },
      options,
      limit.signal,
    );
    await store.set(toCredential(key, granted, { found, client }), limit.signal);
    await giveToOwner(options.dataDir, dirname(store.path));
    ok = true;
    const { expiresAt, refreshToken, scope = found.scopes.join(' ') } = granted;
    return { issuer: found.issuer, scope, expiresAt, renews: refreshToken !== undefined };
  } finally {
    answer.done(ok);
  }
}

function notThisWay(server: string, { url, oauth }: McpServerEntry): GatehouseError {
  const why =
    url === undefined ? 'is a program of this machine' : oauth ? 'is logged in to by Gatehouse itself' : 'has no section "oauth"';
  const hint = url !== undefined && !oauth ? `add "oauth": {} to mcp_servers.${server}` : `see \`gatehouse mcp test ${server}\``;
  return new GatehouseError('GH1001', `${server} ${why}`, { hint });
}

/** Asks as the daemon does, without a token. Undefined where the server wants none for its list of tools. */
async function challengeOfServer(server: string, entry: McpServerEntry, options: LogInOptions): Promise<Challenge | undefined> {
  let seen: Challenge | undefined;
  const login = {
    token: async () => undefined,
    challenged: async (_token: string | undefined, challenge: Challenge): Promise<string> => {
      seen = challenge;
      throw loginNeeded(server, 'it was asked without one');
    },
    secrets: () => [],
    [Symbol.asyncDispose]: async () => undefined,
  };
  try {
    await probe(server, entry, { ...options, login }, options.signal);
  } catch (error) {
    options.signal.throwIfAborted();
    if (!seen) throw error;
  }
  return seen;
}

/** MCP 2025-11-25: a server that does not say so has no PKCE, and then a stolen code is worth a token. */
function mustSpeakPkce(metadata: ServerMetadata | undefined): void {
  if (metadata && !(metadata.code_challenge_methods_supported ?? []).includes('S256'))
    throw loginFailed('the authorization server does not protect codes (PKCE with S256)', 'tell the people who run the server');
}

/** The operator's list is the whole of it, but for what the command names. */
function scopesFor(listed: readonly string[], { scopes, metadata }: Found, more: readonly string[]): readonly string[] {
  const offline = metadata?.scopes_supported?.includes(OFFLINE) === true ? [OFFLINE] : [];
  const asked = listed.length > 0 ? listed : [...scopes, ...(scopes.length + more.length > 0 ? offline : [])];
  return [...new Set([...asked, ...more])].filter((scope) => scope !== '');
}

async function linkFor(about: {
  readonly found: Found;
  readonly client: OAuthClient;
  readonly state: string;
  readonly redirectUri: string;
  readonly signal: AbortSignal;
}): Promise<{ readonly url: URL; readonly verifier: string }> {
  const { found, client, state, redirectUri, signal } = about;
  const { issuer, metadata, scopes, resource } = found;
  const { startAuthorization } = await loadOAuth();
  const asked = {
    ...(metadata ? { metadata } : {}),
    ...(scopes.length === 0 ? {} : { scope: scopes.join(' ') }),
    ...{ clientInformation: client.information, redirectUrl: redirectUri, state, resource },
  };
  const { authorizationUrl, codeVerifier } = await plainly(() => startAuthorization(issuer, asked), { signal });
  return { url: authorizationUrl, verifier: codeVerifier };
}

async function exchange(
  { found, fetch }: Asked,
  proof: { readonly client: OAuthClient; readonly verifier: string; readonly redirectUri: string; readonly code: string },
  { clock }: Pick<LogInOptions, 'clock'>,
  signal: AbortSignal,
): Promise<Granted> {
  const { client, verifier, redirectUri, code } = proof;
  const { issuer, metadata, resource } = found;
  const { exchangeAuthorization } = await loadOAuth();
  return await askForTokens(
    () =>
      exchangeAuthorization(issuer, {
        ...(metadata ? { metadata } : {}),
        ...(client.addClientAuthentication ? { addClientAuthentication: client.addClientAuthentication } : {}),
        ...{ clientInformation: client.information, authorizationCode: code, codeVerifier: verifier },
        ...{ redirectUri, resource, fetchFn: fetch },
      }),
    { clock, signal, secrets: [code, verifier, client.information.client_secret] },
  );
}
