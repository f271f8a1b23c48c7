/** Which client Gatehouse is to an authorization server, and how it shows that it is. */
import { createPrivateKey, type KeyObject } from 'node:crypto';
import type { AddClientAuthentication } from '@modelcontextprotocol/sdk/client/auth.js';
import type { OAuthClientInformationMixed } from '@modelcontextprotocol/sdk/shared/auth.js';
import type { McpOAuth } from '../../../../config/sections/mcp-oauth.ts';
import type { ReadSecret } from '../../../core/channel.ts';
import { GatehouseError } from '../../../core/errors.ts';
import type { McpFetch } from '../http.ts';
import { loadOAuth } from '../sdk.ts';
import type { Found } from './discover.ts';
import { loginFailed } from './fetch.ts';
import { MIN_SECRET_CHARS, plainly } from './tokens.ts';

export interface OAuthClient {
  readonly information: OAuthClientInformationMixed;
  /** In place of the ways that the SDK knows. */
  readonly addClientAuthentication?: AddClientAuthentication;
}

/** Rejects with GH1103 where a variable is unset or holds no key. Undefined: the config names no client. */
export async function configuredClient(oauth: McpOAuth, secret: ReadSecret): Promise<OAuthClient | undefined> {
  const { client_id: id, client_secret_env: secretVariable, private_key_env: keyVariable } = oauth;
  if (id === undefined) return undefined;
  if (secretVariable !== undefined) return { information: { client_id: id, client_secret: secret(secretVariable) } };
  if (keyVariable === undefined) return { information: { client_id: id } };
  const { createPrivateKeyJwtAuth } = await loadOAuth();
  const pem = secret(keyVariable);
  const sign = createPrivateKeyJwtAuth({ issuer: id, subject: id, privateKey: pem, alg: algorithmOf(pem, keyVariable) });
  return { information: { client_id: id }, addClientAuthentication: sign };
}

/** The config's client, else the document it names where the server takes one, else a new registration. */
export async function clientFor(
  oauth: McpOAuth,
  about: {
    readonly found: Found;
    readonly redirectUri: string;
    readonly secret: ReadSecret;
    readonly fetch: McpFetch;
    readonly signal: AbortSignal;
  },
): Promise<OAuthClient> {
  const { found, redirectUri, secret, fetch, signal } = about;
  const { metadata } = found;
  const configured = await configuredClient(oauth, secret);
  if (configured) return configured;
  const { client_metadata_url: document } = oauth;
  if (document !== undefined && metadata?.client_id_metadata_document_supported === true)
    return { information: { client_id: document } };
  if (metadata && metadata.registration_endpoint === undefined)
    throw loginFailed(
      'the authorization server registers no clients by itself',
      'register Gatehouse there, and put "client_id" into "oauth"',
    );
  const { registerClient } = await loadOAuth();
  // Some refuse to register scopes of a server behind them, and a list in part would shut out the rest.
  const supported = metadata?.scopes_supported;
  const isKnown = supported === undefined || found.scopes.every((one) => supported.includes(one));
  const scope = isKnown ? found.scopes.join(' ') : '';
  const asked = {
    ...(metadata ? { metadata } : {}),
    clientMetadata: {
      client_name: 'Gatehouse',
      redirect_uris: [redirectUri],
      grant_types: ['authorization_code', 'refresh_token'],
      response_types: ['code'],
      token_endpoint_auth_method: methodFor(metadata?.token_endpoint_auth_methods_supported),
      // A native client may come back on any port (RFC 8252 7.3).
      ...{ application_type: 'native' },
    },
    ...(scope === '' ? {} : { scope }),
    fetchFn: fetch,
  };
  const information = await plainly(() => registerClient(found.issuer, asked), { signal });
  if ((information.client_secret?.length ?? MIN_SECRET_CHARS) < MIN_SECRET_CHARS)
    throw loginFailed('the authorization server registered Gatehouse with what is no secret');
  return { information };
}

/** A program that people install keeps no secret (RFC 8252 8.5), so it wants none where that is allowed. */
function methodFor(supported: readonly string[] = ['none']): string {
  return ['none', 'client_secret_basic', 'client_secret_post'].find((method) => supported.includes(method)) ?? 'none';
}

const CURVES: Readonly<Record<string, string>> = { prime256v1: 'ES256', secp384r1: 'ES384', secp521r1: 'ES512' };

function algorithmOf(pem: string, variable: string): string {
  let key: KeyObject | undefined;
  try {
    key = createPrivateKey(pem);
  } catch {
    // No `cause`: it may quote the key.
  }
  const curve = key?.asymmetricKeyDetails?.namedCurve ?? '';
  const algorithm = key?.asymmetricKeyType === 'rsa' ? 'RS256' : CURVES[curve];
  if (algorithm !== undefined) return algorithm;
  throw new GatehouseError('GH1103', `${variable} holds no private key that can be used`, {
    hint: 'put an RSA or EC key there, as PEM in the form PKCS#8 (BEGIN PRIVATE KEY)',
  });
}
