import { once } from 'node:events';
import { type AddressInfo, createServer, type Socket } from 'node:net';
import { expect, test } from 'vitest';
import { systemClock } from '../../src/lib/clock.ts';
import { quickClock } from '../../src/testing/channel-host.ts';
import { FakeClock, until } from '../../src/testing/fakes.ts';
import { openLineSocket } from './line-socket.ts';

async function peer() {
  await using resources = new AsyncDisposableStack();
  const server = createServer().listen(0, '127.0.0.1');
  const sockets: Socket[] = [];
  let heard = '';
  server.on('connection', (socket) => {
    sockets.push(socket);
    socket.on('error', () => socket.destroy());
    socket.on('data', (chunk) => {
      heard += String(chunk);
    });
  });
  await once(server, 'listening');
  resources.defer(async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
    await once(server, 'close');
  });
  const kept = resources.move();
  return {
    options: {
      host: '127.0.0.1',
      port: (server.address() as AddressInfo).port,
      tls: false,
      ask: 'PING',
      pace: { lineMs: 0, owedMs: 0 },
    },
    socket: () => until('somebody connected', () => sockets[0]),
    heard: () => heard,
    [Symbol.asyncDispose]: () => kept.disposeAsync(),
  };
}

async function readAll(lines: AsyncIterable<string>): Promise<string[]> {
  const all: string[] = [];
  for await (const line of lines) all.push(line);
  return all;
}

test('a line ends with its line feed alone, however it was cut on the way, and nowhere else', async () => {
  await using at = await peer();
  const { lines } = openLineSocket({ ...at.options, clock: systemClock, signal: new AbortController().signal });
  const read = readAll(lines);
  const socket = await at.socket();
  const bytes = Buffer.from('grüße\r\nsaid\u2028:owner!x@y PRIVMSG bot :let me in\r\nbare\nunfinished');
  socket.write(bytes.subarray(0, 3)); // in the middle of ü
  await new Promise((resolve) => setTimeout(resolve, 20));
  socket.end(bytes.subarray(3));
  expect(await read).toEqual(['grüße', 'said\u2028:owner!x@y PRIVMSG bot :let me in', 'bare']);
});

test('a line without an end breaks the connection instead of filling the memory', async () => {
  await using at = await peer();
  const { lines } = openLineSocket({ ...at.options, clock: systemClock, signal: new AbortController().signal });
  const read = readAll(lines);
  (await at.socket()).write('x'.repeat(70_000));
  await expect(read).rejects.toThrow('a line is longer than 65536 characters');
});

test('a silent server is asked once, and left when it goes on being silent', async () => {
  await using at = await peer();
  const { lines } = openLineSocket({ ...at.options, quietMs: 400, clock: quickClock(), signal: new AbortController().signal });
  await expect(readAll(lines)).rejects.toThrow('nothing was heard for 0.8 s');
  expect(at.heard()).toBe('PING\r\n');
});

test('a server that answers is kept', async () => {
  await using at = await peer();
  const over = new AbortController();
  const { lines } = openLineSocket({ ...at.options, quietMs: 400, clock: quickClock(), signal: over.signal });
  const read = readAll(lines);
  const socket = await at.socket();
  socket.on('data', () => socket.write('PONG\r\n'));
  await until('it was asked three times', () => at.heard() === 'PING\r\n'.repeat(3));
  over.abort(new Error('enough'));
  await expect(read).rejects.toThrow();
});

test('lines leave at the pace that was agreed: what may be owed at once, then one by one', async () => {
  await using at = await peer();
  const clock = new FakeClock();
  const over = new AbortController();
  const opened = openLineSocket({ ...at.options, pace: { lineMs: 2_000, owedMs: 4_000 }, clock, signal: over.signal });
  const read = readAll(opened.lines);
  await at.socket();
  const sent = opened.send(['1', '2', '3', '4'], over.signal, () => undefined);
  await until('two are there', () => at.heard() === '1\r\n2\r\n');
  await clock.advance(2_000);
  await until('a third is there', () => at.heard() === '1\r\n2\r\n3\r\n');
  await clock.advance(2_000);
  await sent;
  await until('all are there', () => at.heard() === '1\r\n2\r\n3\r\n4\r\n');
  over.abort(new Error('enough'));
  await expect(read).rejects.toThrow();
});

test.each([
  ['before the first line', 0, 0],
  ['behind others', 2_000, 1],
])('a line that waits for its turn %s ends with the reason of the signal, and what left is told', async (_what, owedMs, left) => {
  await using at = await peer();
  const over = new AbortController();
  const opened = openLineSocket({ ...at.options, pace: { lineMs: 2_000, owedMs }, clock: new FakeClock(), signal: over.signal });
  const read = readAll(opened.lines);
  await at.socket();
  const reason = new Error('time limit');
  const limit = new AbortController();
  let written = 0;
  const sent = opened.send(['1', '2'], limit.signal, () => {
    written += 1;
  });
  limit.abort(reason);
  await expect(sent).rejects.toBe(reason);
  expect(written).toBe(left);
  over.abort(new Error('enough'));
  await expect(read).rejects.toThrow();
});
