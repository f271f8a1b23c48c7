import { expect, test } from 'vitest';
import { systemClock } from '../lib/clock.ts';
import { SteadyClock } from './steady-clock.ts';

const standStill = (ms: number) => Atomics.wait(new Int32Array(new SharedArrayBuffer(4)), 0, 0, ms);

test('a pause of this process is next to no time', async () => {
  const clock = new SteadyClock(20);
  const before = clock.monotonic();
  standStill(200);
  expect(clock.monotonic() - before).toBeLessThanOrEqual(20 * 40);
});

test('what is due before the deadline comes before it, also after a pause that is longer than both', async () => {
  const clock = new SteadyClock(20);
  const order: string[] = [];
  const deadline = clock.sleep(2_000).then(() => order.push('deadline'));
  const answer = systemClock.sleep(5).then(() => order.push('answer'));
  standStill(200);
  await Promise.all([deadline, answer]);
  expect(order).toEqual(['answer', 'deadline']);
});

test('an abort ends a sleep with its reason', async () => {
  const stop = new AbortController();
  const sleeping = new SteadyClock().sleep(60_000, stop.signal);
  stop.abort(new Error('enough'));
  await expect(sleeping).rejects.toThrow('enough');
});
