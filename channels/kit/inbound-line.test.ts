import { expect, test } from 'vitest';
import { InboundLine } from './inbound-line.ts';

test('each waits for the one before it, also for one that failed', async () => {
  const line = new InboundLine();
  const gate = Promise.withResolvers<void>();
  const order: string[] = [];
  const first = line.run(async () => {
    await gate.promise;
    order.push('first');
    throw new Error('not stored');
  });
  const second = line.run(async () => order.push('second'));
  const failed = expect(first).rejects.toThrow('not stored');
  expect(order).toEqual([]);
  gate.resolve();
  await failed;
  await second;
  expect(order).toEqual(['first', 'second']);
});

test('a full line takes no more until one is through, and is idle when all are', async () => {
  const line = new InboundLine(1);
  const gate = Promise.withResolvers<string>();
  const first = line.push(() => gate.promise);
  expect(line.push(async () => 'second')).toBeUndefined();
  gate.resolve('first');
  expect(await first).toBe('first');
  await line.idle();
  expect(await line.push(async () => 'third')).toBe('third');
});
