import { getEventListeners } from 'node:events';
import { expect, test } from 'vitest';
import { systemClock } from './clock.ts';

test('a sleep ends when its time is over and leaves nothing on the signal', async () => {
  const { signal } = new AbortController();
  const startedAt = systemClock.monotonic();
  await systemClock.sleep(20, signal);
  expect(systemClock.monotonic() - startedAt).toBeGreaterThanOrEqual(18);
  expect(getEventListeners(signal, 'abort')).toHaveLength(0);
});

test('a sleep rejects with the reason of the signal, before and while it sleeps, and leaves no timer', async () => {
  const abort = new AbortController();
  const reason = new Error('stop');
  const sleeping = systemClock.sleep(60_000, abort.signal);
  const timers = process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;
  abort.abort(reason);
  await expect(sleeping).rejects.toBe(reason);
  expect(process.getActiveResourcesInfo().filter((name) => name === 'Timeout')).toHaveLength(timers - 1);
  await expect(systemClock.sleep(60_000, abort.signal)).rejects.toBe(reason);
});
