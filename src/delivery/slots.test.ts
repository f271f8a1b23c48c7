import { expect, test } from 'vitest';
import { createSlots } from './slots.ts';

const { signal } = new AbortController();

test('a channel is quiet when its last slot is given back, those that were handed over included; others do not matter', async () => {
  const slots = createSlots(1);
  await slots.quiet('a');
  const [first, other] = [await slots.acquire('a', signal), await slots.acquire('b', signal)];
  const second = slots.acquire('a', signal);
  const told: string[] = [];
  const quiet = slots.quiet('a').then(() => told.push('quiet'));
  first();
  (await second)();
  // Given back once, however often.
  first();
  await quiet;
  expect([told, slots.taken('a'), slots.taken('b'), slots.taken()]).toEqual([['quiet'], 0, 1, 1]);
  other();
});
