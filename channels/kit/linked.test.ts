import { getEventListeners } from 'node:events';
import { expect, test } from 'vitest';
import { linked, untilAborted, whenAborted } from './linked.ts';

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

test('a wait ends with the signal or with the work, and leaves no listener either way', async () => {
  const stop = new AbortController();
  expect(await untilAborted(Promise.resolve(7), stop.signal)).toBe(7);
  const waiting = untilAborted(new Promise<never>(() => undefined), stop.signal);
  stop.abort(new Error('stopped'));
  await expect(waiting).rejects.toThrow('stopped');
  await expect(untilAborted(new Promise<never>(() => undefined), stop.signal)).rejects.toThrow('stopped');
  expect(listeners(stop.signal)).toBe(0);
});

test('the end of a signal is waited for, also of one that ended before', async () => {
  const stop = new AbortController();
  const waiting = whenAborted(stop.signal);
  stop.abort();
  await waiting;
  await whenAborted(stop.signal);
});
