import { setImmediate as turn } from 'node:timers/promises';
import { expect, test } from 'vitest';
import type { ModelEvent } from '../../core/model.ts';
import { Burst } from './burst.ts';

const words = (count: number, type: 'text' | 'reasoning' = 'text'): ModelEvent[] =>
  Array.from({ length: count }, (_, n) => ({ type, text: `${n} ` }));
const textOf = (events: readonly ModelEvent[]) => events.map((event) => ('text' in event ? event.text : '')).join('');

test('the first pieces pass singly, the rest of a burst is one piece, in order and whole', async () => {
  let turned = 0;
  const burst = new Burst(() => {
    turned += 1;
  });
  const now = words(1_000).flatMap((event) => burst.add(event));
  expect(now).toHaveLength(32);
  await turn();
  expect(turned).toBe(1);
  const rest = burst.take();
  expect(rest).toHaveLength(1);
  expect(textOf([...now, ...rest])).toBe(textOf(words(1_000)));
  expect(burst.take()).toEqual([]);
  // The next burst begins anew.
  expect(burst.add({ type: 'text', text: 'x' })).toHaveLength(1);
});

test('what is held comes before any other event, and reasoning is not mixed with text', () => {
  const burst = new Burst(() => undefined);
  for (const event of words(33)) burst.add(event);
  expect(burst.add({ type: 'reasoning', text: 'hm' })).toEqual([{ type: 'text', text: '32 ' }]);
  expect(burst.add({ type: 'restart', reason: 'r' })).toEqual([
    { type: 'reasoning', text: 'hm' },
    { type: 'restart', reason: 'r' },
  ]);
});
