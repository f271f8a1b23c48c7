import { expect, test } from 'vitest';
import { FakeClock } from '../testing/fakes.ts';
import { CallTimeout, Watchdog, type WatchdogOptions } from './deadlines.ts';

function start(inputTokens: number, more: Partial<WatchdogOptions> = {}) {
  const clock = new FakeClock();
  const controller = new AbortController();
  const timeouts = { connectMs: 10_000, totalMs: 300_000 };
  const watchdog = new Watchdog({ clock, controller, inputTokens, timeouts, ...more });
  return { clock, controller, watchdog };
}

const limitOf = (signal: AbortSignal) =>
  signal.reason instanceof CallTimeout ? [signal.reason.limit, signal.reason.ms] : undefined;

/** From the last event on, the model may be silent for 300 s and no longer. */
async function endsAfterThinkingLimit({ clock, controller, watchdog }: ReturnType<typeof start>): Promise<void> {
  await clock.advance(299_999);
  expect(controller.signal.aborted).toBe(false);
  await clock.advance(1);
  expect(limitOf(controller.signal)).toEqual(['next chunk', 300_000]);
  watchdog[Symbol.dispose]();
}

test('the first token may take 30 s and a millisecond more per input token, 180 s at most', async () => {
  for (const [tokens, limit] of [
    [0, 30_000],
    [20_000, 50_000],
    [1_000_000, 180_000],
  ] as const) {
    const { clock, controller, watchdog } = start(tokens);
    await clock.advance(limit - 1);
    expect(controller.signal.aborted).toBe(false);
    await clock.advance(1);
    expect(limitOf(controller.signal)).toEqual(['first token', limit]);
    watchdog[Symbol.dispose]();
  }
});

test('F27 after the first token 30 s without progress end the call, and progress starts them afresh', async () => {
  const { clock, controller, watchdog } = start(100_000);
  await clock.advance(60_000);
  watchdog.progress();
  await clock.advance(29_000);
  watchdog.progress();
  await clock.advance(29_999);
  expect(controller.signal.aborted).toBe(false);
  await clock.advance(1);
  expect(limitOf(controller.signal)).toEqual(['next chunk', 30_000]);
  watchdog[Symbol.dispose]();
});

test('F27 the whole answer is limited however much progress there is', async () => {
  const { clock, controller, watchdog } = start(0);
  for (let second = 0; second < 300 && !controller.signal.aborted; second += 10) {
    watchdog.progress();
    await clock.advance(10_000);
  }
  expect(limitOf(controller.signal)).toEqual(['whole answer', 300_000]);
  watchdog[Symbol.dispose]();
});

test('a pause does not count, and after dispose nothing happens', async () => {
  const { clock, controller, watchdog } = start(0);
  watchdog.progress();
  watchdog.pause();
  await clock.advance(100_000);
  watchdog.resume();
  await clock.advance(29_000);
  expect(controller.signal.aborted).toBe(false);
  watchdog[Symbol.dispose]();
  await clock.advance(1_000_000);
  expect(controller.signal.aborted).toBe(false);
});

const LONG = { connectMs: 10_000, totalMs: 3_600_000 };

test('M5 a model that thinks may be silent for 300 s before it writes, and for 30 s afterwards', async () => {
  const { clock, controller, watchdog } = start(0, { thinks: true, timeouts: LONG });
  watchdog.opened();
  await clock.advance(299_000);
  watchdog.sign(); // as with every byte
  watchdog.progress(false);
  await clock.advance(299_000);
  watchdog.sign();
  watchdog.progress();
  await clock.advance(29_999);
  expect(controller.signal.aborted).toBe(false);
  await clock.advance(1);
  expect(limitOf(controller.signal)).toEqual(['next chunk', 30_000]);
  watchdog[Symbol.dispose]();
});

test('M5 a wire that promises signs of life lives on them, and is given up 30 s after the last one', async () => {
  const { clock, controller, watchdog } = start(0, { promisesSigns: true, timeouts: LONG });
  watchdog.opened();
  for (let sign = 0; sign < 12; sign += 1) {
    await clock.advance(20_000);
    watchdog.sign();
  }
  expect(controller.signal.aborted).toBe(false);
  await clock.advance(30_000);
  expect(limitOf(controller.signal)).toEqual(['sign of life', 30_000]);
  watchdog[Symbol.dispose]();
});

test('M5 a server that sends keep-alives is held to them, also where its wire promises none', async () => {
  const { clock, controller, watchdog } = start(0, { thinks: true, timeouts: LONG });
  watchdog.opened();
  watchdog.sign(); // with the headers: that proves nothing
  for (let sign = 0; sign < 2; sign += 1) {
    await clock.advance(120_000);
    expect(controller.signal.aborted).toBe(false);
    watchdog.sign();
  }
  await clock.advance(30_000);
  expect(limitOf(controller.signal)).toEqual(['sign of life', 30_000]);
  watchdog[Symbol.dispose]();
});

test('M5 bytes that bring something of a thought, whole or in pieces, are no promise of more', async () => {
  const at = start(0, { thinks: true, timeouts: LONG });
  const { clock, watchdog } = at;
  watchdog.opened();
  for (let thought = 0; thought < 3; thought += 1) {
    await clock.advance(2_000);
    watchdog.sign();
    await clock.advance(50);
    watchdog.sign();
    watchdog.progress(false);
  }
  await endsAfterThinkingLimit(at);
});

test('M5 a model that thinks again after it wrote may be silent for 300 s again', async () => {
  const at = start(0, { timeouts: LONG });
  const { watchdog } = at;
  watchdog.opened();
  watchdog.progress();
  watchdog.progress(false);
  await endsAfterThinkingLimit(at);
});

test('F27 signs of life alone end after the limit for thinking', async () => {
  const { clock, controller, watchdog } = start(0, { promisesSigns: true, timeouts: { ...LONG, thinkingMs: 100_000 } });
  watchdog.opened();
  for (let sign = 0; sign < 10 && !controller.signal.aborted; sign += 1) {
    await clock.advance(10_000);
    watchdog.sign();
  }
  expect(limitOf(controller.signal)).toEqual(['first token', 100_000]);
  watchdog[Symbol.dispose]();
});
