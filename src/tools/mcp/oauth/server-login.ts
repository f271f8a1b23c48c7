/** Where the token of each request comes from. Nothing here asks a person. */
import type { McpServerEntry } from '../../../../config/sections/mcp.ts';
import type { McpOAuth } from '../../../../config/sections/mcp-oauth.ts';
import type { ReadSecret } from '../../../core/channel.ts';
import { GatehouseError, isGatehouseError } from '../../../core/errors.ts';
import type { Clock, Logger } from '../../../core/ports.ts';
import type { AuthStore } from '../../../lib/auth/store.ts';
import { settledOrAborted } from '../../../lib/time-limit.ts';
import { addressedFetch, type McpFetch } from '../http.ts';
import { loadOAuth } from '../sdk.ts';
import { type Challenge, loginNeeded } from './challenge.ts';
import { configuredClient } from './client.ts';
import { discover, type Found } from './discover.ts';
import { oauthFetch } from './fetch.ts';
import { loginKey, openLogins } from './stored-login.ts';
import { askForTokens, type Granted } from './tokens.ts';

/** Disposed of once nothing asks it any more: what was renewed must reach the disk. */
export interface ServerLogin extends AsyncDisposable {
  /** The token to send now, renewed where that is due; undefined = none is known. Rejects with GH2304. */
  token(signal: AbortSignal): Promise<string | undefined>;
  /** Another token: the server took none, or not this. Rejects with GH2304 where only a person can help. */
  challenged(token: string | undefined, challenge: Challenge, signal: AbortSignal): Promise<string>;
  /** For a redactor. */
  secrets(): readonly string[];
}

export interface LoginOptions {
  readonly dataDir: string;
  readonly secret: ReadSecret;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly fetch?: (allowPrivate: boolean) => McpFetch;
}

export type OAuthEntry = McpServerEntry & { readonly url: string; readonly oauth: McpOAuth };

/** Whether the entry says that its server wants a login. */
export function wantsLogin(entry: McpServerEntry): entry is OAuthEntry {
  return entry.url !== undefined && entry.oauth !== undefined;
}

/** Undefined for an entry without a section `oauth`. Does no I/O before the first call. */
export function loginFor(server: string, entry: McpServerEntry, options: LoginOptions): ServerLogin | undefined {
  if (!wantsLogin(entry)) return undefined;
  return entry.oauth.grant === 'client_credentials'
    ? new OwnLogin(server, entry, options)
    : new StoredLogin(server, entry, options);
}

/** What a person did with `gatehouse mcp login`. */
class StoredLogin implements ServerLogin {
  readonly #server: string;
  readonly #key: string;
  readonly #store: AuthStore;

  constructor(server: string, { url, oauth, allow_private: allowPrivate }: OAuthEntry, options: LoginOptions) {
    const { secret, fetch = addressedFetch } = options;
    this.#server = server;
    this.#key = loginKey({ server, url });
    this.#store = openLogins({ ...options, server }, { oauth, secret, fetch: fetch(allowPrivate), allowPrivate });
  }

  async token(signal: AbortSignal): Promise<string | undefined> {
    try {
      return await this.#store.get(this.#key, signal);
    } catch (error) {
      if (!isGatehouseError(error)) throw error;
      const { code, hint } = error;
      const message = error.message.replace(this.#key, this.#server);
      throw code === 'GH2202' ? loginNeeded(this.#server, message) : new GatehouseError(code, message, { hint });
    }
  }

  async challenged(token: string | undefined, _challenge: Challenge, signal: AbortSignal): Promise<string> {
    if (token === undefined) throw loginNeeded(this.#server, 'no login for its address is stored');
    this.#store.refuse(this.#key, token);
    const next = await this.token(signal);
    if (next === undefined || next === token) throw loginNeeded(this.#server, 'it does not take the stored login any more');
    return next;
  }

  secrets(): readonly string[] {
    return this.#store.secrets();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#store[Symbol.asyncDispose]();
  }
}

/** Renewed so long before it expires. ms. */
const RENEW_BEFORE_MS = 60_000;

/** What Gatehouse gets by itself, with the secret or key of the config. Kept in memory alone. */
class OwnLogin implements ServerLogin {
  readonly #server: string;
  readonly #entry: OAuthEntry;
  readonly #options: LoginOptions;
  #found: Found | undefined;
  #granted: Granted | undefined;
  #running: Promise<string> | undefined;

  constructor(server: string, entry: OAuthEntry, options: LoginOptions) {
    this.#server = server;
    this.#entry = entry;
    this.#options = options;
  }

  async token(signal: AbortSignal): Promise<string | undefined> {
    const { accessToken, expiresAt = Number.POSITIVE_INFINITY } = this.#granted ?? {};
    if (expiresAt - this.#options.clock.now() > RENEW_BEFORE_MS) return accessToken;
    return await this.#renewed(undefined, signal);
  }

  async challenged(token: string | undefined, challenge: Challenge, signal: AbortSignal): Promise<string> {
    const current = this.#granted?.accessToken;
    return current !== undefined && current !== token ? current : await this.#renewed(challenge, signal);
  }

  secrets(): readonly string[] {
    return this.#granted ? [this.#granted.accessToken] : [];
  }

  /** Nothing of it is kept. */
  async [Symbol.asyncDispose](): Promise<void> {}

  /** One at a time. */
  async #renewed(challenge: Challenge | undefined, signal: AbortSignal): Promise<string> {
    const plain = (error: unknown): never => {
      if (!isGatehouseError(error) || error.code !== 'GH2201') throw error;
      const hint = 'check "oauth" of its entry in mcp_servers';
      throw new GatehouseError('GH2302', `${this.#server} gave no token: ${error.message}`, { hint });
    };
    this.#running ??= this.#renew(challenge)
      .catch(plain)
      .finally(() => {
        this.#running = undefined;
      });
    return await settledOrAborted(this.#running, signal);
  }

  async #renew(challenge: Challenge | undefined): Promise<string> {
    const { url, oauth, allow_private: allowPrivate } = this.#entry;
    const { clock, secret, fetch: base = addressedFetch } = this.#options;
    // It goes on when its callers give up; each request has a limit of its own.
    const { signal } = new AbortController();
    const fetch = oauthFetch({ fetch: base(allowPrivate), allowPrivate, clock, signal });
    const client = await configuredClient(oauth, secret);
    if (!client) throw new GatehouseError('GH2302', `${this.#server} has no "client_id" in its section "oauth"`);
    if (challenge || !this.#found) this.#found = await discover({ url, challenge, issuer: oauth.issuer, allowPrivate, fetch });
    const { issuer, metadata, resource, scopes } = this.#found;
    const { fetchToken } = await loadOAuth();
    const scope = (oauth.scopes.length > 0 ? oauth.scopes : scopes).join(' ');
    const provider = {
      redirectUrl: undefined,
      clientMetadata: { redirect_uris: [], ...(scope === '' ? {} : { scope }) },
      clientInformation: () => client.information,
      ...(client.addClientAuthentication ? { addClientAuthentication: client.addClientAuthentication } : {}),
      prepareTokenRequest: () => new URLSearchParams({ grant_type: 'client_credentials', ...(scope === '' ? {} : { scope }) }),
    };
    this.#granted = await askForTokens(
      () => fetchToken(provider as never, issuer, { ...(metadata ? { metadata } : {}), resource, fetchFn: fetch }),
      { clock, signal, secrets: [client.information.client_secret] },
    );
    return this.#granted.accessToken;
  }
}
