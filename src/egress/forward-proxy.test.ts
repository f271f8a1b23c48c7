import { once } from 'node:events';
import { type AddressInfo, connect, createServer, type Socket } from 'node:net';
import { text } from 'node:stream/consumers';
import { describe, expect, onTestFinished, test } from 'vitest';
import { until } from '../testing/fakes.ts';
import { NAMES, NO_HOST, OWN_ADDRESSES, OWN_MACHINE, OWN_NETWORK } from '../testing/forbidden-hosts.ts';
import { expectQuick } from '../testing/quick.ts';
import { SteadyClock } from '../testing/steady-clock.ts';
import { ANYWHERE, type WebPeer, webPeer } from '../testing/web-peer.ts';
import type { Connector } from './connect.ts';
import type { EgressRules } from './destination.ts';
import { endToEnd, ForwardProxy } from './forward-proxy.ts';

/** A proxy, and how a program connects to it. */
async function proxyFor(
  connector: Connector,
  { rules = () => ANYWHERE, maxBytes = 10_000_000 }: { readonly rules?: () => EgressRules; readonly maxBytes?: number } = {},
) {
  const proxy = new ForwardProxy({ ...connector, clock: new SteadyClock(), rules, maxBytes });
  const server = createServer({ allowHalfOpen: true }, (socket) => proxy.accept(socket)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  onTestFinished(() => {
    proxy[Symbol.dispose]();
    server.close();
  });
  const open = (said: string): Socket => {
    const socket = connect({ port, host: '127.0.0.1', allowHalfOpen: true });
    socket.on('error', () => undefined);
    socket.write(said);
    return socket;
  };
  return { proxy, open, ask: async (said: string) => await text(open(said)) };
}

const get = (url: string, more = ''): string => `GET ${url} HTTP/1.1\r\nhost: spoofed.example\r\n${more}\r\n`;
const tunnel = (to: string): string => `CONNECT ${to} HTTP/1.1\r\nhost: ${to}\r\n\r\n`;

async function peer(options: Connector = {}): Promise<WebPeer> {
  const web = await webPeer(
    (_, response) => void response.writeHead(200, { 'set-cookie': ['a=1', 'b=2'], 'keep-alive': 'timeout=9' }).end('page'),
    options,
  );
  onTestFinished(() => web[Symbol.asyncDispose]());
  return web;
}

test('a request is passed on to the host of its address, without what was meant for the proxy', async () => {
  const web = await peer();
  const { ask } = await proxyFor(web.connector);
  const more = 'proxy-authorization: Basic x\r\nproxy-connection: keep-alive\r\nconnection: x-hop\r\nx-hop: 1\r\nx-kept: 2\r\n';
  const answer = await ask(get('http://a.example/p?q=1', more));
  expect(answer).toMatch(/^HTTP\/1\.1 200 OK\r\nset-cookie: a=1\r\nset-cookie: b=2\r\n/);
  expect(answer).not.toContain('timeout=9');
  expect(answer).toMatch(/page\r\n|page$/);
  expect(web.seen).toHaveLength(1);
  const { host, url, headers } = web.seen[0] ?? {};
  expect([host, url, headers?.['x-kept'], headers?.['x-hop'], headers?.['proxy-authorization']]).toEqual([
    'a.example',
    '/p?q=1',
    '2',
    undefined,
    undefined,
  ]);
});

test('a body is passed on, and so is what comes through a tunnel', async () => {
  const web = await peer();
  const { ask, open } = await proxyFor(web.connector);
  await ask('POST http://a.example/form HTTP/1.1\r\nhost: a.example\r\ncontent-length: 5\r\n\r\nhello');
  expect(web.seen[0]).toMatchObject({ method: 'POST', body: 'hello' });
  const socket = open(tunnel('a.example:443'));
  const [first] = await once(socket, 'data');
  expect(String(first)).toBe('HTTP/1.1 200 Connection established\r\n\r\n');
  socket.write('GET /inside HTTP/1.1\r\nhost: a.example\r\nconnection: close\r\n\r\n');
  expect(await text(socket)).toContain('page');
  expect(web.seen[1]).toMatchObject({ url: '/inside' });
});

describe('A14 A15 A16 no spelling of a host leads to this machine or its network', () => {
  test('in a request or a tunnel, none of them is connected to', async () => {
    const dialled: string[] = [];
    const { ask, proxy } = await proxyFor({
      ownAddresses: () => OWN_ADDRESSES,
      resolve: async (host) => {
        const address = NAMES[host];
        if (address === undefined) throw Object.assign(new Error('not found'), { code: 'ENOTFOUND' });
        return address === '' ? [] : [{ address, family: address.includes(':') ? 6 : 4 }];
      },
      dial: (to) => {
        dialled.push(to.host);
        throw new Error('stop here');
      },
    });
    const all = [...OWN_MACHINE, ...OWN_NETWORK, ...NO_HOST];
    expect(all.length).toBeGreaterThanOrEqual(120);
    // As a client writes them: what cannot stand in a line of HTTP is refused by its parser.
    for (const host of all.map((one) => Buffer.from(one).toString('latin1'))) {
      for (const said of [get(`http://${host}/x`), get(`http://${host}:8080/`), tunnel(`${host}:443`), tunnel(`${host}:80`)]) {
        const answer = await ask(said);
        expect({ said, answer: answer.slice(9, 12) }).toMatchObject({ answer: expect.stringMatching(/^(?:403|502|)$/) });
      }
    }
    expect(dialled).toEqual([]);
    expect(proxy.renew().length).toBeGreaterThan(0);
    expect((await ask(tunnel('example.org:443'))).slice(9, 12)).toBe('502');
    expect(dialled).toEqual(['example.org']);
  });
});

test.each([
  get('/path'),
  get('https://a.example/'),
  get('http://user:x@a.example/'),
  get('http://a.example:25/'),
  tunnel('a.example:22'),
  tunnel('a.example'),
  tunnel('user@a.example:443'),
  tunnel('a.example:443/path'),
  tunnel('http://a.example:443'),
])('%j is refused', async (said) => {
  const web = await peer();
  const { ask } = await proxyFor(web.connector);
  expect((await ask(said)).slice(9, 12)).toMatch(/^40[03]$/);
  expect(web.dialled).toEqual([]);
});

test('A17 a name is looked up for each connection, and what was checked is what is connected to', async () => {
  const answers = ['93.184.216.34', '127.0.0.1', '93.184.216.34', '169.254.169.254'];
  const web = await peer({ resolve: async () => [{ address: answers.shift() ?? '127.0.0.1', family: 4 }] });
  const { ask } = await proxyFor(web.connector);
  const codes = [];
  for (let count = 0; count < 4; count += 1) codes.push((await ask(get('http://rebinding.example/'))).slice(9, 12));
  expect(codes).toEqual(['200', '403', '200', '403']);
  expect(web.dialled).toEqual(['93.184.216.34', '93.184.216.34']);
});

test('what the operator comes to forbid is closed with the next action, and what was refused is told once', async () => {
  const web = await peer();
  let denyDomains: readonly string[] = [];
  const { proxy, open, ask } = await proxyFor(web.connector, { rules: () => ({ ...ANYWHERE, denyDomains }) });
  const socket = open(tunnel('chat.example:443'));
  await once(socket, 'data');
  expect(proxy.renew()).toEqual([]);
  expect(socket.closed).toBe(false);
  denyDomains = ['example'];
  expect(await ask(get('http://a.example/'))).toContain('the operator does not allow this domain');
  expect(proxy.renew()).toEqual(['"http://a.example/" was refused: the operator does not allow this domain']);
  expect(proxy.renew()).toEqual([]);
  socket.resume();
  await until('the tunnel is closed', () => socket.closed || socket.readableEnded);
});

test('after too many bytes every connection is closed', async () => {
  const web = await webPeer((_, response) => void response.end(Buffer.alloc(100_000)));
  onTestFinished(() => web[Symbol.asyncDispose]());
  const { proxy, open } = await proxyFor(web.connector, { maxBytes: 50_000 });
  const other = open(tunnel('b.example:443'));
  await once(other, 'data');
  let got = 0;
  const socket = open(get('http://a.example/'));
  socket.on('data', (chunk: Buffer) => {
    got += chunk.length;
  });
  other.resume();
  await until('all is closed', () => (socket.closed || socket.readableEnded) && (other.closed || other.readableEnded));
  expect(got).toBeLessThan(100_000);
  expect(proxy.renew()).toEqual(['the page moved more than 50000 bytes']);
});

test('a status that no answer may have is a broken connection, and nothing else ends', async () => {
  const statuses = ['000 OK', '099 Low', '200 Fine'];
  const web = await webPeer((_, { socket }) => {
    socket?.end(`HTTP/1.1 ${statuses.shift()}\r\ncontent-length: 2\r\n\r\nhi`);
  });
  onTestFinished(() => web[Symbol.asyncDispose]());
  const { ask } = await proxyFor(web.connector);
  const codes = [];
  for (let count = 0; count < 3; count += 1) codes.push((await ask(get('http://a.example/'))).slice(9, 12));
  expect(codes).toEqual(['502', '502', '200']);
});

test('blanks in a header are read in one pass', () => {
  expectQuick(' ', (blanks) => endToEnd({ connection: `a${blanks}b` }));
});
