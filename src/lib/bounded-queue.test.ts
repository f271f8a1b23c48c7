import { getEventListeners } from 'node:events';
import { setImmediate as immediate } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { BoundedQueue } from './bounded-queue.ts';

test('a job that is aborted while it runs keeps its place until it has ended', async () => {
  const [queue, gate, stop] = [new BoundedQueue(1), Promise.withResolvers<void>(), new AbortController()];
  let [running, most] = [0, 0];
  const job = async (): Promise<void> => {
    running += 1;
    most = Math.max(most, running);
    await gate.promise;
    running -= 1;
  };
  const first = queue.run(job, stop.signal);
  const second = queue.run(job, new AbortController().signal);
  await immediate();
  stop.abort(new Error('stopped'));
  await immediate();
  expect([queue.running, queue.waiting]).toEqual([1, 1]);
  gate.resolve();
  await Promise.all([first, second]);
  expect(most).toBe(1);
});

test('an abort ends the wait for a turn with its reason, and the job is not begun', async () => {
  const [queue, gate, stop] = [new BoundedQueue(1), Promise.withResolvers<void>(), new AbortController()];
  const first = queue.run(() => gate.promise);
  let begun = 0;
  const job = async (): Promise<void> => {
    begun += 1;
  };
  const waiting = queue.run(job, stop.signal);
  stop.abort(new Error('stopped'));
  await expect(waiting).rejects.toThrow('stopped');
  await expect(queue.run(job, stop.signal)).rejects.toThrow('stopped');
  gate.resolve();
  await first;
  await queue.run(async () => undefined);
  expect(begun).toBe(0);
});

test('a run that is over no longer listens to its signal', async () => {
  const [queue, { signal }] = [new BoundedQueue(1), new AbortController()];
  for (let nth = 0; nth < 3; nth += 1) await queue.run(async () => nth, signal);
  await expect(queue.run(() => Promise.reject(new Error('failed')), signal)).rejects.toThrow('failed');
  expect(getEventListeners(signal, 'abort')).toEqual([]);
});
