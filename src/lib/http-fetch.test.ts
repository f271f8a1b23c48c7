import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type RequestListener, type ServerResponse } from 'node:http';
import { createServer as createSocketServer, type Server } from 'node:net';
import { Readable } from 'node:stream';
import { buffer, text } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { gzipSync } from 'node:zlib';
import { expect, test } from 'vitest';
import { createHttpFetch, type HttpAnswer } from './http-fetch.ts';

const CONNECT_MS = 5_000;

async function listen(server: Server): Promise<{ url: string } & AsyncDisposable> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  if (address === null || typeof address === 'string') throw new Error('no port');
  return {
    url: `http://127.0.0.1:${address.port}`,
    async [Symbol.asyncDispose]() {
      const closed = once(server, 'close');
      server.close();
      if ('closeAllConnections' in server) (server.closeAllConnections as () => void)();
      await closed;
    },
  };
}

/** Counts connections, and notes those that ended. */
async function serve(answer: RequestListener) {
  const server = createServer(answer);
  const connections = { opened: 0, closed: 0 };
  server.on('connection', (socket) => {
    connections.opened += 1;
    socket.once('close', () => {
      connections.closed += 1;
    });
  });
  return Object.assign(await listen(server), { server, connections });
}

async function textOf({ body }: HttpAnswer): Promise<string> {
  return (await buffer(body ?? Readable.from([]))).toString();
}

test('a request arrives as it was given, and its answer comes back', async () => {
  await using server = await serve(async (request, response) => {
    const { method, url, headers } = request;
    const { host: _, connection: _kept, ...sent } = headers;
    response.writeHead(201, { 'x-two': ['a', 'b'] });
    response.end(JSON.stringify({ method, url, sent, body: await text(request) }));
  });
  const answer = await createHttpFetch(CONNECT_MS)(`${server.url}/path?a=b`, {
    method: 'POST',
    headers: new Headers({ 'x-key': 'k' }),
    body: 'grüße',
  });
  expect([answer.status, answer.ok, answer.headers.get('x-two')]).toEqual([201, true, 'a, b']);
  expect(JSON.parse(await textOf(answer))).toEqual({
    ...{ method: 'POST', url: '/path?a=b', body: 'grüße' },
    sent: { 'accept-encoding': 'identity', 'x-key': 'k', 'content-length': '7' },
  });
});

test('one connection serves one request after the other', async () => {
  await using server = await serve((_request, response) => response.end('ok'));
  const fetch = createHttpFetch(CONNECT_MS);
  for (let count = 0; count < 5; count += 1) expect(await textOf(await fetch(server.url, {}))).toBe('ok');
  // The next request may begin before the connection is free again.
  expect(server.connections.opened).toBeLessThanOrEqual(2);
});

test('a redirect is handed over and not followed', async () => {
  await using server = await serve((_request, response) => response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end());
  const { status, ok } = await createHttpFetch(CONNECT_MS)(server.url, {});
  expect([status, ok]).toEqual([302, false]);
});

test.each(['gzip', 'br', 'gzip, gzip', 'constructor', '__proto__'])(
  'an answer that is packed as "%s" without being asked is refused, and its connection closed',
  async (packing) => {
    await using server = await serve((_request, response) => {
      response.writeHead(200, { 'content-encoding': packing });
      // Without an end: a thousandth of what it holds.
      response.write(gzipSync(Buffer.alloc(1_000_000)));
    });
    const answer = await createHttpFetch(CONNECT_MS)(server.url, {});
    await expect(textOf(answer)).rejects.toMatchObject({ code: `packed: ${packing}` });
    await expect.poll(() => server.connections.closed).toBeGreaterThanOrEqual(1);
  },
);

test('of a failure whose body is packed the status is left', async () => {
  await using server = await serve((_request, response) => {
    response.writeHead(429, { 'content-encoding': 'gzip', 'retry-after': '3' }).end(gzipSync('slow down'));
  });
  const answer = await createHttpFetch(CONNECT_MS)(server.url, {});
  expect([answer.status, answer.headers.get('retry-after'), await textOf(answer)]).toEqual([429, '3', '']);
});

test.each(['identity', ''])('a body of the encoding "%s" is read', async (packing) => {
  await using server = await serve((_request, response) => response.writeHead(200, { 'content-encoding': packing }).end('plain'));
  expect(await textOf(await createHttpFetch(CONNECT_MS)(server.url, {}))).toBe('plain');
});

test('an empty body is no packed one', async () => {
  await using server = await serve((_request, response) => response.writeHead(200, { 'content-encoding': 'gzip' }).end());
  expect(await textOf(await createHttpFetch(CONNECT_MS)(server.url, {}))).toBe('');
});

test('who leaves a body early closes its connection', async () => {
  await using server = await serve((_request, response) => response.write('first'));
  const { body } = await createHttpFetch(CONNECT_MS)(server.url, {});
  for await (const _chunk of body ?? []) break;
  await expect.poll(() => server.connections.closed).toBeGreaterThanOrEqual(1);
});

test('who leaves a body that has arrived whole keeps its connection', async () => {
  await using server = await serve((_request, response) => response.end('all of it'));
  const fetch = createHttpFetch(CONNECT_MS);
  for (let count = 0; count < 3; count += 1) {
    const { body } = await fetch(server.url, {});
    for await (const _chunk of body ?? []) break;
    await sleep(10);
  }
  // The next request may begin before the connection is free again.
  expect(server.connections.opened).toBeLessThanOrEqual(2);
});

test('who reads none of a body leaves no connection behind', async () => {
  await using server = await serve((_request, response) => response.end('never read'));
  const fetch = createHttpFetch(CONNECT_MS);
  for (let count = 0; count < 5; count += 1) {
    const { body } = await fetch(server.url, {});
    await sleep(10);
    await body?.[Symbol.asyncIterator]().return?.();
    await sleep(10);
  }
  await expect.poll(() => server.connections.opened - server.connections.closed).toBeLessThanOrEqual(1);
});

test('an abort while a whole body lies unread leaves no connection behind', async () => {
  await using server = await serve((_request, response) => response.end('never read'));
  const fetch = createHttpFetch(CONNECT_MS);
  for (let count = 0; count < 5; count += 1) {
    const controller = new AbortController();
    await fetch(server.url, { signal: controller.signal });
    await sleep(10);
    controller.abort(new Error('enough'));
    await sleep(10);
  }
  await expect.poll(() => server.connections.opened - server.connections.closed).toBeLessThanOrEqual(1);
});

test('a connection that breaks in the middle of a body rejects', async () => {
  await using server = await serve((_request, response) => {
    response.writeHead(200, { 'content-length': '100' }).write('first', () => response.destroy());
  });
  const answer = await createHttpFetch(CONNECT_MS)(server.url, {});
  await expect(textOf(answer)).rejects.toMatchObject({ code: 'UND_ERR_SOCKET' });
});

test('a connection that ends before the answer rejects', async () => {
  await using server = await serve((request) => void request.socket.destroy());
  await expect(createHttpFetch(CONNECT_MS)(server.url, {})).rejects.toMatchObject({
    code: expect.stringMatching(/ECONNRESET|UND_ERR_SOCKET/),
  });
});

test('an answer that switches protocols rejects', async () => {
  await using server = await listen(
    createSocketServer((socket) => {
      socket.on('error', () => undefined);
      socket.once('data', () => socket.write('HTTP/1.1 101 Switching Protocols\r\nupgrade: x\r\nconnection: upgrade\r\n\r\n'));
    }),
  );
  await expect(createHttpFetch(CONNECT_MS)(server.url, {})).rejects.toThrow();
});

test('an abort ends a request with its reason, before it, before the answer, and in the body', async () => {
  const seen: ServerResponse[] = [];
  await using server = await serve((request, response) => {
    seen.push(response);
    if (request.url === '/body') response.write('first');
  });
  const fetch = createHttpFetch(CONNECT_MS);
  const reason = new Error('enough');
  await expect(fetch(server.url, { signal: AbortSignal.abort(reason) })).rejects.toBe(reason);
  expect(server.connections.opened).toBe(0);

  const early = new AbortController();
  const unanswered = fetch(server.url, { signal: early.signal });
  unanswered.catch(() => undefined);
  await expect.poll(() => seen.length).toBe(1);
  early.abort(reason);
  await expect(unanswered).rejects.toBe(reason);

  const late = new AbortController();
  const answer = await fetch(`${server.url}/body`, { signal: late.signal });
  const chunks = answer.body?.[Symbol.asyncIterator]();
  await chunks?.next();
  const waiting = chunks?.next();
  late.abort(reason);
  await expect(waiting).rejects.toBe(reason);
  await expect.poll(() => server.connections.closed).toBeGreaterThanOrEqual(2);
});

test.each([0, '', null])('an abort for the reason %j does not make a cut answer a whole one', async (reason) => {
  await using server = await serve((_request, response) => response.write('first'));
  const controller = new AbortController();
  const { body } = await createHttpFetch(CONNECT_MS)(server.url, { signal: controller.signal });
  const chunks = body?.[Symbol.asyncIterator]();
  await chunks?.next();
  const waiting = chunks?.next();
  controller.abort(reason);
  await expect(waiting).rejects.toMatchObject({ name: 'AbortError' });
});

test('an abort after the whole answer keeps its connection', async () => {
  await using server = await serve((_request, response) => response.end('ok'));
  const fetch = createHttpFetch(CONNECT_MS);
  for (let count = 0; count < 3; count += 1) {
    const controller = new AbortController();
    await textOf(await fetch(server.url, { signal: controller.signal }));
    controller.abort(new Error('no longer needed'));
  }
  // The next request may begin before the connection is free again.
  expect(server.connections.opened).toBeLessThanOrEqual(2);
});

test('an answer, and the rest of one, that take longer than an idle connection lives are waited for', async () => {
  await using server = await serve(async (request, response) => {
    if (request.url === '/rest') response.write('the ');
    await sleep(4_400);
    response.end('end');
  });
  const fetch = createHttpFetch(CONNECT_MS);
  const answers = [fetch(server.url, {}), fetch(`${server.url}/rest`, {})];
  expect(await Promise.all(answers.map(async (answer) => textOf(await answer)))).toEqual(['end', 'the end']);
}, 20_000);

test('a connection that is not set up in time ends with the code of that', async () => {
  // Takes the connection, and says nothing of TLS.
  const silent = createSocketServer((socket) => void socket.on('error', () => undefined).resume());
  await using server = await listen(silent);
  const fetch = createHttpFetch(100);
  const address = server.url.replace('http:', 'https:');
  await expect(fetch(address, {})).rejects.toMatchObject({ code: 'UND_ERR_CONNECT_TIMEOUT' });
});

test('a server that does not speak TLS is named as such', async () => {
  await using server = await serve((_request, response) => response.end());
  const answer = createHttpFetch(CONNECT_MS)(server.url.replace('http:', 'https:'), { method: 'POST', body: 'a' });
  await expect(answer).rejects.toMatchObject({ code: 'ERR_SSL_WRONG_VERSION_NUMBER' });
});

test('with NODE_USE_ENV_PROXY=1 a request goes through the proxy of the environment', async () => {
  const asked: (string | undefined)[] = [];
  await using proxy = await serve((_request, response) => response.end('by the proxy'));
  proxy.server.on('connect', (request, socket) => {
    asked.push(request.url);
    socket.write('HTTP/1.1 200 OK\r\n\r\n');
    proxy.server.emit('connection', socket);
  });
  // Node looks at it once, when it starts.
  const script = `
    const { createHttpFetch } = await import(${JSON.stringify(import.meta.resolve('./http-fetch.ts'))});
    const { body } = await createHttpFetch(5_000)('http://model.test/v1', {});
    for await (const chunk of body) process.stdout.write(chunk);
    process.exit();`;
  const env = { NODE_USE_ENV_PROXY: '1', HTTP_PROXY: proxy.url, NO_PROXY: '' };
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '--eval', script], {
    env,
    timeout: 10_000,
  });
  expect([stdout, asked]).toEqual(['by the proxy', ['model.test:80']]);
});

test('where nothing listens, the error of the connection comes through', async () => {
  const server = await serve(() => undefined);
  await server[Symbol.asyncDispose]();
  await expect(createHttpFetch(CONNECT_MS)(server.url, {})).rejects.toMatchObject({ code: 'ECONNREFUSED' });
});

test.each(['http://user:secret@127.0.0.1:1/', 'http://user@127.0.0.1:1/', 'http:// /'])(
  'the address %s is refused without a word of it',
  async (url) => {
    const error = await createHttpFetch(CONNECT_MS)(url, {}).catch((thrown: unknown) => thrown);
    expect(error).toBeInstanceOf(TypeError);
    expect((error as Error).message).not.toMatch(/secret|user/);
  },
);
