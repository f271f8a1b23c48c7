import { createHmac } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type RequestListener, request } from 'node:http';
import { type AddressInfo, connect, type Socket } from 'node:net';
import { expect, test } from 'vitest';
import type { WebhookRequest } from '../core/channel.ts';
import { equalSecrets } from '../lib/equal-secrets.ts';
import { MemoryLogger, until } from '../testing/fakes.ts';
import { WaitingConnections } from './waiting-connections.ts';
import { WebhookServer } from './webhook-server.ts';

const KEY = 'a key of the platform';
const sign = (body: string | Buffer) => createHmac('sha256', KEY).update(body).digest('hex');

async function signed({ body, headers }: WebhookRequest) {
  return { status: equalSecrets(headers['x-signature'] ?? '', sign(body)) ? 200 : 401 };
}

async function serving() {
  const logger = new MemoryLogger();
  const server = new WebhookServer({ host: '127.0.0.1', port: 0, logger });
  const { localOrigin, path } = await server.for('sms').serve(signed);
  const { hostname, port } = new URL(localOrigin);
  return { host: hostname, port: Number(port), path, logger, [Symbol.asyncDispose]: () => server[Symbol.asyncDispose]() };
}

/** 220 callers of each of them fill the server without any of them being over its own cap. */
const FIVE = ['127.0.1.1', '127.0.1.2', '127.0.1.3', '127.0.1.4', '127.0.1.5'];

type Served = Awaited<ReturnType<typeof serving>>;

/** Begins a request whose body never ends; `from` is its address. */
function slow({ host, port, path }: Served, from?: string): Socket {
  const socket = connect({ host, port, ...(from && { localAddress: from }) });
  socket.on('error', () => undefined);
  socket.resume().write(`POST ${path} HTTP/1.1\r\nHost: x\r\nContent-Length: 60000\r\n\r\na`);
  return socket;
}

/**
 * Opens so many of them, in turn from these addresses, and reopens what is dropped: 200 a second, which takes
 * about the 25 kB/s that were once enough to silence the server.
 */
function attack(at: Served, count: number, addresses: readonly string[]) {
  const open = new Set<Socket>();
  let opened = 0;
  let started = 0;
  let due = 0;
  let dropped = 0;
  const start = () => {
    const socket = slow(at, addresses[started % addresses.length]);
    started += 1;
    open.add(socket);
    socket.once('connect', () => {
      opened += 1;
    });
    socket.once('close', () => {
      open.delete(socket);
      due += 1;
      dropped += 1;
    });
  };
  for (let n = 0; n < count; n += 1) start();
  const timer = setInterval(() => {
    for (let n = Math.min(due, 5); n > 0; n -= 1) {
      due -= 1;
      start();
    }
  }, 25);
  const stop = () => {
    clearInterval(timer);
    for (const socket of open) socket.destroy();
  };
  return { opened: () => opened, dropped: () => dropped, [Symbol.dispose]: stop };
}

/** A genuine request on a connection of its own: its status, or 0. */
function genuine({ host, port, path }: Served, body: string): Promise<number> {
  const { promise, resolve } = Promise.withResolvers<number>();
  const headers = { 'x-signature': sign(body), 'content-length': Buffer.byteLength(body) };
  const call = request({ host, port, path, method: 'POST', agent: false, headers }, (response) => {
    response.resume().once('end', () => resolve(response.statusCode ?? 0));
  });
  call.once('error', () => resolve(0)).end(body);
  return promise;
}

test('every genuine request is answered while 1,100 callers trickle and come back', async () => {
  await using at = await serving();
  using slow = attack(at, 1_100, FIVE);
  await until('all of them have come', () => slow.opened() >= 1_100);
  const statuses: number[] = [];
  for (let n = 0; n < 99; n += 1) statuses.push(await genuine(at, `message ${n}`));
  expect(statuses.filter((status) => status === 200)).toHaveLength(99);
  expect(at.logger.lines.filter(({ event }) => event === 'webhook.connections-dropped')).toHaveLength(1);
});

test('behind a proxy, whose address all have, the cap of an address stops none of its requests', async () => {
  await using at = await serving();
  using slow = attack(at, 400, ['127.0.0.1']);
  await until('more than the cap have come', () => slow.opened() >= 400);
  const statuses = await Promise.all(Array.from({ length: 50 }, (_, n) => genuine(at, `message ${n}`)));
  expect(new Set(statuses)).toEqual(new Set([200]));
});

test('callers of one address push out each other before a slow one of another address', async () => {
  await using at = await serving();
  const other = slow(at, '127.0.0.3');
  using many = attack(at, 1_100, ['127.0.0.2']);
  let droppedBefore: number | undefined;
  other.once('close', () => {
    droppedBefore = many.dropped();
  });
  await until('all of them have come', () => many.opened() >= 1_100);
  expect(await genuine(at, 'a message')).toBe(200);
  // Its own time may be over by now.
  expect(droppedBefore ?? many.dropped()).toBeGreaterThan(100);
  other.destroy();
});

test('a request that is complete is worked on to its end, however many come after it', async () => {
  const gate = Promise.withResolvers<void>();
  const server = new WebhookServer({ host: '127.0.0.1', port: 0, logger: new MemoryLogger() });
  await using _server = server;
  let begun = 0;
  const handler = async () => {
    begun += 1;
    await gate.promise;
    return { status: 200 };
  };
  const { localOrigin, path } = await server.for('sms').serve(handler);
  const url = new URL(localOrigin);
  const at = { host: url.hostname, port: Number(url.port), path } as Served;
  const waiting = Array.from({ length: 20 }, () => genuine(at, 'a message'));
  await until('all are worked on', () => begun === 20);
  using slow = attack(at, 1_100, FIVE);
  await until('all of them have come', () => slow.opened() >= 1_100);
  gate.resolve();
  expect(new Set(await Promise.all(waiting))).toEqual(new Set([200]));
});

/** A bare server that keeps four connections. `ask` sends one request, of which nothing is read. */
async function ofFour(answer: RequestListener, stillMs?: number) {
  let [asked, dropped] = [0, 0];
  const server = createServer((incoming, response) => {
    asked += 1;
    answer(incoming, response);
  });
  const onDrop = () => {
    dropped += 1;
  };
  new WaitingConnections({ most: 4, ofOneAddress: 4, onDrop, ...(stillMs && { stillMs }) }).watch(server);
  await once(server.listen(0, '127.0.0.1'), 'listening');
  const { port } = server.address() as AddressInfo;
  const at = { host: '127.0.0.1', port, path: '/x' } as Served;
  const callers: Socket[] = [];
  const ask = async () => {
    const [before, caller] = [asked, connect(port, at.host).pause()];
    callers.push(caller.on('error', () => undefined));
    caller.write('GET /x HTTP/1.1\r\nHost: x\r\n\r\n');
    await until('it is asked', () => asked > before);
  };
  const close = () => {
    for (const caller of callers) caller.destroy();
    server.close().closeAllConnections();
  };
  return { at, ask, dropped: () => dropped, [Symbol.dispose]: close };
}

/** More than the kernel takes off the server's hands. */
const LARGE = Buffer.alloc(20_000_000);

test('callers who read none of their answers keep no other caller out', async () => {
  using server = await ofFour(({ method }, response) => response.writeHead(404).end(method === 'GET' ? LARGE : ''));
  for (let n = 0; n < 8; n += 1) await server.ask();
  expect(await genuine(server.at, 'a message')).toBe(404);
  expect(server.dropped()).toBe(5);
});

test('a connection that finds no place at all is counted as dropped', async () => {
  using server = await ofFour(() => undefined);
  for (let n = 0; n < 8; n += 1) await server.ask();
  expect(await genuine(server.at, 'a message')).toBe(0);
  expect(server.dropped()).toBe(1);
});

test('an answer that was made late and is not read gives its place back after a while', async () => {
  const made = Promise.withResolvers<void>();
  using server = await ofFour((_, response) => made.promise.then(() => response.end(LARGE)), 200);
  for (let n = 0; n < 8; n += 1) await server.ask();
  made.resolve();
  await until('there is room', async () => (await genuine(server.at, 'a message')) !== 0);
});
