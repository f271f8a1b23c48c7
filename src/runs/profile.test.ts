import { expect, test } from 'vitest';
import { limitsFor, profiles } from './profile.ts';

test('the session profile has the documented figures', () => {
  expect(profiles().session).toEqual({
    maxIterations: 50,
    softIterations: 40,
    maxTokens: 0,
    wallClockMs: 1_800_000,
    toolTimeoutMs: 600_000,
    maxToolCalls: 64,
    toolsAtOnce: 8,
  });
});

test('options replace figures, and no tool call may take longer than half an hour', () => {
  const limits = profiles({ maxIterations: 20, sessionTimeoutMs: 5_000, toolTimeoutMs: 9_999_999 }).session;
  expect(limits).toMatchObject({ maxIterations: 20, wallClockMs: 5_000, toolTimeoutMs: 1_800_000 });
});

test('a task, a sub-agent and a node have figures of their own', () => {
  const { task, subagent, node } = profiles();
  expect(task).toMatchObject({ softIterations: 8, maxIterations: 10, stepMs: 300_000, callsRun: 5, toolsAtOnce: 5 });
  expect(subagent).toMatchObject({ softIterations: 12, maxIterations: 15, stepMs: 600_000, callsRun: 5 });
  expect(node).toMatchObject({ maxIterations: 30, maxToolCalls: 64 });
});

test('a conversation is told to come to an end from four fifths of its model calls on, whatever the config allows', () => {
  const soft = (maxIterations: number) => profiles({ maxIterations }).session.softIterations;
  expect([1, 3, 20, 50, 999].map(soft)).toEqual([1, 2, 16, 40, 799]);
});

test('what the config sets for conversations holds for them alone, what it says of tools and models for every run', () => {
  const { session, ...others } = profiles({ maxIterations: 3, sessionTimeoutMs: 9, toolTimeoutMs: 7, maxOutputTokens: 5 });
  expect(session).toMatchObject({ maxIterations: 3, wallClockMs: 9, toolTimeoutMs: 7, maxOutputTokens: 5 });
  for (const limits of Object.values(others)) {
    expect(limits).toMatchObject({ wallClockMs: 1_800_000, toolTimeoutMs: 7, maxOutputTokens: 5 });
    expect(limits.maxIterations).toBeGreaterThan(3);
  }
});

test('what is asked for narrows the limits of a profile, and is never more', () => {
  const { subagent, session } = profiles({ maxTokens: 1_000 });
  expect(limitsFor(subagent, { maxIterations: 10, maxTokens: 500 })).toMatchObject({
    ...{ maxIterations: 10, softIterations: 8, maxTokens: 500 },
  });
  expect(limitsFor(subagent, { maxIterations: 99, maxTokens: 5_000 })).toEqual(subagent);
  expect(limitsFor(subagent, { maxIterations: 1 })).toMatchObject({ maxIterations: 1, softIterations: 1 });
  expect(limitsFor(session, { maxIterations: 0 })).toEqual(session);
  expect(limitsFor(profiles().session, { maxTokens: 7 }).maxTokens).toBe(7);
});
