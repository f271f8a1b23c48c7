import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js';
import { expect, test } from 'vitest';
import { mcpServers } from '../../../config/sections/mcp.ts';
import type { Clock } from '../../core/ports.ts';
import { systemClock } from '../../lib/clock.ts';
import { quickClock } from '../../testing/channel-host.ts';
import { MemoryLogger } from '../../testing/fakes.ts';
import { type Listed, probe } from './look.ts';

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

interface Peer extends AsyncDisposable {
  readonly url: string;
  readonly requests: readonly IncomingMessage[];
}

/** On 127.0.0.1; what it is asked is kept. */
async function serve(handler: Handler): Promise<Peer> {
  const requests: IncomingMessage[] = [];
  const server: Server = createServer((request, response) => {
    requests.push(request);
    handler(request, response);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const close = async (): Promise<void> => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return { url: `http://127.0.0.1:${port}/mcp`, requests, [Symbol.asyncDispose]: close };
}

/** The server of the SDK, with one tool. `json`: it answers with documents in place of streams. */
async function sdkServer(json: boolean): Promise<Handler> {
  const server = new McpServer({ name: 'test', version: '1' });
  server.registerTool('hello', { description: 'greets' }, async () => ({ content: [{ type: 'text', text: 'hello' }] }));
  const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: () => 'session-1', enableJsonResponse: json });
  await server.connect(transport as Parameters<McpServer['connect']>[0]);
  return (request, response) => void transport.handleRequest(request, response);
}

async function look(
  url: string,
  entry: Record<string, unknown> = { allow_private: true },
  clock: Clock = quickClock(),
): Promise<Listed> {
  const parsed = mcpServers.parse({ web: { url, ...entry } })['web'];
  if (!parsed) throw new Error('no entry');
  const about = {
    version: '1',
    clock,
    dataDir: '/nowhere',
    env: {},
    secret: (name: string) => `${name}-VALUE`,
    logger: new MemoryLogger(),
  };
  return await probe('web', parsed, about, new AbortController().signal);
}

test.each([
  ['documents', true],
  ['streams', false],
])(
  'a server on HTTP that answers with %s is asked within one session, with the headers that its entry names',
  async (_how, json) => {
    await using peer = await serve(await sdkServer(json));
    const { tools } = await look(peer.url, { allow_private: true, bearer_env: 'TOKEN', headers_env: { 'x-team': 'TEAM' } });
    expect(tools.map(({ id }) => id)).toEqual(['mcp__web__hello']);
    const [first, ...others] = peer.requests;
    expect(first?.headers['mcp-session-id']).toBeUndefined();
    expect(others.map(({ headers }) => headers['mcp-session-id'])).toEqual(others.map(() => 'session-1'));
    for (const { headers } of peer.requests)
      expect(headers).toMatchObject({ authorization: 'Bearer TOKEN-VALUE', 'x-team': 'TEAM-VALUE' });
  },
);

test('A14 A19 an address of this machine is refused unless the entry allows it, and sees no connection', async () => {
  await using peer = await serve(await sdkServer(true));
  const { port } = new URL(peer.url);
  for (const host of [
    '127.0.0.1',
    'localhost',
    'LOCALHOST.',
    'a.localhost',
    '2130706433',
    '0x7f.1',
    '0177.0.0.1',
    '[::1]',
    '[::ffff:127.0.0.1]',
    '0',
  ])
    await expect(look(`http://${host}:${port}/mcp`, {}), host).rejects.toThrow(/private network|of this machine/);
  expect(peer.requests).toEqual([]);
});

test('A18 a redirect to another origin is not followed, so the key stays with its server', async () => {
  await using other = await serve((_request, response) => response.writeHead(200).end());
  await using peer = await serve((_request, response) => response.writeHead(307, { location: other.url }).end());
  await expect(look(peer.url, { allow_private: true, bearer_env: 'TOKEN' })).rejects.toThrow(/redirect/i);
  expect(other.requests).toEqual([]);
});

test.each([
  ['a document', 'application/json', '"'],
  ['a stream of events', 'text/event-stream', 'data: '],
])('A38 %s without an end is read up to the limit', async (_what, type, start) => {
  let sent = 0;
  await using peer = await serve((request, response) => {
    if (request.method !== 'POST') return void response.writeHead(405).end();
    response.writeHead(200, { 'content-type': type });
    response.write(start);
    const piece = 'x'.repeat(64 * 1024);
    const more = (): void => {
      while (!response.destroyed && response.write(piece)) sent += piece.length;
      sent += piece.length;
      if (!response.destroyed) response.once('drain', more);
    };
    more();
  });
  await expect(look(peer.url)).rejects.toThrow(/more than 1048576 bytes|did not answer/);
  expect(sent).toBeLessThan(32 * 1024 * 1024);
});

test('A38 a stream of whole events is ended once it brings more than 64 MiB within ten seconds', async () => {
  let sent = 0;
  const params = { data: 'x'.repeat(256 * 1024) };
  const event = `data: ${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/message', params })}\n\n`;
  await using peer = await serve((request, response) => {
    if (request.method !== 'POST') return void response.writeHead(405).end();
    response.writeHead(200, { 'content-type': 'text/event-stream' });
    const more = (): void => {
      if (response.destroyed || sent > 160 * 1024 * 1024) return;
      sent += event.length;
      if (response.write(event)) setImmediate(more);
      else response.once('drain', more);
    };
    more();
  });
  await expect(look(peer.url, undefined, systemClock)).rejects.toThrow('it sent more than 67108864 bytes in 10 s');
  expect(sent).toBeLessThan(96 * 1024 * 1024);
});

test.each([
  ['never answers', () => undefined, /did not answer within 30 s/],
  [
    'refuses the key',
    (_: IncomingMessage, response: ServerResponse): void => {
      response.writeHead(401).end('no');
    },
    /401|unauthor/i,
  ],
  [
    'is none',
    (_: IncomingMessage, response: ServerResponse): void => {
      response.writeHead(200, { 'content-type': 'text/html' }).end('<html>');
    },
    /content type/i,
  ],
  ['ends the connection', (request: IncomingMessage) => void request.socket.destroy(), /fetch failed|closed|socket/i],
] as const)('a server that %s is told with the reason', async (_what, handler, reason) => {
  await using peer = await serve(handler);
  await expect(look(peer.url)).rejects.toThrow(reason);
});
