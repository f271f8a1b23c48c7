import { expect, test } from 'vitest';
import type { Receipt, SendResult } from '../../src/core/channel.ts';
import { GatehouseError } from '../../src/core/errors.ts';
import { channelDeps } from '../../src/testing/channel-deps.ts';
import { quickClock, TestHost } from '../../src/testing/channel-host.ts';
import { inbound, until } from '../../src/testing/fakes.ts';
import { ConnectionLife } from './connection-life.ts';

/** A connection that stays until told otherwise. */
function setup() {
  const life = new ConnectionLife<string>(channelDeps({ clock: quickClock(1_000) }));
  const host = new TestHost();
  const over = new AbortController();
  const connections: PromiseWithResolvers<void>[] = [];
  const start = () =>
    life.start(host, over.signal, async (up, stop) => {
      const end = Promise.withResolvers<void>();
      const name = `connection ${connections.push(end)}`;
      stop.addEventListener('abort', () => end.reject(stop.reason), { once: true });
      up(name);
      await end.promise;
    });
  return { life, host, over, connections, start, signal: over.signal };
}

const sent: SendResult = { kind: 'sent', platformId: 'x' };

test('a connection that ended is made again, and the health tells why and that it is back', async () => {
  const { life, host, connections, start } = setup();
  await start();
  connections[0]?.reject(new Error('cut'));
  await until('it is back', () => connections.length === 2);
  expect(host.states).toEqual([
    { state: 'starting' },
    { state: 'healthy' },
    { state: 'degraded', detail: 'GH1502: cut' },
    { state: 'healthy' },
  ]);
  await life.stop();
  expect(host.state).toBe('stopped');
});

test('F33 a server that lets us in and throws us out is asked more and more slowly', async () => {
  const waits: number[] = [];
  let now = 0;
  const clock = {
    now: () => now,
    monotonic: () => now,
    sleep: async (ms: number, signal: AbortSignal) => {
      waits.push(ms);
      now += ms;
      await new Promise((resolve) => setImmediate(resolve));
      signal.throwIfAborted();
    },
  };
  const life = new ConnectionLife<string>(channelDeps({ clock, random: () => 1 }));
  const connect = (up: (connection: string) => void) => {
    up('in');
    return Promise.reject(new Error('thrown out'));
  };
  await life.start(new TestHost(), new AbortController().signal, connect);
  await until('it waits long', () => waits.length > 8);
  await life.stop();
  expect(waits.slice(0, 9)).toEqual([2_000, 4_000, 8_000, 16_000, 32_000, 64_000, 128_000, 256_000, 300_000]);
});

test('refused credentials are down, and start resolves', async () => {
  const { life, host, signal } = setup();
  await life.start(host, signal, () => Promise.reject(new GatehouseError('GH1501', 'no')));
  expect(host.states.at(-1)).toEqual({ state: 'down', detail: 'GH1501: no' });
  await life.stop();
});

test('F37 a send whose connection ends is unknown, one without a connection has not left', async () => {
  const { life, connections, start, signal } = setup();
  await start();
  const doubtful = life.send(signal, async () => {
    connections[0]?.reject(new Error('cut'));
    return undefined;
  });
  expect(await doubtful).toMatchObject({ kind: 'unknown' });
  await life.stop();
  expect(await life.send(signal, async () => sent)).toMatchObject({ kind: 'retry', scope: 'account' });
});

test('sends go one after the other, and an answer that is for an earlier one changes nothing', async () => {
  const { life, start, signal } = setup();
  await start();
  const limit = new AbortController();
  const tokens: string[] = [];
  const transmit = async (connection: string, token: string) => {
    expect(connection).toBe('connection 1');
    tokens.push(token);
    return undefined;
  };
  const [first, second] = [life.send(limit.signal, transmit), life.send(signal, transmit)];
  await until('the first is written', () => tokens.length === 1);
  limit.abort(new Error('time limit'));
  expect(await first).toMatchObject({ kind: 'unknown' });
  await until('the second is written', () => tokens.length === 2);
  life.answer({ kind: 'refused', reason: 'blocked', detail: 'late' }, tokens[0]);
  life.answer(sent, tokens[1]);
  expect(await second).toEqual(sent);
  await life.stop();
});

test('a send whose time ends while another one is under way has not left, and the one behind it is not held up', async () => {
  const { life, start, signal } = setup();
  await start();
  let written = 0;
  const transmit = async () => {
    written += 1;
    return undefined;
  };
  const limit = new AbortController();
  const first = life.send(signal, transmit);
  const waiting = life.send(limit.signal, transmit);
  const last = life.send(signal, async () => sent);
  await until('the first is written', () => written === 1);
  limit.abort(new Error('time limit'));
  // Delivery waits a second for what is known, then takes it for a doubt.
  const late = new Promise((resolve) => setTimeout(() => resolve('no answer'), 500));
  expect(await Promise.race([waiting, late])).toMatchObject({ kind: 'retry' });
  life.answer(sent);
  expect([await first, await last, written]).toEqual([sent, sent, 1]);
  await life.stop();
});

test('what a transmit throws is unknown, and what it returns is the outcome', async () => {
  const { life, start, signal } = setup();
  await start();
  expect(await life.send(signal, () => Promise.reject(new Error('broke')))).toEqual({ kind: 'unknown', detail: 'broke' });
  expect(await life.send(signal, async () => sent)).toEqual(sent);
  await life.stop();
});

test('a reader waits while 256 messages wait for a busy gateway, and all of them arrive in order', async () => {
  const { life, host, start } = setup();
  const gate = Promise.withResolvers<{ kind: 'accepted' }>();
  host.next.push(gate.promise);
  await start();
  let taken = 0;
  const reading = (async () => {
    for (let number = 0; number < 300; number += 1) {
      await life.take(inbound({ platformId: String(number) }));
      taken += 1;
    }
  })();
  await until('as many as may wait are taken', () => taken >= 256);
  await new Promise((resolve) => setTimeout(resolve, 30));
  expect(taken).toBe(256);
  gate.resolve({ kind: 'accepted' });
  await reading;
  await until('all arrived', () => host.accepted.length === 300);
  expect(host.accepted.map(({ platformId }) => Number(platformId))).toEqual(Array.from({ length: 300 }, (_, index) => index));
  await life.stop();
});

test('start ends with the reason of its signal while the platform is silent, and a second start is refused', async () => {
  const { life, host, over } = setup();
  const reason = new Error('shutdown');
  const starting = life.start(
    host,
    over.signal,
    (_up, stop) => new Promise((resolve) => stop.addEventListener('abort', () => resolve())),
  );
  await expect(life.start(host, over.signal, async () => undefined)).rejects.toMatchObject({ code: 'GH1004' });
  over.abort(reason);
  await expect(starting).rejects.toBe(reason);
  await life.stop();
});

test('a cursor is committed behind the messages before it, and what was taken is stored only once the journal holds it', async () => {
  const { life, host, start } = setup();
  const gate = Promise.withResolvers<Receipt>();
  host.next.push(gate.promise);
  await start();
  await life.take(inbound({ text: 'one' }));
  life.keep('later');
  let stored: boolean | undefined;
  const waiting = life.stored().then((all) => (stored = all));
  await until('it is offered', () => host.offered.length === 1);
  expect([stored, await host.cursor()]).toEqual([undefined, undefined]);
  gate.resolve({ kind: 'accepted' });
  await waiting;
  expect([stored, await host.cursor()]).toEqual([true, 'later']);
  await life.stop();
});

test('what was taken and not stored before intake ended is not said to be stored', async () => {
  const { life, host, start } = setup();
  const gate = Promise.withResolvers<Receipt>();
  host.next.push(gate.promise);
  await start();
  await life.take(inbound({ text: 'one' }));
  await until('it is offered', () => host.offered.length === 1);
  const stored = life.stored();
  const stopped = life.stop();
  gate.reject(new Error('killed'));
  expect(await stored).toBe(false);
  await stopped;
});
