import { getEventListeners } from 'node:events';
import { expect, test } from 'vitest';
import { linkedSignal } from './linked-signal.ts';

test('a linked signal aborts with the first of its parents, or by itself, and once', () => {
  const [one, two] = [new AbortController(), new AbortController()];
  using either = linkedSignal(one.signal, two.signal);
  using own = linkedSignal(one.signal);
  expect(either.signal.aborted).toBe(false);
  own.abort('enough');
  two.abort('second');
  one.abort('first');
  expect([either.signal.reason, own.signal.reason]).toEqual(['second', 'enough']);
  using late = linkedSignal(new AbortController().signal, two.signal);
  expect(late.signal.reason).toBe('second');
});

test('a linked signal leaves nothing on its parents when it is disposed, and aborts with them no more', () => {
  const parent = new AbortController();
  let left: AbortSignal;
  {
    using linked = linkedSignal(parent.signal, new AbortController().signal);
    left = linked.signal;
    expect(getEventListeners(parent.signal, 'abort')).toHaveLength(1);
  }
  expect(getEventListeners(parent.signal, 'abort')).toEqual([]);
  parent.abort('over');
  expect(left.aborted).toBe(false);
});
