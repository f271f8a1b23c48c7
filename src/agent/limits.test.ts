import { expect, test } from 'vitest';
import { profiles } from '../runs/profile.ts';
import { limitText, wrapUpText } from './limits.ts';

test('every limit is named with its figure and what was done', () => {
  const progress = { modelCalls: 2, tools: ['shell', 'read_file', 'shell'], lastText: 'x'.repeat(2_000) };
  const text = (limit: Parameters<typeof limitText>[0]) => limitText(limit, profiles({ maxTokens: 1 }).session, progress);
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
  const progress = { modelCalls: 0, tools: [], lastText: '' };
  expect(limitText('time', profiles({ sessionTimeoutMs: 90_000 }).session, progress)).toContain('90 seconds');
});

test('a step that took too long is named with its own limit', () => {
  const progress = { modelCalls: 1, tools: ['shell'], lastText: '' };
  expect(limitText('step', profiles().task, progress)).toContain('one step of this turn reached its time limit of 5 minutes');
});

test('a run that nears its end is told how many calls it has left', () => {
  expect(wrapUpText(3)).toContain('You have 3 model calls left');
  expect(wrapUpText(1)).toContain('This is your last model call');
});
