import { describe, expect, test } from 'vitest';
import type { SessionMessage } from '../core/session.ts';
import { planCompaction, SESSION_COMPACTION } from './compact.ts';

/** As the profile of tasks has it (spec P14). */
const OF_TASK = { from: 13, keep: 8 };
const timestamp = '2026-01-01T00:00:00Z';

function said(count: number): SessionMessage[] {
  return Array.from({ length: count }, (_, n) => ({
    ...{ id: `m${n}`, content: `words ${n}`, timestamp },
    role: n % 2 === 0 ? ('user' as const) : ('assistant' as const),
  }));
}

describe('section 10 case 4', () => {
  test('a task of 12 messages stays as it is, of 13 the newest 8 stay', () => {
    expect(planCompaction(said(12), OF_TASK)).toBeUndefined();
    expect(planCompaction(said(13), OF_TASK)).toEqual({ begin: 0, end: 5 });
  });

  test('a session of 39 messages stays as it is, of 40 the newest 10 stay', () => {
    expect(planCompaction(said(39), SESSION_COMPACTION)).toBeUndefined();
    expect(planCompaction(said(40), SESSION_COMPACTION)).toEqual({ begin: 0, end: 30 });
  });

  test('where the cut would fall on the result of a tool, the call stays with it', () => {
    const messages = said(13);
    const tool_calls = ['a', 'b'].map((id) => ({ id, name: 'x', arguments: '{}' }));
    messages[3] = { id: 'm3', role: 'assistant', content: '', tool_calls, timestamp };
    messages[4] = { id: 'm4', role: 'tool', content: 'one', tool_call_id: 'a', timestamp };
    messages[5] = { id: 'm5', role: 'tool', content: 'two', tool_call_id: 'b', timestamp };
    expect(planCompaction(messages, OF_TASK)).toEqual({ begin: 0, end: 3 });
  });
});
