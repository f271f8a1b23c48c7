import { setTimeout as pause } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { systemClock } from './clock.ts';
import { startTimer } from './timer.ts';

const timers = () => process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length;

test.each([
  ['the clock of this machine', systemClock],
  ['another clock', { sleep: (ms: number, signal?: AbortSignal) => systemClock.sleep(ms, signal) }],
])('a timer of %s runs once when its time is over, and not when it was stopped before', async (_name, clock) => {
  const ran: string[] = [];
  const before = timers();
  const stopEarly = startTimer(clock, 20, () => ran.push('stopped'));
  const stopLate = startTimer(clock, 20, () => ran.push('in time'));
  stopEarly();
  expect(timers()).toBe(before + 1);
  await pause(60);
  stopLate();
  stopEarly();
  expect(ran).toEqual(['in time']);
});

test('a timer that is stopped in the moment in which its time is over does not run', async () => {
  const ran: string[] = [];
  startTimer({ sleep: () => Promise.resolve() }, 1_000, () => ran.push('late'))();
  await pause(0);
  expect(ran).toEqual([]);
});

test('a time that is longer than a timer of Node takes is waited for all the same', async () => {
  const ran: string[] = [];
  const stop = startTimer(systemClock, 2 ** 31, () => ran.push('at once'));
  await pause(20);
  stop();
  expect(ran).toEqual([]);
});
