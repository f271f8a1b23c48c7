import { once } from 'node:events';
import { createServer, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { brotliCompressSync, constants, deflateSync, gzipSync } from 'node:zlib';
import { describe, expect, test } from 'vitest';
import type { EgressRequest } from '../core/egress.ts';
import { FakeClock, until } from '../testing/fakes.ts';
import { ANYWHERE, type SeenRequest, type WebPeer, webPeer } from '../testing/web-peer.ts';
import { createEgress } from './egress.ts';

const MEGABYTE = 1024 * 1024;

function get({ egress }: Pick<WebPeer, 'egress'>, url: string, more: Partial<EgressRequest> = {}) {
  return egress({ tool: 'web_fetch', url, maxBytes: 5 * MEGABYTE, timeoutMs: 30_000, ...more }, new AbortController().signal);
}

/** Redirects by address; what is not listed answers "here". */
function redirects(table: Readonly<Record<string, string | readonly [number, string]>>) {
  return ({ host, url }: SeenRequest, response: ServerResponse): void => {
    const entry = table[`${host}${url}`];
    if (entry === undefined) return void response.end('here');
    const [status, location] = typeof entry === 'string' ? ([302, entry] as const) : entry;
    response.writeHead(status, { location, 'set-cookie': 'a=b' }).end('not read');
  };
}

test('an answer comes with its address, status, headers and bytes', async () => {
  await using web = await webPeer((_request, response) => response.writeHead(404, { 'content-type': 'text/plain' }).end('none'));
  const answer = await get(web, 'http://example.org:8080/a?b=c#d');
  expect(answer).toMatchObject({ kind: 'answer', url: 'http://example.org:8080/a?b=c', status: 404, isComplete: true });
  expect(answer.kind === 'answer' && [answer.bytes.toString(), answer.headers.get('content-type')]).toEqual([
    'none',
    'text/plain',
  ]);
  expect(web.seen).toMatchObject([{ host: 'example.org:8080', method: 'GET', url: '/a?b=c', headers: { connection: 'close' } }]);
});

test('every request has a connection and a look-up of its own', async () => {
  let lookups = 0;
  const resolve = async () => {
    lookups += 1;
    return [{ address: '93.184.216.34', family: 4 }];
  };
  await using web = await webPeer((_request, response) => response.end('x'), { resolve });
  for (let count = 0; count < 3; count += 1) await get(web, 'http://example.org/');
  expect({ lookups, dialled: web.dialled.length }).toEqual({ lookups: 3, dialled: 3 });
});

describe('A17 a name that changes its meaning', () => {
  test('A17 is looked up once for a connection, and what was checked is what is connected to', async () => {
    const answers = ['93.184.216.34', '127.0.0.1', '93.184.216.34', '169.254.169.254'];
    const resolve = async () => [{ address: answers.shift() ?? '127.0.0.1', family: 4 }];
    await using web = await webPeer((_request, response) => response.end('x'), { resolve });
    const kinds = [];
    for (let count = 0; count < 4; count += 1) kinds.push((await get(web, 'http://rebinding.example.org/')).kind);
    expect(kinds).toEqual(['answer', 'refused', 'answer', 'refused']);
    expect(web.dialled).toEqual(['93.184.216.34', '93.184.216.34']);
  });

  test.each([
    [['93.184.216.34', '10.0.0.1']],
    [['127.0.0.1', '93.184.216.34']],
    [['2606:2800:220:1::1', '::1']],
    [['93.184.216.34', '::ffff:10.0.0.1']],
  ])('A17 is refused when one of its addresses is not public: %j', async (addresses) => {
    const resolve = async () => addresses.map((address) => ({ address, family: address.includes(':') ? 6 : 4 }));
    await using web = await webPeer((_request, response) => response.end('x'), { resolve });
    expect(await get(web, 'http://example.org/')).toEqual({
      kind: 'refused',
      reason: 'it leads to an address that is not public',
    });
    expect(web.dialled).toEqual([]);
  });

  test('A17 is judged anew at a redirect to itself', async () => {
    const answers = ['93.184.216.34', '127.0.0.1'];
    const resolve = async () => [{ address: answers.shift() ?? '127.0.0.1', family: 4 }];
    await using web = await webPeer(redirects({ 'a.example/1': '/2' }), { resolve });
    expect(await get(web, 'http://a.example/1')).toMatchObject({ kind: 'refused' });
    expect(web.seen.map(({ url }) => url)).toEqual(['/1']);
  });
});

describe('A18 redirects', () => {
  test.each([301, 302, 303, 307, 308])('A18 %d is followed', async (status) => {
    await using web = await webPeer(redirects({ 'a.example/': [status, 'http://b.example/x'] }));
    expect(await get(web, 'http://a.example/')).toMatchObject({ kind: 'answer', url: 'http://b.example/x' });
  });

  test.each([
    'http://127.0.0.1/',
    'http://0x7f.1/',
    'http://[::ffff:169.254.169.254]/latest/meta-data/',
    '//localhost/',
    'file:///etc/passwd',
    'gopher://a.example:6379/_x',
    'http://user:x@b.example/',
    'http://b.example:8443/',
    'http://b.example:22/',
    'http://private.example/',
    'http://[::1',
  ])('A18 to %s is refused', async (location) => {
    const resolve = async (host: string) => [{ address: host === 'private.example' ? '10.0.0.1' : '93.184.216.34', family: 4 }];
    await using web = await webPeer(redirects({ 'a.example/': location }), { resolve });
    expect(await get(web, 'http://a.example/')).toMatchObject({ kind: 'refused' });
    expect(web.seen).toHaveLength(1);
  });

  test('A18 the fifth is followed, the sixth is not', async () => {
    const chain = Object.fromEntries(Array.from({ length: 6 }, (_, at) => [`a.example/${at}`, `/${at + 1}`]));
    await using web = await webPeer(redirects(chain));
    expect(await get(web, 'http://a.example/1')).toMatchObject({ kind: 'answer', url: 'http://a.example/6' });
    expect(await get(web, 'http://a.example/0')).toEqual({ kind: 'refused', reason: 'more than 5 redirects' });
  });

  test('A18 one that leads to itself ends', async () => {
    await using web = await webPeer(redirects({ 'a.example/': '/' }));
    expect(await get(web, 'http://a.example/')).toMatchObject({ kind: 'refused' });
    expect(web.seen).toHaveLength(6);
  });

  test('A18 another origin gets no credentials, and no cookie is kept', async () => {
    await using web = await webPeer(redirects({ 'a.example/': '/2', 'a.example/2': 'http://b.example/3' }));
    const headers = { Authorization: 'Bearer x', 'X-Api-Key': 'k', Cookie: 'c=d', Accept: 'text/html' };
    await get(web, 'http://a.example/', { headers });
    const kept = web.seen.map(({ headers: { authorization, cookie, accept, 'x-api-key': key } }) => [
      authorization,
      key,
      cookie,
      accept,
    ]);
    expect(kept).toEqual([
      ['Bearer x', 'k', 'c=d', 'text/html'],
      ['Bearer x', 'k', 'c=d', 'text/html'],
      [undefined, undefined, undefined, 'text/html'],
    ]);
  });

  test('A18 a POST follows none', async () => {
    await using web = await webPeer(redirects({ 'a.example/': [307, 'http://b.example/'] }));
    const answer = await get(web, 'http://a.example/', { method: 'POST', body: '{"key":1}' });
    expect(answer).toMatchObject({ kind: 'answer', status: 307 });
    expect(web.seen.map(({ body, host }) => [host, body])).toEqual([['a.example', '{"key":1}']]);
  });
});

describe('the size of an answer', () => {
  const PACKERS = [
    ['gzip', gzipSync],
    ['br', (text: string | Buffer) => brotliCompressSync(text, { params: { [constants.BROTLI_PARAM_QUALITY]: 1 } })],
    ['deflate', deflateSync],
  ] as const;

  test.each(PACKERS)('one that is packed as %s is unpacked', async (coding, pack) => {
    await using web = await webPeer((_request, response) =>
      response.writeHead(200, { 'content-encoding': coding }).end(pack('hello')),
    );
    const answer = await get(web, 'http://a.example/');
    expect(answer.kind === 'answer' && answer.bytes.toString()).toBe('hello');
    expect(web.seen[0]?.headers['accept-encoding']).toBe('identity');
  });

  test.each(PACKERS)('100 MB that are packed as %s are left at the limit', async (coding, pack) => {
    const bomb = pack(Buffer.alloc(100 * MEGABYTE));
    await using web = await webPeer((_request, response) => response.writeHead(200, { 'content-encoding': coding }).end(bomb));
    const before = process.memoryUsage().rss;
    const answer = await get(web, 'http://a.example/');
    expect(answer).toMatchObject({ kind: 'answer', isComplete: false });
    expect(answer.kind === 'answer' && answer.bytes.length).toBe(5 * MEGABYTE);
    expect(process.memoryUsage().rss - before).toBeLessThan(60 * MEGABYTE);
  });

  test('a bomb within a bomb, a damaged one and an unknown packing are not unpacked', async () => {
    const bodies: [string, Buffer][] = [
      ['gzip, gzip', gzipSync(gzipSync('x'))],
      ['gzip', Buffer.from('not packed')],
      ['gzip', gzipSync('x'.repeat(1_000)).subarray(0, 15)],
      ['compress', Buffer.from('x')],
    ];
    await using web = await webPeer((_request, response) => {
      const [coding = '', body = ''] = bodies.shift() ?? [];
      response.writeHead(200, { 'content-encoding': coding }).end(body);
    });
    const reasons = [];
    while (bodies.length > 0) reasons.push(await get(web, 'http://a.example/'));
    const odd = { kind: 'failed', reason: 'the server packs its answer in a way that was not asked for' };
    const damaged = { kind: 'failed', reason: 'the packed answer is damaged' };
    expect(reasons).toEqual([odd, damaged, damaged, odd]);
  });

  test('one without an end is left at the limit', async () => {
    await using web = await webPeer((_request, response) => {
      const more = (): void => {
        while (response.write(Buffer.alloc(256 * 1024)));
      };
      response.on('drain', more);
      more();
    });
    expect(await get(web, 'http://a.example/', { maxBytes: 1_000_000 })).toMatchObject({ kind: 'answer', isComplete: false });
  });

  test('headers without an end are refused', async () => {
    await using web = await webPeer((_request, response) => response.writeHead(200, { x: 'y'.repeat(80_000) }).end());
    expect(await get(web, 'http://a.example/')).toEqual({ kind: 'failed', reason: 'the headers of the answer are too long' });
  });
});

describe('time', () => {
  test('a name that is not looked up, and a connection that is not set up, are left after 10 s', async () => {
    const clock = new FakeClock();
    await using web = await webPeer(() => undefined, { clock, resolve: () => new Promise(() => undefined) });
    const pending = get(web, 'http://a.example/');
    await clock.advance(10_000);
    expect(await pending).toEqual({ kind: 'failed', reason: 'the connection was not set up in time' });
  });

  test('a server that does not answer is left after 20 s', async () => {
    const clock = new FakeClock();
    await using web = await webPeer(() => undefined, { clock });
    const pending = get(web, 'http://a.example/');
    await until('it was asked', () => web.seen.length === 1);
    await clock.advance(20_000);
    expect(await pending).toEqual({ kind: 'failed', reason: 'the server did not answer in time' });
  });

  test('a server that stops in the middle of its answer is left 10 s later', async () => {
    const clock = new FakeClock();
    await using web = await webPeer((_request, response) => void response.write('x'), { clock });
    const pending = get(web, 'http://a.example/', { timeoutMs: 3_600_000 });
    let result: unknown;
    void pending.then((value) => {
      result = value;
    });
    await until('its first byte is waited for', () => web.seen.length === 1);
    await until('it was left', async () => {
      await clock.advance(10_000);
      return result !== undefined;
    });
    expect(['the server stopped in the middle of its answer', 'the server did not answer in time']).toContain(
      (result as { reason: string }).reason,
    );
  });

  test('all of it together has a limit', async () => {
    const clock = new FakeClock();
    await using web = await webPeer(() => undefined, { clock });
    const pending = get(web, 'http://a.example/', { timeoutMs: 3_000 });
    await until('it was asked', () => web.seen.length === 1);
    await clock.advance(3_000);
    expect(await pending).toEqual({ kind: 'failed', reason: 'it took longer than 3 s' });
    expect(clock.sleeping).toBe(0);
  });

  test('an abort rejects with its reason', async () => {
    await using web = await webPeer(() => undefined);
    const stop = new AbortController();
    const pending = web.egress({ tool: 'web_fetch', url: 'http://a.example/', maxBytes: 1, timeoutMs: 60_000 }, stop.signal);
    await until('it was asked', () => web.seen.length === 1);
    stop.abort(new Error('enough'));
    await expect(pending).rejects.toThrow('enough');
  });
});

test('a server that breaks off, or speaks no HTTP, is a failure with a reason', async () => {
  await using web = await webPeer(({ url }, response) => {
    if (url === '/odd') response.socket?.end('SSH-2.0-OpenSSH\r\n');
    else response.writeHead(200, { 'content-length': '10' }).write('x', () => response.socket?.destroy());
  });
  expect(await get(web, 'http://a.example/broken')).toEqual({ kind: 'failed', reason: 'the server broke the connection' });
  expect(await get(web, 'http://a.example/odd')).toEqual({ kind: 'failed', reason: expect.stringContaining('HPE_') });
});

describe('the lists of the operator', () => {
  test.each([
    [{ denyDomains: ['bad.example'] }, ['http://bad.example/', 'http://a.BAD.example./', 'http://b%61d.example/']],
    [{ allowDomains: ['good.example'] }, ['http://other.example/', 'http://notgood.example/', 'http://93.184.216.34/']],
    [{ allowDomains: ['example.org'], denyDomains: ['x.example.org'] }, ['http://x.example.org/', 'http://y.x.example.org/']],
    [{ denyDomains: ['bücher.example'] }, ['http://bücher.example/', 'http://xn--bcher-kva.example/']],
  ])('%j refuses', async (some, urls) => {
    await using web = await webPeer((_request, response) => response.end(), { rules: { ...ANYWHERE, ...some } });
    for (const url of urls) expect(await get(web, url)).toEqual({ kind: 'refused', reason: expect.stringContaining('operator') });
    expect(web.dialled).toEqual([]);
  });

  test('a domain holds for its subdomains, and for redirects', async () => {
    const rules = { ...ANYWHERE, allowDomains: ['good.example'] };
    await using web = await webPeer(redirects({ 'a.good.example/out': 'http://bad.example/' }), { rules });
    expect(await get(web, 'http://a.good.example/')).toMatchObject({ kind: 'answer' });
    expect(await get(web, 'http://a.good.example/out')).toMatchObject({ kind: 'refused' });
  });

  test('a private origin is reached, with its own port and scheme alone, and by no redirect from elsewhere', async () => {
    const inside = createServer((_request, response) => response.end('inside')).listen(0, '127.0.0.1');
    await once(inside, 'listening');
    const { port } = inside.address() as AddressInfo;
    const rules = { ...ANYWHERE, privateOrigins: [`http://127.0.0.1:${port}/`, 'http://wiki.lan'] };
    const egress = createEgress({ clock: new FakeClock(), userAgent: 't', rules: () => rules });
    expect(await get({ egress }, `http://127.0.0.1:${port}/x`)).toMatchObject({ kind: 'answer', status: 200 });
    expect(await get({ egress }, `http://127.0.0.1:${port + 1}/x`)).toMatchObject({ kind: 'refused' });
    expect(await get({ egress }, `https://127.0.0.1:${port}/x`)).toMatchObject({ kind: 'refused' });
    inside.close();
    await using web = await webPeer(redirects({ 'a.example/': 'http://wiki.lan/' }), {
      rules,
      resolve: async (host) => [{ address: host === 'wiki.lan' ? '10.0.0.1' : '93.184.216.34', family: 4 }],
    });
    expect(await get(web, 'http://a.example/')).toMatchObject({ kind: 'refused' });
  });
});
