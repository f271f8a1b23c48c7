import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { SessionMessage } from '../core/session.ts';
import { line } from '../testing/agent-run.ts';
import { anyHistory, expectSound } from '../testing/any-history.ts';
import { leastCpuMs } from '../testing/cpu-time.ts';
import { LOST_RESULT, repairHistory } from './repair.ts';

const call = (id: string, name = 'echo', args = '{}') => ({ id, name, arguments: args });
const asks = (...ids: string[]) => line('assistant', '', { id: `a-${ids.join()}`, tool_calls: ids.map((id) => call(id)) });
const result = (id: string, content = 'r') => line('tool', content, { id: `t-${id}-${content.slice(0, 5)}`, tool_call_id: id });
const short = (messages: readonly SessionMessage[]) => messages.map(({ role, content }) => `${role}: ${content}`);

describe('repairHistory', () => {
  test('system messages at the front become one; a later one becomes a marked user note', () => {
    const repaired = repairHistory([
      line('system', 'base'),
      line('system', 'summary'),
      line('user', 'hi'),
      line('system', 'task done'),
    ]);
    expect(short(repaired)).toEqual(['system: base\n\nsummary', 'user: hi', 'user: [System note] task done']);
  });

  test('F21 a call without a result gets one that says so', () => {
    const repaired = repairHistory([line('user', 'go'), asks('call_1', 'call_2'), result('call_2', 'two'), line('user', 'and?')]);
    expect(short(repaired)).toEqual(['user: go', 'assistant: ', `tool: ${LOST_RESULT}`, 'tool: two', 'user: and?']);
    expectSound(repaired);
  });

  test('what a person adds to a turn under way cuts none of its results', () => {
    const long = 'ü'.repeat(900);
    const added = line('user', 'in German, please', { id: 'r1#n0' });
    const repaired = repairHistory([line('user', 'go', { id: 'r1:in' }), asks('call_1'), result('call_1', long), added]);
    expect(repaired.find(({ role }) => role === 'tool')?.content).toBe(long);
  });

  test('three thousand calls of one id are told apart at once', () => {
    const history = Array.from({ length: 3_000 }, () => [asks('call_0'), result('call_0')]).flat();
    expect(leastCpuMs(300, () => repairHistory(history))).toBeLessThan(300);
    expectSound(repairHistory(history));
  });

  test('arguments nested beyond what can be written again go back as text, so that no later call fails of them', () => {
    const deep = `{"a":${'['.repeat(10_000)}${']'.repeat(10_000)}}`;
    const [asked] = repairHistory([line('assistant', '', { tool_calls: [call('call_1', 'echo', deep)] }), result('call_1')]);
    const text = asked?.tool_calls?.[0]?.arguments ?? '';
    expect(JSON.stringify(JSON.parse(text))).toContain('malformed_arguments');
  });

  test('F21 a result is moved to its call, and one without a call is dropped', () => {
    const repaired = repairHistory([
      result('call_0'),
      asks('call_1'),
      line('user', 'hurry'),
      result('call_1', 'late'),
      result('call_9'),
    ]);
    expect(short(repaired)).toEqual(['assistant: ', 'tool: late', 'user: hurry']);
  });

  test('ids that repeat over turns are made unique and each result stays with its own call', () => {
    const repaired = repairHistory([asks('0'), result('0', 'first'), asks('0'), result('0', 'second')]);
    const ids = repaired.flatMap((message) => message.tool_calls ?? []).map(({ id }) => id);
    expect(new Set(ids).size).toBe(2);
    expect(ids.every((id) => id.startsWith('call_') && id.length <= 40)).toBe(true);
    expect(repaired.filter(({ role }) => role === 'tool').map((item) => [item.tool_call_id, item.content])).toEqual([
      [ids[0], 'first'],
      [ids[1], 'second'],
    ]);
  });

  test('a second result of the same call is dropped, and calls that share an id in one answer take theirs in turn', () => {
    expect(short(repairHistory([asks('call_1'), result('call_1', 'first'), result('call_1', 'again')]))).toEqual([
      'assistant: ',
      'tool: first',
    ]);
    expect(short(repairHistory([asks('0', '0'), result('0', 'one'), result('0', 'two')]))).toEqual([
      'assistant: ',
      'tool: one',
      'tool: two',
    ]);
  });

  test('a tool result over 800 characters is cut only before the last message a person wrote', () => {
    const long = 'ü'.repeat(900);
    const repaired = repairHistory([
      ...[asks('call_1'), result('call_1', long), line('user', 'next'), asks('call_2'), result('call_2', long)],
      line('system', 'a warning'),
    ]);
    const results = repaired.filter(({ role }) => role === 'tool').map(({ content }) => content);
    expect(results[0]).toHaveLength(800);
    expect(results[0]).toMatch(/\[… cut\]$/);
    expect(results[1]).toBe(long);
  });

  test('a cut never leaves half a surrogate pair', () => {
    const [, tool] = repairHistory([asks('call_1'), result('call_1', 'x😀'.repeat(400)), line('user', 'next')]);
    expect(tool?.content.isWellFormed()).toBe(true);
  });

  test('F21 arguments that are no JSON object are wrapped in one, so that no server chokes on them', () => {
    const bad = line('assistant', '', {
      tool_calls: [call('call_1', 'a', '{"cut'), call('call_2', 'b', '[1]'), call('call_3', 'c', '')],
    });
    const args = repairHistory([bad])[0]?.tool_calls?.map((item) => JSON.parse(item.arguments));
    expect(args).toEqual([{ malformed_arguments: '{"cut' }, { malformed_arguments: '[1]' }, {}]);
  });

  test('F21 an assistant message without text and calls is dropped', () => {
    expect(short(repairHistory([line('user', 'a'), line('assistant', ' '), line('user', 'b')]))).toEqual(['user: a', 'user: b']);
  });

  test('any history becomes sound, and repairing it again changes nothing', () => {
    fc.assert(
      fc.property(anyHistory, (history) => {
        const repaired = repairHistory(history);
        expectSound(repaired);
        expect(repairHistory(repaired)).toEqual(repaired);
        const people = (messages: readonly SessionMessage[]) => messages.filter((m) => m.role === 'user').map((m) => m.content);
        const notes = history.some(({ role }) => role === 'system');
        if (!notes) expect(people(repaired)).toEqual(people(history));
      }),
      { numRuns: 300 },
    );
  });
});
