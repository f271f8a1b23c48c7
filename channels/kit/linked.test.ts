import { getEventListeners } from 'node:events';
import { expect, test } from 'vitest';
import { linked, whenAborted } from './linked.ts';

const listeners = (signal: AbortSignal): number => getEventListeners(signal, 'abort').length;

test('a linked signal ends with the first of its sources, also one that ended before', () => {
  const [first, second] = [new AbortController(), new AbortController()];
  using link = linked(first.signal, second.signal);
  second.abort('second');
  expect(link.controller.signal.reason).toBe('second');
  using late = linked(first.signal, second.signal);
  expect(late.controller.signal.reason).toBe('second');
});

test('a disposed link leaves nothing on a long-lived signal, and no longer ends with it', () => {
  const long = new AbortController();
  const link = linked(long.signal);
  link[Symbol.dispose]();
  expect(listeners(long.signal)).toBe(0);
  long.abort();
  expect(link.controller.signal.aborted).toBe(false);
});

test('the end of a signal is waited for, also of one that ended before', async () => {
  const stop = new AbortController();
  const waiting = whenAborted(stop.signal);
  stop.abort();
  await waiting;
  await whenAborted(stop.signal);
});
