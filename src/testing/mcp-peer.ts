/**
 * An MCP server on HTTP that wants tokens, and the authorization server that it names: of one origin, as
 * small as they can be, and every answer of theirs can be replaced. Never shipped.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';

export interface PeerRequest {
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly headers: IncomingMessage['headers'];
  readonly body: string;
}

/** never: the request is not answered. */
export type PeerAnswer =
  | { readonly status?: number; readonly headers?: Readonly<Record<string, string>>; readonly body?: unknown }
  | 'never';

export interface McpPeer extends AsyncDisposable {
  /** As it calls itself. */
  readonly origin: string;
  readonly url: string;
  /** Where it listens. */
  readonly local: string;
  /** In order; of `/mcp` with the method of the protocol: `POST /mcp initialize`. */
  readonly requests: string[];
  /** Authorization of each request to the MCP server. */
  readonly authorizations: (string | undefined)[];
  /** Forms that the token endpoint was sent. */
  readonly forms: URLSearchParams[];
  /** By path: in place of the answer that would be given; undefined = that one. */
  readonly routes: Record<string, (request: PeerRequest) => PeerAnswer | undefined>;
  /** Replaces fields of metadata and of tokens. */
  readonly resource: Record<string, unknown>;
  readonly issuer: Record<string, unknown>;
  readonly granted: Record<string, unknown>;
  /** Whether the MCP server takes a token; by default those that were given last. */
  takes: (token: string | undefined, method: string) => boolean | Promise<boolean>;
  /** Header of a refusal. */
  challenge: string;
}

const tool = { name: 'note', description: 'writes it down', inputSchema: { type: 'object' } };

/** `publicName`: what it calls itself, by default where it listens. */
export async function startMcpPeer(publicName?: string): Promise<McpPeer> {
  const server = createServer((request, response) => void serve(request, response));
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const local = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const origin = publicName ?? local;
  let serial = 0;
  let current: string | undefined;
  let refresh: string | undefined;
  const peer: McpPeer = {
    ...{ origin, local, url: `${origin}/mcp`, requests: [], authorizations: [], forms: [], routes: {} },
    ...{ resource: {}, issuer: {}, granted: {} },
    takes: (token) => token !== undefined && token === current,
    challenge: `Bearer resource_metadata="${origin}/.well-known/oauth-protected-resource/mcp", scope="notes:read"`,
    [Symbol.asyncDispose]: async () => {
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };

  async function serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname: path, searchParams: query } = new URL(request.url ?? '/', origin);
    const body = await text(request);
    const { method = 'GET', headers } = request;
    const rpc = path === '/mcp' && method === 'POST' ? (JSON.parse(body) as { id?: unknown; method?: string }) : undefined;
    peer.requests.push([method, path, ...(rpc?.method === undefined ? [] : [rpc.method])].join(' '));
    if (path === '/mcp') peer.authorizations.push(headers.authorization);
    const asked = { method, path, query, headers, body };
    const answer = peer.routes[path]?.(asked) ?? (rpc ? await protocol(rpc, headers.authorization) : ordinary(asked));
    if (answer === 'never') return;
    const { status = 200, headers: more = {}, body: said = '' } = answer;
    const content = typeof said === 'string' || Buffer.isBuffer(said) ? said : JSON.stringify(said);
    response.writeHead(status, { 'content-type': 'application/json', ...more }).end(content);
  }

  async function protocol(
    { id, method = '' }: { id?: unknown; method?: string },
    authorization: string | undefined,
  ): Promise<PeerAnswer> {
    if (!(await peer.takes(authorization?.replace(/^Bearer /, ''), method)))
      return { status: 401, headers: { 'www-authenticate': peer.challenge }, body: {} };
    if (id === undefined) return { status: 202 };
    const results: Readonly<Record<string, unknown>> = {
      initialize: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'peer', version: '1' } },
      'tools/list': { tools: [tool] },
      'tools/call': { content: [{ type: 'text', text: 'written' }] },
    };
    return { body: { jsonrpc: '2.0', id, result: results[method] ?? {} } };
  }

  function ordinary({ path, query, body }: PeerRequest): PeerAnswer {
    const token = `${origin}/token`;
    if (path === '/.well-known/oauth-protected-resource/mcp')
      return {
        body: { resource: peer.url, authorization_servers: [origin], scopes_supported: ['notes:read'], ...peer.resource },
      };
    if (path === '/.well-known/oauth-authorization-server')
      return {
        body: {
          ...{ issuer: origin, authorization_endpoint: `${origin}/authorize`, token_endpoint: token },
          ...{ registration_endpoint: `${origin}/register`, revocation_endpoint: `${origin}/revoke` },
          ...{ response_types_supported: ['code'], code_challenge_methods_supported: ['S256'] },
          ...{ token_endpoint_auth_methods_supported: ['none'], ...peer.issuer },
        },
      };
    if (path === '/register') return { status: 201, body: { ...(JSON.parse(body) as object), client_id: `client-${++serial}` } };
    if (path === '/authorize') {
      const back = new URL(query.get('redirect_uri') ?? '');
      back.searchParams.set('code', `code-of-a-person-${++serial}`);
      back.searchParams.set('state', query.get('state') ?? '');
      return { status: 302, headers: { location: back.href } };
    }
    if (path === '/token') return give(new URLSearchParams(body));
    if (path === '/revoke') return { status: 200 };
    return { status: 404, body: {} };
  }

  /** Refresh tokens are used once. */
  function give(form: URLSearchParams): PeerAnswer {
    peer.forms.push(form);
    const isRefresh = form.get('grant_type') === 'refresh_token';
    if (isRefresh && form.get('refresh_token') !== refresh)
      return { status: 400, body: { error: 'invalid_grant', error_description: 'the refresh token was used before' } };
    [current, refresh] = [`access-token-${++serial}`, `refresh-token-${serial}`];
    const expiry = { token_type: 'Bearer', expires_in: 3_600 };
    return { body: { access_token: current, refresh_token: refresh, ...expiry, ...peer.granted } };
  }

  return peer;
}

/** A person who agrees to everything: follows the link, and goes back to where it sends the browser. */
export async function followLink(link: string): Promise<string> {
  const answer = await fetch(link, { redirect: 'manual' });
  const back = answer.headers.get('location');
  if (back === null) throw new Error(`${link} sends the browser nowhere (HTTP status ${answer.status})`);
  return await (await fetch(back)).text();
}
