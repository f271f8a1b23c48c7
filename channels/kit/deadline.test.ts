import { getEventListeners } from 'node:events';
import { expect, test } from 'vitest';
import { systemClock } from '../../src/lib/clock.ts';
import { FakeClock } from '../../src/testing/fakes.ts';
import { DeadlineError, withDeadline } from './deadline.ts';

test('a task that ignores its signal is given up at the deadline', async () => {
  const clock = new FakeClock();
  const signal = new AbortController().signal;
  const waiting = expect(withDeadline({ clock, ms: 500, signal }, () => new Promise(() => undefined))).rejects.toThrow(
    DeadlineError,
  );
  await clock.advance(500);
  await waiting;
});

test('an abort rejects with its own reason', async () => {
  const abort = new AbortController();
  const reason = new Error('shutdown');
  const waiting = withDeadline({ clock: new FakeClock(), ms: 500, signal: abort.signal }, () => new Promise(() => undefined));
  abort.abort(reason);
  await expect(waiting).rejects.toBe(reason);
});

test('nothing is left on the signal or the clock afterwards', async () => {
  const { signal } = new AbortController();
  let sleeping: AbortSignal | undefined;
  const sleep = (ms: number, until?: AbortSignal): Promise<void> => {
    sleeping = until;
    return systemClock.sleep(ms, until);
  };
  expect(await withDeadline({ clock: { ...systemClock, sleep }, ms: 60_000, signal }, async () => 7)).toBe(7);
  expect(sleeping?.aborted).toBe(true);
  expect(getEventListeners(signal, 'abort')).toHaveLength(0);
});
