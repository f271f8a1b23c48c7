import { expect, test } from 'vitest';
import { FakeClock } from '../../src/testing/fakes.ts';
import { reconnect } from './reconnect.ts';

function scene(options: { readonly random?: number; readonly capMs?: number; readonly steadyMs?: number } = {}) {
  const [clock, stop] = [new FakeClock(0), new AbortController()];
  const at: number[] = [];
  const ends: unknown[] = [];
  const begin = (run: (connected: () => void) => Promise<void>, onEnd: () => boolean | number = () => true) =>
    reconnect({
      run: (connected) => {
        at.push(clock.now());
        return run(connected);
      },
      onEnd: (error, waitMs) => {
        ends.push([error, waitMs]);
        return onEnd();
      },
      clock,
      random: () => options.random ?? 1,
      signal: stop.signal,
      ...(options.capMs !== undefined && { capMs: options.capMs }),
      ...(options.steadyMs !== undefined && { steadyMs: options.steadyMs }),
    });
  return { clock, stop, at, ends, begin };
}

test('F33 waits double up to the cap, from the first second', async () => {
  const { clock, stop, at, begin } = scene({ capMs: 5_000 });
  const running = begin(() => Promise.reject(new Error('refused')));
  await clock.advance(17_000);
  stop.abort();
  await running;
  expect(at).toEqual([0, 1_000, 3_000, 7_000, 12_000, 17_000]);
});

test('jitter leaves at least half of a wait', async () => {
  const { clock, stop, at, begin } = scene({ random: 0 });
  const running = begin(() => Promise.reject(new Error('refused')));
  await clock.advance(3_500);
  stop.abort();
  await running;
  expect(at).toEqual([0, 500, 1_500, 3_500]);
});

test('a connection that stood makes the next wait short again, and an end without an error is one too', async () => {
  const { clock, stop, at, ends, begin } = scene();
  let round = 0;
  const running = begin(async (connected) => {
    round += 1;
    if (round < 3) throw new Error('refused');
    connected();
  });
  await clock.advance(4_000);
  stop.abort();
  await running;
  expect(at).toEqual([0, 1_000, 3_000, 4_000]);
  expect(ends[2]).toEqual([undefined, 1_000]);
});

test('F33 a connection that did not stand for long leaves the wait growing, one that did makes it short again', async () => {
  const { clock, stop, at, begin } = scene({ steadyMs: 10_000 });
  const lives = [0, 9_000, 10_000, 0];
  const running = begin(async (connected) => {
    connected();
    await clock.sleep(lives[at.length - 1] ?? 60_000, stop.signal);
  });
  await clock.advance(40_000);
  stop.abort();
  await running;
  expect(at).toEqual([0, 1_000, 12_000, 23_000, 25_000]);
});

test('a time that the platform named is waited on top', async () => {
  const { clock, stop, at, begin } = scene();
  const running = begin(
    () => Promise.reject(new Error('429')),
    () => 60_000,
  );
  await clock.advance(61_000);
  stop.abort();
  await running;
  expect(at).toEqual([0, 61_000]);
});

test('nothing is tried again after the last word, nor after an abort in the middle of a wait', async () => {
  const last = scene();
  await last.begin(
    () => Promise.reject(new Error('revoked')),
    () => false,
  );
  expect(last.at).toEqual([0]);
  const { clock, stop, at, begin } = scene();
  const running = begin(() => Promise.reject(new Error('refused')));
  await clock.advance(0);
  stop.abort();
  await running;
  expect(at).toEqual([0]);
});
