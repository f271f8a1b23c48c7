import { expect, test } from 'vitest';
import { FairQueue, RECENT_MS } from './fair-queue.ts';

const ROOM = { places: 10, share: 10, most: 3 };

test('parties that were quiet for a while are forgotten, though none ever waits', () => {
  const queue = new FairQueue();
  for (let n = 0; n < 1_000; n += 1) {
    const now = n * RECENT_MS;
    queue.push(`person ${n}`, { order: n }, now);
    expect(queue.take(ROOM, now)?.order).toBe(n);
    queue.ended(`person ${n}`, now + 1_000);
  }
  expect(queue.parties).toBeLessThanOrEqual(3);
});

test('a party whose work takes long is not forgotten, and keeps the others only until it ends', () => {
  const queue = new FairQueue();
  queue.push('long', { order: 0 }, 0);
  queue.take(ROOM, 0);
  for (let n = 1; n < 100; n += 1) {
    queue.push(`person ${n}`, { order: n }, n * RECENT_MS);
    queue.take(ROOM, n * RECENT_MS);
    queue.ended(`person ${n}`, n * RECENT_MS);
  }
  queue.ended('long', 200 * RECENT_MS);
  queue.push('next', { order: 200 }, 201 * RECENT_MS);
  expect([queue.parties, queue.take(ROOM, 201 * RECENT_MS)?.order]).toEqual([1, 200]);
});
