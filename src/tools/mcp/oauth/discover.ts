// server -> its metadata (RFC 9728) -> authorization server -> its metadata (RFC 8414, OpenID Connect
//   Discovery 1.0)

/** Where the tokens of a server come from. All that is read here was written by strangers. */
import { z } from 'zod';
import { printable } from '../../../lib/printable.ts';
import type { McpFetch } from '../http.ts';
import { loadOAuth } from '../sdk.ts';
import { type Challenge, scopesOf } from './challenge.ts';
import { loginFailed, mustBeSafe } from './fetch.ts';

const url = z.url({ protocol: /^https?$/ }).max(2_000);
const names = z.array(z.string().max(500)).max(500);

const RESOURCE = z.looseObject({
  resource: url,
  authorization_servers: z.array(url).max(20).optional(),
  scopes_supported: names.optional(),
});

const SERVER = z.looseObject({
  issuer: url,
  authorization_endpoint: url,
  token_endpoint: url,
  registration_endpoint: url.optional(),
  revocation_endpoint: url.optional(),
  response_types_supported: names,
  scopes_supported: names.optional(),
  token_endpoint_auth_methods_supported: names.optional(),
  code_challenge_methods_supported: names.optional(),
  client_id_metadata_document_supported: z.boolean().optional(),
  authorization_response_iss_parameter_supported: z.boolean().optional(),
});

/** Of an authorization server, checked. */
export type ServerMetadata = z.output<typeof SERVER>;

export interface Found {
  readonly issuer: string;
  /** Absent for servers of 2025-03-26 that have none: their endpoints have fixed names. */
  readonly metadata: ServerMetadata | undefined;
  /** What tokens are asked for (RFC 8707). */
  readonly resource: string;
  /** What the server asks for; empty: it does not say. */
  readonly scopes: readonly string[];
}

export interface DiscoverOptions {
  /** Of the MCP server. */
  readonly url: string;
  readonly challenge: Challenge | undefined;
  /** The only authorization server that may be asked, where the config names it. */
  readonly issuer: string | undefined;
  readonly allowPrivate: boolean;
  readonly fetch: McpFetch;
}

/**
 * Rejects with GH2201 where the server names no authorization server, one that it may not be, or none that
 * says of itself what it has to.
 */
export async function discover({ url: server, challenge, issuer: only, allowPrivate, fetch }: DiscoverOptions): Promise<Found> {
  const { checkResourceAllowed } = await loadOAuth();
  const about = await resourceMetadata(server, challenge?.metadataUrl, fetch);
  if (about && !checkResourceAllowed({ requestedResource: server, configuredResource: about.resource }))
    throw loginFailed(`${new URL(server).host} says that it is ${printable(about.resource)}`, 'check the url in mcp_servers');
  const named = about?.authorization_servers ?? [];
  if (about && only !== undefined && !named.some((one) => sameIssuer(one, only)))
    throw loginFailed(`${new URL(server).host} does not name the issuer of the config`, 'check oauth.issuer in mcp_servers');
  // Servers of 2025-03-26 are their own authorization servers.
  const issuer = only ?? named[0] ?? new URL(server).origin;
  const isOwn = (about ?? only) === undefined;
  const metadata = await serverMetadata(issuer, isOwn, fetch);
  if (!metadata && !isOwn) throw loginFailed(`${printable(issuer)} says nothing of itself`);
  for (const end of [metadata?.authorization_endpoint, metadata?.token_endpoint, metadata?.registration_endpoint])
    if (end !== undefined) mustBeSafe(end, allowPrivate);
  const asked = challenge?.scopes ?? [];
  return {
    issuer: metadata?.issuer ?? issuer,
    metadata,
    resource: about?.resource ?? withoutFragment(server),
    scopes: asked.length > 0 ? asked : scopesOf(about?.scopes_supported?.join(' ')),
  };
}

/** RFC 8414 3.3: compared as they are written, but for a `/` at the end, which a parser of URLs adds. */
export function sameIssuer(a: string, b: string): boolean {
  return a.replace(/\/$/, '') === b.replace(/\/$/, '');
}

/** RFC 9728 3.1: where the challenge says, else below the path of the server, else at its root. */
async function resourceMetadata(server: string, named: URL | undefined, fetch: McpFetch) {
  const { origin, pathname } = new URL(server);
  const root = `${origin}/.well-known/oauth-protected-resource`;
  const places = pathname === '/' ? [root] : [`${root}${pathname.replace(/\/$/, '')}`, root];
  for (const place of named ? [named.href] : places) {
    const found = await read(place, RESOURCE, fetch);
    if (found) return found;
  }
  if (named) throw loginFailed(`${printable(named.href).slice(0, 200)} has no metadata of the server`);
  return undefined;
}

/** `isOwn`: the MCP server is its own; by the rules of 2025-03-26 that is at the root, whatever its path. */
async function serverMetadata(issuer: string, isOwn: boolean, fetch: McpFetch): Promise<ServerMetadata | undefined> {
  const { buildDiscoveryUrls } = await loadOAuth();
  for (const { url: place } of buildDiscoveryUrls(issuer)) {
    const found = await read(place, SERVER, fetch);
    if (!found) continue;
    if (!sameIssuer(isOwn ? new URL(found.issuer).origin : found.issuer, issuer))
      throw loginFailed(`${printable(issuer)} says that it is ${printable(found.issuer)}`, 'tell the people who run the server');
    return found;
  }
  return undefined;
}

/** Undefined where there is nothing; a redirect and a page for people are nothing too. */
async function read<T>(place: string | URL, schema: z.ZodType<T>, fetch: McpFetch): Promise<T | undefined> {
  const answer = await fetch(place, { headers: { accept: 'application/json' } });
  const { host } = new URL(place);
  if (answer.status >= 500) throw loginFailed(`${printable(host)} answered with HTTP status ${answer.status}`);
  if (!answer.ok) return undefined;
  const value: unknown = await answer.json().catch(() => undefined);
  if (value === undefined) return undefined;
  const parsed = schema.safeParse(value);
  if (parsed.success) return parsed.data;
  const field = parsed.error.issues[0]?.path.join('.') ?? '';
  throw loginFailed(
    `the metadata of ${printable(host)} is not as it should be${field === '' ? '' : ` (${printable(field).slice(0, 60)})`}`,
  );
}

function withoutFragment(address: string): string {
  const plain = new URL(address);
  plain.hash = '';
  return plain.href;
}
