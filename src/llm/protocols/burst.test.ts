import { expect, test } from 'vitest';
import type { ModelEvent } from '../../core/model.ts';
import { addToBurst } from './burst.ts';

const words = (count: number, type: 'text' | 'reasoning' = 'text'): ModelEvent[] =>
  Array.from({ length: count }, (_, n) => ({ type, text: `${n} ` }));
const textOf = (events: readonly ModelEvent[]) => events.map((event) => ('text' in event ? event.text : '')).join('');

function burstOf(events: readonly ModelEvent[]): ModelEvent[] {
  const burst: ModelEvent[] = [];
  for (const event of events) addToBurst(burst, event);
  return burst;
}

test('the first pieces pass singly, the rest of a burst is one piece, in order and whole', () => {
  const burst = burstOf(words(1_000));
  expect(burst).toHaveLength(33);
  expect(textOf(burst)).toBe(textOf(words(1_000)));
});

test('reasoning is not mixed with text, and no piece passes another event', () => {
  const restart: ModelEvent = { type: 'restart', reason: 'r' };
  const burst = burstOf([...words(40), ...words(40, 'reasoning'), restart, ...words(2)]);
  expect(burst.slice(31).map(({ type }) => type)).toEqual(['text', 'text', 'reasoning', 'restart', 'text']);
  expect(textOf(burst)).toBe(textOf([...words(40), ...words(40), ...words(2)]));
});
