import { getEventListeners } from 'node:events';
import { expect, test } from 'vitest';
import { FakeClock } from '../testing/fakes.ts';
import { settledOrAborted, timeLimit } from './time-limit.ts';

const LATE = new Error('too late');

test('a limit aborts with its own reason after its time, and not before', async () => {
  const clock = new FakeClock();
  using limit = timeLimit(clock, 1_000, () => LATE);
  await clock.advance(999);
  expect(limit.signal.aborted).toBe(false);
  await clock.advance(1);
  expect(limit.signal.reason).toBe(LATE);
});

test('a limit ends with its parent and with abort(), for their reasons; one of an aborted parent has ended at once', () => {
  const clock = new FakeClock();
  const parent = new AbortController();
  using inherited = timeLimit(clock, 1_000, () => LATE, parent.signal);
  using ended = timeLimit(clock, 1_000, () => LATE, parent.signal);
  ended.abort('enough');
  parent.abort('stop');
  expect([inherited.signal.reason, ended.signal.reason]).toEqual(['stop', 'enough']);
  using dead = timeLimit(clock, 1_000, () => LATE, parent.signal);
  expect(dead.signal.reason).toBe('stop');
});

test('disposing a limit ends its timer and its hold on the parent', () => {
  const clock = new FakeClock();
  const { signal } = new AbortController();
  {
    using _limit = timeLimit(clock, 1_000, () => LATE, signal);
    expect([clock.sleeping, getEventListeners(signal, 'abort').length]).toEqual([1, 1]);
  }
  expect([clock.sleeping, getEventListeners(signal, 'abort').length]).toEqual([0, 0]);
});

test('settledOrAborted settles as the work does, or with the abort, whichever comes first, and leaves no listener', async () => {
  const { signal } = new AbortController();
  expect(await settledOrAborted(Promise.resolve(7), signal)).toBe(7);
  await expect(settledOrAborted(Promise.reject(LATE), signal)).rejects.toBe(LATE);
  expect(getEventListeners(signal, 'abort')).toEqual([]);
  const stop = new AbortController();
  const waiting = settledOrAborted(new Promise(() => undefined), stop.signal);
  stop.abort(LATE);
  await expect(waiting).rejects.toBe(LATE);
  await expect(settledOrAborted(Promise.resolve(7), stop.signal)).rejects.toBe(LATE);
});

test('a wait leaves no listener on a signal that ended before', async () => {
  const over = AbortSignal.abort(LATE);
  await expect(settledOrAborted(new Promise<never>(() => undefined), over)).rejects.toBe(LATE);
  expect(getEventListeners(over, 'abort')).toHaveLength(0);
});
