import { expect, test } from 'vitest';
import { limitText, sessionLimits } from './limits.ts';

test('the session profile has the documented figures', () => {
  expect(sessionLimits()).toEqual({
    maxIterations: 50,
    maxTokens: 0,
    wallClockMs: 1_800_000,
    toolTimeoutMs: 600_000,
    maxToolCalls: 64,
    toolsAtOnce: 8,
  });
});

test('options replace figures, and no tool call may take longer than half an hour', () => {
  const limits = sessionLimits({ maxIterations: 20, sessionTimeoutMs: 5_000, toolTimeoutMs: 9_999_999 });
  expect(limits).toMatchObject({ maxIterations: 20, wallClockMs: 5_000, toolTimeoutMs: 1_800_000 });
});

test('every limit is named with its figure and what was done', () => {
  const progress = { modelCalls: 2, tools: ['shell', 'read_file', 'shell'], lastText: 'x'.repeat(2_000) };
  const text = (limit: Parameters<typeof limitText>[0]) => limitText(limit, sessionLimits({ maxTokens: 1 }), progress);
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
  expect(limitText('time', sessionLimits({ sessionTimeoutMs: 90_000 }), progress)).toContain('90 seconds');
});
