/** Forgets what is stored of a server, and tells authorization servers that want to know it (RFC 7009). */
import type { McpServerEntry } from '../../../../config/sections/mcp.ts';
import { errorText, isGatehouseError } from '../../../core/errors.ts';
import type { Credential } from '../../../lib/auth/credential.ts';
import { addressedFetch, type McpFetch } from '../http.ts';
import { loginFailed, oauthFetch } from './fetch.ts';
import { type LoginOptions, type OAuthEntry, wantsLogin } from './server-login.ts';
import { clientOf, metadataOf, openLogins, readLogin } from './stored-login.ts';

export interface LogOutOptions extends LoginOptions {
  readonly signal: AbortSignal;
}

export interface LoggedOut {
  /** How many logins were stored: one of each address that the entry had. */
  readonly forgotten: number;
  /** Hosts that have ended what they gave. */
  readonly revoked: readonly string[];
  /** Why others have not. No secrets. */
  readonly kept: readonly string[];
}

/**
 * Nothing is stored any more when this resolves, whatever the authorization servers say. `entry` absent: the
 * server is not in the config any more, and only what is stored is forgotten.
 */
export async function logOut(server: string, entry: McpServerEntry | undefined, options: LogOutOptions): Promise<LoggedOut> {
  const { signal } = options;
  await using store = openLogins({ ...options, server });
  const revoked: string[] = [];
  const kept: string[] = [];
  let forgotten = 0;
  for (const { provider } of await store.list()) {
    const login = await readLogin(store, provider);
    // First here: a server that does not answer must not keep it alive.
    if (await store.remove(provider, signal)) forgotten += 1;
    const endpoint = login?.binding?.['revocation_endpoint'];
    if (!login || endpoint === undefined || !entry || !wantsLogin(entry)) continue;
    const { host } = new URL(endpoint);
    try {
      await revoke(login, endpoint, { ...options, entry });
      revoked.push(host);
    } catch (error) {
      signal.throwIfAborted();
      kept.push(`${host}: ${isGatehouseError(error) ? error.message : errorText(error)}`);
    }
  }
  return { forgotten, revoked, kept };
}

interface RevokeOptions extends LogOutOptions {
  readonly entry: OAuthEntry;
}

/** The refresh token, where there is one: with it goes what was made of it (RFC 7009 2.1). */
async function revoke(login: Credential, endpoint: string, options: RevokeOptions): Promise<void> {
  const { entry, secret, clock, signal, fetch: base = addressedFetch } = options;
  const { oauth, allow_private: allowPrivate } = entry;
  const { information, addClientAuthentication } = await clientOf(login, { oauth, secret });
  const headers = new Headers({ accept: 'application/json' });
  const body = new URLSearchParams({ token: login.refreshToken ?? login.accessToken });
  const { issuer = '', binding } = login;
  if (addClientAuthentication) await addClientAuthentication(headers, body, endpoint, metadataOf(issuer, endpoint, undefined));
  else if (information.client_secret !== undefined && binding?.['auth_method'] !== 'client_secret_post')
    headers.set('authorization', `Basic ${btoa(`${information.client_id}:${information.client_secret}`)}`);
  else {
    body.set('client_id', information.client_id);
    if (information.client_secret !== undefined) body.set('client_secret', information.client_secret);
  }
  const fetch: McpFetch = oauthFetch({ fetch: base(allowPrivate), allowPrivate, clock, signal });
  const { ok, status } = await fetch(endpoint, { method: 'POST', headers, body });
  if (!ok) throw loginFailed(`it answered with HTTP status ${status}`);
}
