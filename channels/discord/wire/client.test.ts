/** The client against gateways that nobody should run: their frames, byte for byte. */
import { createServer } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type WebSocket, WebSocketServer } from 'ws';
import type { Clock } from '../../../src/core/ports.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { DiscordClient } from './client.ts';
import type { GatewayEnd, Packet, Session } from './gateway.ts';
import { guardShard } from './shard.ts';

const HELLO = { op: 10, d: { heartbeat_interval: 45_000 } };

const open: (() => Promise<unknown>)[] = [];
afterAll(async () => {
  for (const close of open.splice(0).reverse()) await close();
});

/** What would end the daemon. */
const unhandled: unknown[] = [];
const onUnhandled = (error: unknown): void => void unhandled.push(error);
beforeAll(() => {
  process.on('unhandledRejection', onUnhandled);
  process.on('uncaughtException', onUnhandled);
  open.push(async () => {
    process.off('unhandledRejection', onUnhandled);
    process.off('uncaughtException', onUnhandled);
  });
});

/** A platform of which only the gateway answers, as the test says. `information` is laid over its own. */
async function gateway(accept: (socket: WebSocket, url: string) => void, information: object = {}) {
  const http = createServer((_, response) => {
    response.setHeader('content-type', 'application/json');
    response.setHeader('connection', 'close');
    response.end(JSON.stringify({ url: url(), session_start_limit: { remaining: 9 }, ...information }));
  });
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  const url = (): string => `ws://127.0.0.1:${(http.address() as AddressInfo).port}`;
  const sockets = new WebSocketServer({ server: http });
  sockets.on('connection', (socket) => {
    socket.on('error', () => undefined);
    accept(socket, url());
  });
  open.push(async () => {
    for (const socket of sockets.clients) socket.terminate();
    await new Promise((resolve) => http.close(resolve));
  });
  return {
    url: url(),
    connect: async (options: {
      readonly session?: Session;
      readonly onPacket?: (packet: Packet) => void;
      readonly signal?: AbortSignal;
      readonly clock?: Clock;
    }): Promise<GatewayEnd> => {
      const client = new DiscordClient({
        token: 'x',
        apiRoot: url().replace('ws', 'http'),
        clock: options.clock ?? systemClock,
      });
      open.push(async () => client.close());
      return client.gateway({
        intents: 1,
        session: options.session,
        onPacket: options.onPacket ?? (() => undefined),
        signal: options.signal ?? new AbortController().signal,
      });
    },
  };
}

/** Late rejections are told a turn of the loop later. */
const settled = () => new Promise((resolve) => setTimeout(resolve, 30));

const ready = (url: string) => ({ op: 0, t: 'READY', s: 1, d: { session_id: 'a', resume_gateway_url: url } });

test.concurrent.each([
  ['hello without an interval', { op: 10 }],
  ['hello with an interval of none', { op: 10, d: { heartbeat_interval: 0 } }],
  ['ready without data', { op: 0, t: 'READY', s: 1 }],
  ['ready without an address to resume at', { op: 0, t: 'READY', s: 1, d: { session_id: 'a' } }],
  ['ready with an address that is none', { op: 0, t: 'READY', s: 1, d: { session_id: 'a', resume_gateway_url: 'wss://[' } }],
  ['an event without a number', { op: 0, t: 'MESSAGE_CREATE', d: {} }],
])('%s ends the connection and nothing else', async (_, frame) => {
  const server = await gateway((socket) => {
    if (frame.op !== 10) socket.send(JSON.stringify(HELLO));
    socket.send(JSON.stringify(frame));
  });
  const end = await server.connect({});
  expect(end).toMatchObject({ session: undefined, detail: expect.stringMatching(/^the connection failed: /) });
  await settled();
  expect(unhandled).toEqual([]);
});

test.concurrent('a session that is said to be over in no proper way is over', async () => {
  const server = await gateway((socket) => socket.send('{"op":9,"d":null}'));
  const session = { id: 'a', url: server.url, seq: 7 };
  expect(await server.connect({ session })).toMatchObject({ session: undefined });
  await settled();
  expect(unhandled).toEqual([]);
});

test.concurrent.each(['null', '5', '"x"', '[]', '{', '', '{"op":"0"}', '{"op":99,"d":[]}'])(
  'the frame %s is nothing to us',
  async (frame) => {
    const server = await gateway((socket, url) => {
      for (const text of [JSON.stringify(HELLO), frame, JSON.stringify(ready(url))]) socket.send(text);
    });
    const abort = new AbortController();
    const packets: string[] = [];
    const onPacket = ({ t }: Packet): void => {
      packets.push(t);
      abort.abort(new Error('enough'));
    };
    await server.connect({ onPacket, signal: abort.signal });
    expect(packets).toEqual(['READY']);
    await settled();
    expect(unhandled).toEqual([]);
  },
);

test.concurrent.each([{ url: undefined }, { url: 5 }, { url: 'nonsense' }, { url: 'https://x' }, { url: 'wss://[' }])(
  'a gateway at %j is not connected to',
  async (information) => {
    const server = await gateway(() => undefined, information);
    await expect(server.connect({})).rejects.toMatchObject({ failure: { kind: 'lost' } });
    await settled();
    expect(unhandled).toEqual([]);
  },
);

/** A seeded stream of changes: one value, or one run of characters, is replaced. */
function mutations() {
  let state = 20_260_101;
  const next = (below: number): number => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
  const junk = ['null', '{}', '[]', '-1', '""', '1e308', 'true', '"\\u0000"', ''];
  const mutate = (text: string): string => {
    const at = next(text.length);
    if (next(2) === 0) return text.slice(0, at) + text.slice(at + 1 + next(4));
    const values = [...text.matchAll(/"[^"]*"(?!:)|\b\d+\b|\{[^{}]*\}/g)];
    const value = values[next(values.length)];
    return value ? text.slice(0, value.index) + junk[next(junk.length)] + text.slice(value.index + value[0].length) : text;
  };
  return { next, mutate };
}

function framesOf(url: string): readonly string[] {
  const seeds = [
    HELLO,
    ready(url),
    { op: 0, t: 'MESSAGE_CREATE', s: 2, d: { id: '1' } },
    { op: 7, d: null },
    { op: 9, d: false },
  ];
  return [...seeds, { op: 11 }, { op: 1, d: null }, { op: 0, t: 'RESUMED', s: 3, d: {} }].map((seed) => JSON.stringify(seed));
}

test.concurrent('A45 10,000 mutated frames: each is read, means nothing, or ends the connection with a reason', async () => {
  const { next, mutate } = mutations();
  const idle = async (): Promise<void> => undefined;
  const shard = {
    ...{ connection: null, onMessage: idle, onClose: idle, internalConnect: idle, heartbeat: idle, destroy: idle },
    unpackMessage: async (_data: unknown, _isBinary: boolean): Promise<unknown> => undefined,
  };
  guardShard(shard, () => undefined);
  const texts = framesOf('wss://gateway.discord.gg');
  const outcomes = { read: 0, nothing: 0, ended: 0 };
  for (let n = 0; n < 10_000; n += 1) {
    try {
      const frame = await shard.unpackMessage(mutate(texts[next(texts.length)] ?? ''), next(50) === 0);
      if (frame !== null && typeof frame !== 'object') throw new TypeError(`read as ${typeof frame}`);
      outcomes[frame === null ? 'nothing' : 'read'] += 1;
    } catch (error) {
      if (!/^the gateway /.test((error as Error).message)) throw error;
      outcomes.ended += 1;
    }
  }
  expect(Math.min(outcomes.read, outcomes.nothing, outcomes.ended)).toBeGreaterThan(100);
});

test.concurrent('A45 thousands of mutated frames end connections and nothing else', async () => {
  const { next, mutate } = mutations();
  let frames = 0;
  const server = await gateway((socket, url) => {
    const texts = framesOf(url);
    socket.send(texts[0] ?? '');
    for (let n = 0; n < 20; n += 1) {
      frames += 1;
      socket.send(mutate(texts[next(texts.length)] ?? ''));
    }
    socket.close(4_000);
  });
  for (let n = 0; n < 150; n += 1) {
    const session = next(2) === 0 ? { session: { id: 'a', url: server.url, seq: 1 } } : {};
    expect(await server.connect(session)).toHaveProperty('detail');
  }
  await settled();
  expect(frames).toBeGreaterThanOrEqual(3_000);
  expect(unhandled).toEqual([]);
});

test.concurrent('F44 a session goes on behind the last event that was taken, not behind the last that came', async () => {
  const server = await gateway((socket, url) => {
    socket.send(JSON.stringify(HELLO));
    socket.on('message', () => {
      const { _socket: wire } = socket as unknown as { readonly _socket: Socket };
      // All in one read, as in a burst.
      wire.cork();
      socket.send(JSON.stringify(ready(url)));
      for (let s = 2; s <= 6; s += 1) socket.send(JSON.stringify({ op: 0, t: 'MESSAGE_CREATE', s, d: {} }));
      process.nextTick(() => wire.uncork());
    });
  });
  const abort = new AbortController();
  const taken: number[] = [];
  const onPacket = ({ s }: Packet): void => {
    taken.push(s);
    if (s === 3) abort.abort(new Error('too many'));
  };
  const end = await server.connect({ onPacket, signal: abort.signal });
  expect(taken).toEqual([1, 2, 3]);
  expect(end.session?.seq).toBe(3);
});

test.concurrent('a connection that is given up while it is being made takes nothing with it', async () => {
  const silent = createServer();
  silent.on('upgrade', (_, socket) => setTimeout(() => socket.destroy(), 50));
  await new Promise<void>((resolve) => silent.listen(0, '127.0.0.1', resolve));
  open.push(() => new Promise((resolve) => silent.close(resolve)));
  const server = await gateway(() => undefined, { url: `ws://127.0.0.1:${(silent.address() as AddressInfo).port}` });
  const abort = new AbortController();
  silent.on('upgrade', () => abort.abort(new Error('stopped')));
  await server.connect({ signal: abort.signal });
  await new Promise((resolve) => setTimeout(resolve, 150));
  expect(unhandled).toEqual([]);
});

test('what the SDK keeps of each slash command is let go', async () => {
  const http = createServer((_, response) => {
    response.setHeader('content-type', 'application/json');
    response.end('{}');
  });
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve));
  const apiRoot = `http://127.0.0.1:${(http.address() as AddressInfo).port}`;
  const client = new DiscordClient({ token: 'x', apiRoot, clock: systemClock });
  open.push(async () => {
    client.close();
    http.closeAllConnections();
    await new Promise((resolve) => http.close(resolve));
  });
  const { signal } = new AbortController();
  const answer = (n: number) =>
    client.call('PATCH', `/webhooks/123456789012345678/token${n}/messages/@original`, { body: {}, signal });
  // More than 50 a second are refused here already; each has its queue by then.
  for (let n = 0; n < 1_200; n += 1) await answer(n).catch(() => undefined);
  await new Promise((resolve) => setTimeout(resolve, 1_100));
  await answer(1_200);
  expect(client.queues).toBeLessThanOrEqual(501);
});
