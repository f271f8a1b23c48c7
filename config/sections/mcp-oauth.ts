import { z } from 'zod';
import { environmentName } from '../../src/lib/environment-name.ts';
import { isLoopbackName } from '../../src/lib/loopback-name.ts';
import { baseUrl } from './model.ts';

/** RFC 6749 3.3. */
const scope = z
  .string()
  .max(200)
  .regex(/^[\x21\x23-\x5b\x5d-\x7e]+$/, { error: 'must be one scope, without spaces' });

/** Section `oauth` of an entry of `mcp_servers`: how Gatehouse comes by the token that the server wants. */
export const mcpOAuth = z
  .strictObject({
    grant: z
      .enum(['authorization_code', 'client_credentials'])
      .default('authorization_code')
      .describe(
        'authorization_code: a person logs in with `gatehouse mcp login`. client_credentials: Gatehouse itself is the client that logs in, with its secret or key.',
      ),
    client_id: z
      .string()
      .min(1)
      .max(2_000)
      .regex(/^[\x20-\x7e]+$/, { error: 'must be printable ASCII' })
      .optional()
      .describe('What the authorization server calls this installation. Without it Gatehouse registers itself at each login.'),
    client_secret_env: environmentName.optional().describe('Name of the variable that holds the secret of client_id.'),
    private_key_env: environmentName
      .optional()
      .describe('Name of the variable that holds a private key of client_id (PEM, PKCS#8), which is used in place of a secret.'),
    issuer: baseUrl
      .optional()
      .describe(
        'The only authorization server that may be asked. Without it the MCP server names one. Needed beside a secret or a key: no other server is to see what they make.',
      ),
    client_metadata_url: z
      .url({ protocol: /^https$/, error: 'must be an https:// address' })
      .refine((value) => URL.parse(value)?.pathname !== '/', { error: 'must have a path' })
      .optional()
      .describe(
        'Address of a client metadata document of yours, for authorization servers that take one in place of a registration.',
      ),
    redirect_port: z
      .int()
      .min(1_024)
      .max(65_535)
      .optional()
      .describe('Port on 127.0.0.1 that the browser comes back to, path /callback. Default: any free one.'),
    scopes: z.array(scope).max(50).default([]).describe('What is asked for. Empty: what the server asks for.'),
  })
  .describe(
    'The server wants a login by OAuth 2.1. `{}` is enough for most: Gatehouse finds the authorization server and registers itself.',
  );

export type McpOAuth = z.output<typeof mcpOAuth>;

interface Entry {
  readonly url?: string | undefined;
  readonly bearer_env?: string | undefined;
  readonly headers_env: Readonly<Record<string, string>>;
  readonly allow_private: boolean;
  readonly oauth?: McpOAuth | undefined;
}

interface Wrong {
  readonly path: readonly string[];
  readonly message: string;
  readonly hint: string;
}

/** What in an entry does not fit its section `oauth`. */
export function oauthProblems({
  url,
  oauth,
  bearer_env: bearer,
  headers_env: headers,
  allow_private: isPrivate,
}: Entry): Wrong[] {
  if (!oauth) return [];
  const { client_id: id, client_secret_env: secret, private_key_env: key, issuer, grant, client_metadata_url: document } = oauth;
  const wrong: Wrong[] = [];
  const say = (path: readonly string[], message: string, hint: string): void => void wrong.push({ path, message, hint });
  if (bearer !== undefined) say(['bearer_env'], 'stands beside "oauth": there is one token', 'keep one of the two');
  if (Object.keys(headers).some((name) => name.toLowerCase() === 'authorization'))
    say(['headers_env'], 'has "Authorization" beside "oauth": there is one token', 'keep one of the two');
  if (url !== undefined && !isSafeForTokens(url, isPrivate))
    say(
      ['url'],
      'is not encrypted, and "oauth" sends a token there',
      'use https; http is for this machine only, with allow_private',
    );
  if (issuer !== undefined && !isSafeForTokens(issuer, isPrivate))
    say(['oauth', 'issuer'], 'is not encrypted', 'use https; http is for this machine only, with allow_private');
  if (secret !== undefined && key !== undefined)
    say(['oauth', 'private_key_env'], 'stands beside "client_secret_env"', 'keep one of the two');
  if ((secret ?? key) !== undefined && (id === undefined || issuer === undefined))
    say(['oauth'], 'has a secret or a key without "client_id" and "issuer"', 'add what the authorization server gave you');
  if (grant === 'client_credentials' && (secret ?? key) === undefined)
    say(['oauth', 'grant'], 'needs a secret or a key', 'add "client_secret_env" or "private_key_env"');
  if (document !== undefined && (id !== undefined || grant === 'client_credentials'))
    say(['oauth', 'client_metadata_url'], 'does nothing beside "client_id"', 'remove one of the two');
  if (oauth.redirect_port !== undefined && grant === 'client_credentials')
    say(['oauth', 'redirect_port'], 'does nothing beside "client_credentials"', 'remove it');
  return wrong;
}

/** Codes, tokens and secrets travel encrypted, or stay on this machine (RFC 6749 3.1.2.1, RFC 8252 8.3). */
export function isSafeForTokens(address: string | URL, allowsPrivate: boolean): boolean {
  const { protocol, hostname } = new URL(address);
  return protocol === 'https:' || (protocol === 'http:' && allowsPrivate && isLoopbackName(hostname));
}
