/**
 * Logins of people at MCP servers, as they lie on disk: written by the command line, read and renewed by the
 * daemon.
 */
import { createHash } from 'node:crypto';
import { join } from 'node:path';
import type { McpOAuth } from '../../../../config/sections/mcp-oauth.ts';
import type { ReadSecret } from '../../../core/channel.ts';
import { errorText, isGatehouseError } from '../../../core/errors.ts';
import type { Clock, Logger } from '../../../core/ports.ts';
import { AuthFile } from '../../../lib/auth/auth-file.ts';
import { type Credential, fromStored } from '../../../lib/auth/credential.ts';
import type { Renewal, RenewOptions } from '../../../lib/auth/oauth.ts';
import { type AuthStore, openAuthStore } from '../../../lib/auth/store.ts';
import type { McpFetch } from '../http.ts';
import { loadOAuth } from '../sdk.ts';
import { configuredClient, type OAuthClient } from './client.ts';
import type { Found } from './discover.ts';
import { oauthFetch } from './fetch.ts';
import { askForTokens, type Granted, Refused } from './tokens.ts';

export interface LoginPlace {
  readonly server: string;
  readonly url: string;
  readonly dataDir: string;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** How a login is renewed: as the entry is now. */
export interface Renewer {
  readonly oauth: McpOAuth;
  readonly secret: ReadSecret;
  /** Keeps to addresses that the entry allows. */
  readonly fetch: McpFetch;
  readonly allowPrivate: boolean;
}

/**
 * Of one server alone: the file is locked while a login is renewed, and a server that does not answer must
 * hold up no other one.
 */
export function openLogins({ server, dataDir, clock, logger }: Omit<LoginPlace, 'url'>, renewer?: Renewer): AuthStore {
  return openAuthStore({
    dir: join(dataDir, 'mcp-logins', server.toLowerCase()),
    clock,
    log: logger,
    loginCommand: `gatehouse mcp login ${server}`,
    ...(renewer ? { renew: (options: RenewOptions) => renew(options, renewer) } : {}),
  });
}

/** A login is looked up by the address that it is for, so that no other one is sent its token. */
export function loginKey({ server, url }: Pick<LoginPlace, 'server' | 'url'>): string {
  return `${server.toLowerCase()}-${createHash('sha256').update(url).digest('hex').slice(0, 16)}`;
}

/** As it lies on disk, with what it is bound to. */
export async function readLogin(store: AuthStore, key: string): Promise<Credential | undefined> {
  const credentials = (await new AuthFile(store.path).read())?.credentials;
  const stored = credentials && Object.hasOwn(credentials, key) ? credentials[key] : undefined;
  return stored && fromStored(key, stored);
}

/** What is written of a login: all that its renewal needs, so that no server has to be asked again then. */
export function toCredential(
  key: string,
  granted: Granted,
  about: { readonly found: Found; readonly client: OAuthClient },
): Credential {
  const { found, client } = about;
  const { issuer, metadata, resource } = found;
  const { client_id: clientId, client_secret: secret } = client.information;
  const method: unknown = Reflect.get(client.information, 'token_endpoint_auth_method');
  const binding = {
    resource,
    token_endpoint: metadata?.token_endpoint ?? new URL('/token', issuer).href,
    token_endpoint_auth_methods: metadata?.token_endpoint_auth_methods_supported?.join(' '),
    revocation_endpoint: metadata?.revocation_endpoint,
    client_secret: secret,
    auth_method: typeof method === 'string' ? method : undefined,
    scope: granted.scope ?? found.scopes.join(' '),
  };
  return {
    provider: key,
    accessToken: granted.accessToken,
    refreshToken: granted.refreshToken,
    expiresAt: granted.expiresAt,
    authMethod: 'oauth',
    issuer,
    clientId,
    binding: Object.fromEntries(Object.entries(binding).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]))),
  };
}

/** The client that a login was made by: the config's, while it is the same. */
export async function clientOf(
  { clientId = '', binding }: Pick<Credential, 'clientId' | 'binding'>,
  { oauth, secret }: Pick<Renewer, 'oauth' | 'secret'>,
): Promise<OAuthClient> {
  const configured = oauth.client_id === clientId ? await configuredClient(oauth, secret) : undefined;
  if (configured) return configured;
  const { client_secret: kept, auth_method: method } = binding ?? {};
  return {
    information: {
      client_id: clientId,
      ...(kept === undefined ? {} : { client_secret: kept }),
      ...(method === undefined ? {} : { token_endpoint_auth_method: method }),
    },
  };
}

async function renew(options: RenewOptions, renewer: Renewer): Promise<Renewal> {
  const { issuer, refreshToken, binding = {}, clock, signal } = options;
  try {
    const { refreshAuthorization } = await loadOAuth();
    const client = await clientOf(options, renewer);
    const { resource, token_endpoint: endpoint = '', token_endpoint_auth_methods: methods } = binding;
    const tokens = await askForTokens(
      () =>
        refreshAuthorization(issuer, {
          metadata: metadataOf(issuer, endpoint, methods),
          clientInformation: client.information,
          ...(client.addClientAuthentication ? { addClientAuthentication: client.addClientAuthentication } : {}),
          refreshToken,
          ...(resource === undefined ? {} : { resource }),
          fetchFn: oauthFetch({ ...renewer, clock, signal }),
        }),
      { clock, signal, secrets: [refreshToken, client.information.client_secret] },
    );
    const { scope: _scope, ...plain } = tokens;
    return { ok: true, tokens: plain };
  } catch (error) {
    signal.throwIfAborted();
    return { ok: false, reason: isGatehouseError(error) ? error.message : errorText(error), final: error instanceof Refused };
  }
}

/** As much of it as a request for tokens reads. */
export function metadataOf(issuer: string, endpoint: string, methods: string | undefined) {
  return {
    issuer,
    token_endpoint: endpoint,
    authorization_endpoint: endpoint,
    response_types_supported: [],
    ...(methods === undefined ? {} : { token_endpoint_auth_methods_supported: methods.split(' ') }),
  };
}
