import { connect } from 'node:net';
import { setImmediate as immediate, setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { WebhookHandler, WebhookRequest } from '../core/channel.ts';
import { MemoryLogger, until } from '../testing/fakes.ts';
import { WebhookServer } from './webhook-server.ts';

async function serving(handler: WebhookHandler, options?: { maxBytes: number }) {
  const logger = new MemoryLogger();
  const server = new WebhookServer({ host: '127.0.0.1', port: 0, logger });
  const hook = await server.for('sms').serve(handler, options);
  const close = () => server[Symbol.asyncDispose]();
  return { hook, url: `${hook.localOrigin}${hook.path}`, server, logger, [Symbol.asyncDispose]: close };
}

/** Begins requests and sends a byte of their bodies each quarter of a second. Resolves to how to end them. */
async function trickle(url: string, count: number): Promise<{ closed: () => number; stop: () => void }> {
  const { hostname, port, pathname } = new URL(url);
  let closed = 0;
  const sockets = Array.from({ length: count }, () => {
    const socket = connect(Number(port), hostname);
    socket
      .on('error', () => undefined)
      .on('close', () => {
        closed += 1;
      });
    socket.resume().write(`POST ${pathname} HTTP/1.1\r\nHost: x\r\nContent-Length: 60000\r\n\r\na`);
    return socket;
  });
  const timer = setInterval(() => {
    for (const socket of sockets) if (socket.writable) socket.write('a');
  }, 250);
  await sleep(200);
  const stop = () => {
    clearInterval(timer);
    for (const socket of sockets) socket.destroy();
  };
  return { closed: () => closed, stop };
}

test('a hundred bodies that trickle keep nobody out, and are cut off while a platform still repeats', async () => {
  await using at = await serving(async () => ({ status: 200 }));
  const slow = await trickle(at.url, 100);
  const since = Date.now();
  expect((await fetch(at.url, { method: 'POST', body: 'x' })).status).toBe(200);
  await until('they are cut off', () => slow.closed() === 100);
  // Twilio waits for 15 s, the others repeat for longer.
  expect(Date.now() - since).toBeLessThan(15_000);
  slow.stop();
  expect(at.logger.lines.filter(({ event }) => event === 'webhook.failed')).toEqual([]);
});

test('an instance whose requests all wait leaves the others alone', async () => {
  const gate = Promise.withResolvers<void>();
  await using at = await serving(async () => {
    await gate.promise;
    return { status: 200 };
  });
  const other = await at.server.for('other').serve(async () => ({ status: 204 }));
  const waiting = Array.from({ length: 64 }, () => fetch(at.url, { method: 'POST', body: 'x' }).then(({ status }) => status));
  let busy = 0;
  for (let tries = 0; busy !== 503 && tries < 100; tries += 1) {
    const answer = fetch(at.url, { method: 'POST', body: 'x', signal: AbortSignal.timeout(50) });
    busy = await answer.then(
      ({ status }) => status,
      () => 0,
    );
  }
  expect(busy).toBe(503);
  expect((await fetch(`${other.localOrigin}${other.path}`, { method: 'POST', body: 'x' })).status).toBe(204);
  gate.resolve();
  expect(new Set(await Promise.all(waiting))).toEqual(new Set([200]));
});

test('a request arrives as it was sent, and the answer goes back', async () => {
  const seen: WebhookRequest[] = [];
  await using at = await serving(async (request) => {
    seen.push(request);
    return { status: 201, headers: { 'content-type': 'text/xml' }, body: '<Response/>' };
  });
  const answer = await fetch(`${at.url}?a=1&b=%20`, { method: 'POST', headers: { 'X-Sig': 's' }, body: 'From=%2B1' });
  expect([answer.status, answer.headers.get('content-type'), await answer.text()]).toEqual([201, 'text/xml', '<Response/>']);
  expect(seen).toMatchObject([{ method: 'POST', target: '/hooks/sms?a=1&b=%20', body: Buffer.from('From=%2B1') }]);
  expect(seen[0]?.headers['x-sig']).toBe('s');
  expect(seen[0]?.query.get('b')).toBe(' ');
});

test('another path, another method and a body above the limit never reach the handler', async () => {
  let calls = 0;
  await using at = await serving(
    async () => {
      calls += 1;
      return { status: 200 };
    },
    { maxBytes: 10 },
  );
  // A stream that is never empty holds the event loop until the socket's buffers are full: the server in this
  // process could not answer.
  const chunked = new ReadableStream({
    async pull(controller) {
      await immediate();
      controller.enqueue(new Uint8Array(8));
    },
  });
  const statuses = await Promise.all([
    fetch(`${at.hook.localOrigin}/hooks/other`).then(({ status }) => status),
    fetch(at.url, { method: 'PUT', body: 'x' }).then(({ status }) => status),
    fetch(at.url, { method: 'POST', body: 'x'.repeat(11) }).then(({ status }) => status),
    fetch(at.url, { method: 'POST', body: chunked, duplex: 'half' } as RequestInit).then(
      ({ status }) => status,
      () => 413, // the connection may be closed while the rest is still being written
    ),
  ]);
  expect([...statuses, calls]).toEqual([404, 405, 413, 413, 0]);
});

test('bytes go out as they are, and HEAD is answered like GET without them', async () => {
  const bytes = Buffer.from([0, 255, 128, 10]);
  const methods: string[] = [];
  await using at = await serving(async ({ method }) => {
    methods.push(method);
    return { status: 200, headers: { 'content-type': 'image/png', 'content-length': '4' }, body: bytes };
  });
  expect(Buffer.from(await (await fetch(at.url)).arrayBuffer())).toEqual(bytes);
  const head = await fetch(at.url, { method: 'HEAD' });
  expect([head.status, head.headers.get('content-length'), await head.text()]).toEqual([200, '4', '']);
  expect(methods).toEqual(['GET', 'GET']);
});

test('a handler that fails answers 500 without its words, and the next request is served', async () => {
  await using at = await serving(async ({ method }) => {
    if (method === 'GET') throw new Error('secret words');
    return { status: 200 };
  });
  const failed = await fetch(at.url);
  expect([failed.status, await failed.text()]).toEqual([500, '']);
  expect((await fetch(at.url, { method: 'POST', body: '' })).status).toBe(200);
});

test('a caller that hangs up aborts the handler, and closing the server ends what waits', async () => {
  const reasons: string[] = [];
  let begun = 0;
  await using at = await serving(async (_request, signal) => {
    begun += 1;
    await sleep(60_000, undefined, { signal }).catch(() => reasons.push(String((signal.reason as Error).message)));
    return { status: 200 };
  });
  const hangUp = new AbortController();
  const hungUp = fetch(at.url, { signal: hangUp.signal }).catch(() => 'hung up');
  await until('the first request is handled', () => begun === 1);
  hangUp.abort();
  expect(await hungUp).toBe('hung up');
  const waiting = fetch(at.url).catch(() => 'closed');
  await until('the second request is handled', () => begun === 2);
  await at.server[Symbol.asyncDispose]();
  expect(await waiting).toBe('closed');
  await until('both handlers were aborted', () => reasons.length === 2);
  expect(reasons[0]).toBe('the caller hung up');
});

test('an instance is served once at a time and again after it let go', async () => {
  await using at = await serving(async () => ({ status: 200 }));
  await expect(at.server.for('sms').serve(async () => ({ status: 200 }))).rejects.toMatchObject({ code: 'GH1004' });
  await at.hook[Symbol.asyncDispose]();
  expect((await fetch(at.url)).status).toBe(404);
  await at.server.for('sms').serve(async () => ({ status: 204 }));
  expect((await fetch(at.url)).status).toBe(204);
});

test('a call for an instance that is being replaced is answered by the next one; when none comes it is to be repeated', async () => {
  await using at = await serving(async () => ({ status: 200 }));
  const held = at.server.hold('sms');
  await at.hook[Symbol.asyncDispose]();
  const call = fetch(at.url, { method: 'POST', body: 'x' });
  const other = await fetch(`${at.hook.localOrigin}/hooks/other`, { method: 'POST', body: 'x' });
  const next = await at.server.for('sms').serve(async ({ body }) => ({ status: 200, body: `next ${body}` }));
  expect([await (await call).text(), other.status]).toEqual(['next x', 404]);
  await next[Symbol.asyncDispose]();
  const late = fetch(at.url, { method: 'POST', body: 'x' });
  await until('it waits', () => at.server.waiting === 1);
  held[Symbol.dispose]();
  expect((await late).status).toBe(503);
  expect((await fetch(at.url, { method: 'POST', body: 'x' })).status).toBe(404);
});

test('bodies that stop just before their end keep no request of a platform out', async () => {
  await using at = await serving(async () => ({ status: 200 }));
  const other = await at.server.for('other').serve(async () => ({ status: 204 }));
  const { hostname, port, pathname } = new URL(at.url);
  let over = 0;
  // One more than fit into what all bodies may hold.
  const callers = Array.from({ length: 17 }, () => {
    const caller = connect(Number(port), hostname).on('error', () => undefined);
    caller.resume().once('close', () => {
      over += 1;
    });
    caller.write(`POST ${pathname} HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n`);
    caller.write(Buffer.alloc(999_999));
    return caller;
  });
  await until('one of them is given up', () => over > 0);
  const ask = async (url: string) => (await fetch(url, { method: 'POST', body: 'x'.repeat(1_000) })).status;
  expect(await Promise.all([at.url, `${other.localOrigin}${other.path}`].map(ask))).toEqual([200, 204]);
  expect(at.logger.lines.filter(({ event }) => event === 'webhook.connections-dropped')).toHaveLength(1);
  for (const caller of callers) caller.destroy();
});
