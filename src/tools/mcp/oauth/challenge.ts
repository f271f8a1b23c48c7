/** What a server says when it wants a token, or another one. */
import { GatehouseError } from '../../../core/errors.ts';
import { loadOAuth } from '../sdk.ts';

const MAX_SCOPES = 50;
const MAX_SCOPE_CHARS = 200;

export interface Challenge {
  /** token: it wants a token, or not the one that it was sent. scope: the token does not reach far enough. */
  readonly wants: 'token' | 'scope';
  /** Where the server's metadata is (RFC 9728 5.1). */
  readonly metadataUrl?: URL;
  readonly scopes: readonly string[];
}

/** Undefined where the answer asks for no token. */
export async function challengeOf({ status, headers }: Response): Promise<Challenge | undefined> {
  if (status !== 401 && status !== 403) return undefined;
  const { extractWWWAuthenticateParams } = await loadOAuth();
  const { resourceMetadataUrl, scope, error } = extractWWWAuthenticateParams(new Response(null, { headers }));
  if (status === 403 && error !== 'insufficient_scope') return undefined;
  return {
    wants: status === 401 ? 'token' : 'scope',
    ...(resourceMetadataUrl === undefined ? {} : { metadataUrl: resourceMetadataUrl }),
    scopes: scopesOf(scope),
  };
}

/** The scopes of a list of a server (RFC 6749 3.3); what is none is left out. */
export function scopesOf(list: string | undefined): readonly string[] {
  return (list ?? '')
    .split(' ')
    .filter((scope) => /^[\x21\x23-\x5b\x5d-\x7e]+$/.test(scope) && scope.length <= MAX_SCOPE_CHARS)
    .slice(0, MAX_SCOPES);
}

/** Only a person can help: the connection is given up until one has. */
export function loginNeeded(server: string, why: string): GatehouseError {
  return new GatehouseError('GH2304', `${server} wants a login: ${why}`, { hint: `run \`gatehouse mcp login ${server}\`` });
}

/** Scopes that a shell takes as they are; others are not put into a command. */
const PLAIN_SCOPE = /^[A-Za-z0-9._:/-]+$/;

/** In one command. */
const MOST_NAMED = 10;

/** A call that the login does not cover; others may go on. */
export class ScopeNeeded extends GatehouseError {
  readonly scopes: readonly string[];

  constructor(server: string, scopes: readonly string[]) {
    const plain = scopes.filter((scope) => PLAIN_SCOPE.test(scope)).slice(0, MOST_NAMED);
    const more = plain.map((scope) => ` --scope ${scope}`).join('');
    super('GH2305', `the login at ${server} does not cover this (it wants ${scopes.join(' ') || 'more than it says'})`, {
      hint: `run \`gatehouse mcp login ${server}${more}\``,
    });
    this.scopes = scopes;
  }
}
