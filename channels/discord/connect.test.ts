import { expect, test } from 'vitest';
import { systemClock } from '../../src/lib/clock.ts';
import { MemoryLogger, until } from '../../src/testing/fakes.ts';
import { SteadyClock } from '../../src/testing/steady-clock.ts';
import { keepConnected } from './connect.ts';
import type { GatewayEnd, GatewayOptions, Packet, Session } from './gateway.ts';
import { MAX_QUEUED } from './receive.ts';

const session: Session = { id: 'a', url: 'wss://gone.example', seq: 7 };
const lost: GatewayEnd = { code: undefined, detail: 'the connection failed', session };

/** Every connection is what the test says, and waits take no time. */
async function connect(
  gateway: (options: GatewayOptions, count: number) => Promise<GatewayEnd>,
  queue: { length: number },
  beginMs = 90_000,
) {
  const abort = new AbortController();
  const states: string[] = [];
  const attempts: (Session | undefined)[] = [];
  const steady = new SteadyClock();
  const working = keepConnected({
    client: {
      gateway: (options) => {
        attempts.push(options.session);
        return gateway(options, attempts.length);
      },
    },
    session,
    messageContent: true,
    push: () => {
      queue.length += 1;
    },
    queued: () => queue.length,
    clock: { ...systemClock, sleep: (ms, signal) => steady.sleep(ms === 90_000 ? beginMs : Math.min(ms, 1), signal) },
    random: () => 0,
    logger: new MemoryLogger(),
    signal: abort.signal,
    health: (state, detail) => states.push(`${state} ${detail ?? ''}`),
    failed: () => undefined,
    contentRefused: () => undefined,
  });
  return {
    states,
    attempts,
    async [Symbol.asyncDispose]() {
      abort.abort(new Error('over'));
      await working;
    },
  };
}

test('a session whose server is gone is tried twice, then a new one is begun', async () => {
  await using at = await connect(async (options) => ({ ...lost, session: options.session }), { length: 0 });
  await until('it tried four times', () => at.attempts.length >= 4);
  expect(at.attempts.slice(0, 4)).toEqual([session, session, undefined, undefined]);
  expect(at.states[0]).toMatch(/^degraded GH1502: /);
});

test('a session that is over is no news: a new one is begun', async () => {
  await using at = await connect(
    (options, count) =>
      count === 1
        ? Promise.resolve({ code: 1_000, detail: 'closed', session: undefined })
        : new Promise((resolve) => options.signal.addEventListener('abort', () => resolve(lost), { once: true })),
    { length: 0 },
  );
  await until('it tried twice', () => at.attempts.length === 2);
  expect(at.attempts).toEqual([session, undefined]);
  expect(at.states).toEqual([]);
});

test('F44 with too many events waiting the connection is given up, and taken up again when half of them are gone', async () => {
  const queue = { length: 0 };
  const packet: Packet = { t: 'MESSAGE_CREATE', s: 1, d: {}, session };
  await using at = await connect(async (options, count) => {
    options.onPacket({ ...packet, t: 'RESUMED' });
    while (count === 1 && !options.signal.aborted) options.onPacket(packet);
    if (count > 1) await new Promise((resolve) => options.signal.addEventListener('abort', resolve, { once: true }));
    return lost;
  }, queue);
  await until('it is given up', () => queue.length > MAX_QUEUED);
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(queue.length).toBe(MAX_QUEUED + 1);
  expect(at.attempts).toHaveLength(1);
  queue.length = MAX_QUEUED / 2 - 1;
  await until('it is back', () => at.attempts.length === 2);
  expect(at.attempts[1]).toEqual(session);
});

test.each([4_004, 4_010, 4_011, 4_012, 4_013])('F34 after close code %i nothing is tried again', async (code) => {
  await using at = await connect(async () => ({ code, detail: 'closed', session: undefined }), { length: 0 });
  await until('it is down', () => at.states.some((state) => state.startsWith('down GH150')));
  await new Promise((resolve) => setTimeout(resolve, 30));
  expect(at.attempts).toHaveLength(1);
});

test('a session that does not begin ends the connection, and one that is replayed slowly is waited for', async () => {
  const silent = (options: GatewayOptions) =>
    new Promise<GatewayEnd>((resolve) =>
      options.signal.addEventListener('abort', () => resolve({ ...lost, detail: String(options.signal.reason) }), { once: true }),
    );
  const packet: Packet = { t: 'MESSAGE_CREATE', s: 1, d: {}, session };
  let replayed = 0;
  const slow = async (options: GatewayOptions): Promise<GatewayEnd> => {
    for (; replayed < 10 && !options.signal.aborted; replayed += 1) {
      options.onPacket(packet);
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
    options.onPacket({ ...packet, t: 'RESUMED' });
    return silent(options);
  };
  await using at = await connect((options, count) => (count === 1 ? silent(options) : slow(options)), { length: 0 }, 400);
  await until('it tried again', () => at.attempts.length === 2);
  expect(at.states).toEqual([expect.stringMatching(/^degraded GH1502: .*did not begin in time/)]);
  await until('all is replayed', () => replayed === 10);
  await new Promise((resolve) => setTimeout(resolve, 500)); // longer than a session may take to begin
  expect(at.attempts).toHaveLength(2);
});
