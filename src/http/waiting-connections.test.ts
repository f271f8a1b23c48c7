import { createHmac } from 'node:crypto';
import { request } from 'node:http';
import { connect, type Socket } from 'node:net';
import { expect, test } from 'vitest';
import type { WebhookRequest } from '../core/channel.ts';
import { equalSecrets } from '../lib/equal-secrets.ts';
import { MemoryLogger, until } from '../testing/fakes.ts';
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
