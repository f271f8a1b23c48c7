import { expect, test } from 'vitest';
import type { SessionMessage } from '../core/session.ts';
import { profiles } from '../runs/profile.ts';
import { endText, type LimitKind, systemWith } from './limits.ts';

const line = (role: SessionMessage['role'], content: string): SessionMessage => ({ id: content, role, content, timestamp: '' });
const spentOf = (tokens: number) => ({ tokens, below: 0 });

test('every limit is named with its figure and what was done', () => {
  const progress = { modelCalls: 2, tools: ['shell', 'read_file', 'shell'], lines: [line('assistant', 'x'.repeat(2_000))] };
  const text = (limit: LimitKind) => endText(limit, profiles({ maxTokens: 1 }).session, progress);
  expect(text('iterations')).toContain('its limit of 50 model calls');
  expect(text('tokens')).toContain('its budget of 1 token.');
  expect(text('time')).toContain('its time limit of 30 minutes');
  expect(text('loop')).toContain('repeating the same tool calls');
  for (const limit of ['iterations', 'tokens', 'time', 'loop'] as const) {
    expect(text(limit)).toContain('So far: 2 model calls, tools used: shell (2 times), read_file.');
    expect(text(limit).length).toBeLessThan(1_000);
  }
});

test('a time limit that is no whole number of minutes is given in seconds', () => {
  const progress = { modelCalls: 0, tools: [], lines: [] };
  expect(endText('time', profiles({ sessionTimeoutMs: 90_000 }).session, progress)).toContain('90 seconds');
});

test('a step that took too long is named with its own limit', () => {
  const progress = { modelCalls: 1, tools: ['shell'], lines: [] };
  expect(endText('step', profiles().task, progress)).toContain('one step of this turn reached its time limit of 5 minutes');
});

test('section 10 case 1: a task that a limit ends answers with its last words, else with what its tools said, else with the limit', () => {
  const { task } = profiles();
  const text = (...lines: SessionMessage[]) => endText('iterations', task, { modelCalls: 10, tools: ['shell'], lines });
  const ended = '[Ended before it was done: this turn reached its limit of 10 model calls.]';
  const words = [line('user', 'do it'), line('assistant', 'half is done'), line('tool', 'r1'), line('assistant', ' ')];
  expect(text(...words)).toBe(`half is done\n\n${ended}`);
  expect(text(line('user', 'do it'), line('assistant', ''), line('tool', 'r1'), line('tool', 'r2'))).toBe(
    `What the tools said last:\n- r1\n- r2\n\n${ended}`,
  );
  expect(text(line('user', 'do it'))).toContain('I stopped before I was done: this turn reached its limit of 10 model calls.');
});

test('a run that nears its end is told how many calls it has left', () => {
  const { task } = profiles();
  const told = (modelCalls: number) => systemWith('base', task, { modelCalls, spent: spentOf(0) });
  expect(told(7)).toBe('base');
  expect(told(8)).toContain('You have 3 model calls left');
  expect(told(10)).toContain('This is your last model call');
});

test('a conversation is told at four fifths of its calls, in words that stay the same until it ends', () => {
  const told = (modelCalls: number) => systemWith('base', profiles().session, { modelCalls, spent: spentOf(0) });
  expect(told(39)).toBe('base');
  expect(told(40)).toMatch(/^base\n\nAt most 11 model calls are left, this one included\. Come to an end/);
  expect([41, 45, 50].map(told)).toEqual([told(40), told(40), told(40)]);
});

test('section 10 case 8: at 79 % of a token budget nothing is said, at 80 % the model is told, and without a budget never', () => {
  const told = (spent: number, maxTokens = 100) =>
    systemWith('base', { ...profiles().task, maxTokens }, { modelCalls: 1, spent: spentOf(spent) });
  expect(told(79)).toBe('base');
  expect(told(80)).toMatch(/^base\n\n80 of the 100 tokens of this task are used up/);
  expect(told(1_000_000, 0)).toBe('base');
});
