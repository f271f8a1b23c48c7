import { expect, test } from 'vitest';
import type { SessionMessage } from '../core/session.ts';
import { orderLines } from './order-lines.ts';

const line = (id: string, at: number, more: Partial<SessionMessage> = {}): SessionMessage => ({
  ...{ id, role: 'user', content: id, timestamp: new Date(at * 1_000).toISOString() },
  ...more,
});
const call = (id: string, at: number) =>
  line(id, at, { role: 'assistant', tool_calls: [{ id: 'c', name: 'a', arguments: '{}' }] });
const result = (id: string, at: number) => line(id, at, { role: 'tool', tool_call_id: 'c' });
const idsOf = (lines: readonly SessionMessage[]): readonly string[] => lines.map(({ id }) => id);

test('a run that waited keeps each call beside its result, whatever was said in between', () => {
  const lines = [
    ...[line('o:in', 4, { beside: 'm' }), line('o#a', 5, { beside: 'm' })],
    ...[line('x:in', 6), line('x#a', 7)],
    ...[line('m:in', 1), call('m#1', 2), result('m#2', 3), line('m#3', 8)],
  ];
  const ordered = idsOf(orderLines(lines));
  expect(ordered).toEqual(['m:in', 'm#1', 'm#2', 'x:in', 'x#a', 'o:in', 'o#a', 'm#3']);
  expect(idsOf(orderLines(orderLines(lines)))).toEqual(ordered);
});
