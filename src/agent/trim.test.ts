import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { SessionMessage } from '../core/session.ts';
import { estimateTokens, textTokens } from '../llm/tokens.ts';
import { line } from '../testing/agent-run.ts';
import { anyHistory, expectSound } from '../testing/any-history.ts';
import { lastUserIndex, repairHistory } from './repair.ts';
import { trimHistory } from './trim.ts';

const user = (content: string, n: number) => line('user', content, { id: `u${n}` });
const assistant = (content: string, n: number) => line('assistant', content, { id: `a${n}` });
function toolRound(n: number, output: string): SessionMessage[] {
  const id = `call_${n}`;
  return [
    line('assistant', `step ${n}`, { id: `a${n}`, tool_calls: [{ id, name: 'echo', arguments: '{}' }] }),
    line('tool', output, { id: `t${n}`, tool_call_id: id }),
  ];
}

describe('the token estimate', () => {
  test('counts four ASCII characters or one and a half others as a token, and four tokens a message', () => {
    expect(textTokens('')).toBe(0);
    expect(textTokens('a')).toBe(1);
    expect(textTokens('a'.repeat(400))).toBe(100);
    expect(textTokens('長'.repeat(150))).toBe(100);
    expect(textTokens('😀'.repeat(150))).toBe(100);
    expect(estimateTokens([user('abcd', 1), assistant('', 2)])).toBe(9);
    expect(estimateTokens(toolRound(1, ''))).toBe(8 + textTokens('step 1') + 2);
  });
});

describe('trimHistory', () => {
  const words = 'word '.repeat(100); // 125 tokens
  const talk = Array.from({ length: 40 }, (_, n) => [
    user(`${n} question\n${words}`, n),
    assistant(`${n} answer ${words}`, n),
  ]).flat();

  test('a history that fits is handed on as it is', () => {
    expect(trimHistory(talk, 128_000)).toBe(talk);
  });

  test('the older part becomes one summary, the newest quarter to half of the budget stays word for word', () => {
    const messages = [line('system', 'base'), ...talk];
    const window = 6_000; // budget 4000, tail 2000, summary 1600
    const trimmed = trimHistory(messages, window);
    expect(estimateTokens(trimmed)).toBeLessThanOrEqual(4_000);
    expect(trimmed[0]?.content).toBe('base');
    const tail = trimmed.slice(2);
    expect(tail).toEqual(messages.slice(-tail.length));
    expect(estimateTokens(tail)).toBeGreaterThan(1_000);
    const summary = trimmed[1]?.content.split('\n') ?? [];
    expect(summary[0]).toBe(`[System note] Conversation Summary (compacted from ${talk.length - tail.length} messages)`);
    expect(summary).toContain('> User: 30 question');
    expect(trimmed[1]?.role).toBe('user');
  });

  test('M7 what is dropped grows in steps: over a long turn most calls send the beginning of the call before', () => {
    const rounds = Array.from({ length: 60 }, (_, n) => toolRound(n, words));
    const sent = rounds.map((_, n) =>
      trimHistory([line('system', 'base'), user('do it', 1), ...rounds.slice(0, n + 1).flat()], 9_000),
    );
    const pairs = sent.slice(1).map((now, n) => ({ now, before: sent[n] ?? [] }));
    const kept = pairs.filter(({ now, before }) => JSON.stringify(now.slice(0, before.length)) === JSON.stringify(before));
    expect(sent.some(([, second]) => second?.content.includes('Conversation Summary'))).toBe(true);
    expect(kept.length / pairs.length).toBeGreaterThan(0.85);
  });

  test('the summary names tools without their arguments and whether they failed', () => {
    const older = [
      ...[user('do it', 1), ...toolRound(1, `Error: no such file\n${words}`), ...toolRound(2, 'fine')],
      line('user', 'see', { id: 'u9', media: ['a.png'] }),
    ];
    const trimmed = trimHistory(repairHistory([...older, ...talk.slice(0, 14)]), 3_000);
    expect(trimmed[0]?.content.split('\n').slice(1, 9)).toEqual([
      ...['> User: do it', '> Assistant: step 1', '- Called echo', '-> echo: error - Error: no such file'],
      ...['> Assistant: step 2', '- Called echo', '-> echo: ok - fine', '> User: see [media omitted]'],
    ]);
  });

  test('a summary that a model wrote stays whole, and the lines of the others get the room that it leaves', () => {
    const content = `Conversation summary (compacted from 31 messages)\nA model wrote it.\n${words}\nRome is on 3 May.`;
    const summary = line('system', content, { id: 'compacted:m1' });
    const repaired = repairHistory([line('system', 'base'), summary, ...talk]);
    const trimmed = trimHistory(repaired, 6_000);
    const lines = trimmed[1]?.content.split('\n').slice(1) ?? [];
    expect(lines.slice(0, 5)).toEqual([
      '> Context: [System note] Conversation summary (compacted from 31 messages)',
      ...['A model wrote it.', words, 'Rome is on 3 May.', expect.stringMatching(/^> User: \d+ question$/)],
    ]);
    expect(estimateTokens(trimmed)).toBeLessThanOrEqual(4_000);
    expect(trimHistory(trimmed, 6_000)).toEqual(trimmed);
    expectSound(trimmed);
  });

  test('a summary that is longer than the room for it is cut', () => {
    const summary = line('system', `A summary\n${'長'.repeat(3_000)}`, { id: 'compacted:m1' });
    const trimmed = trimHistory(repairHistory([line('system', 'base'), summary, ...talk]), 3_000);
    expect(estimateTokens(trimmed)).toBeLessThanOrEqual(2_000);
    expect(trimmed[1]?.content).toMatch(/長{900,}\n\[… cut\]$/);
    expectSound(trimmed);
  });

  test('the task stays word for word although many tool rounds followed it', () => {
    const task = user(`the task: ${words}`, 99);
    const rounds = Array.from({ length: 30 }, (_, n) => toolRound(n, words)).flat();
    const trimmed = trimHistory([line('system', 'base'), ...talk.slice(0, 4), task, ...rounds], 4_000);
    expect(trimmed).toContain(task);
    expectSound(trimmed);
  });

  test('words that a person added to the turn stay as well, however large the results around them are', () => {
    const large = 'word '.repeat(4_000);
    const round = (n: number) => toolRound(n, large);
    const added = line('user', 'and do not pay it', { id: 'r1#n0' });
    const turn = [user('the task', 1), ...[1, 2, 3].flatMap(round), added, ...[4, 5].flatMap(round)];
    const trimmed = trimHistory([line('system', 'base'), ...turn], 8_000);
    expect(trimmed).toContain(added);
    expect(estimateTokens(trimmed)).toBeLessThanOrEqual(5_333);
    expectSound(trimmed);
  });

  test('results of the running turn are cut as the last resort, also in a short history', () => {
    const messages = [line('system', 'base'), user('read it', 1), ...toolRound(1, 'x'.repeat(50_000))];
    const trimmed = trimHistory(messages, 8_000);
    expect(trimmed.map(({ role }) => role)).toEqual(['system', 'user', 'assistant', 'tool']);
    expect(trimmed[3]?.content).toHaveLength(20_000);
    expect(estimateTokens(trimmed)).toBeLessThanOrEqual(5_333);
  });

  test('the same history gives the same bytes', () => {
    expect(JSON.stringify(trimHistory(talk, 5_000))).toBe(JSON.stringify(trimHistory(structuredClone(talk), 5_000)));
  });

  test('after repair and trim any history is sound, keeps its last user message, and changes no more', () => {
    fc.assert(
      fc.property(anyHistory, fc.integer({ min: 200, max: 20_000 }), (history, window) => {
        const repaired = repairHistory([line('system', 'base'), ...history, line('user', 'the newest', { id: 'new' })]);
        const trimmed = trimHistory(repaired, window);
        expectSound(trimmed);
        expect(trimmed[0]?.role).toBe('system');
        expect(trimmed[lastUserIndex(trimmed)]?.id).toBe('new');
        expect(trimHistory(trimmed, window)).toEqual(trimmed);
        expect(repairHistory(trimmed)).toEqual(trimmed);
      }),
      { numRuns: 300 },
    );
  });

  test('the last user message is kept wherever it stands', () => {
    fc.assert(
      fc.property(anyHistory, fc.integer({ min: 200, max: 20_000 }), (history, window) => {
        const repaired = repairHistory([line('system', 'base'), ...history]);
        const trimmed = trimHistory(repaired, window);
        expectSound(trimmed);
        expect(trimmed[lastUserIndex(trimmed)]).toEqual(repaired[lastUserIndex(repaired)]);
        expect(trimHistory(trimmed, window)).toEqual(trimmed);
      }),
      { numRuns: 300 },
    );
  });
});
