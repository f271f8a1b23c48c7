import { expect, test } from 'vitest';
import { COMPACTED } from '../agent/replay.ts';
import type { RunRow } from '../core/run.ts';
import type { StepRecord } from '../core/step.ts';
import { profiles } from './profile.ts';
import { Progress } from './task-run.ts';

test('how far a task is counts the model calls that are limited, and no summary of its own messages', () => {
  const answer = (n: number): StepRecord => ({ n, kind: 'model', state: 'DONE' });
  const summary = (n: number): StepRecord => ({ ...answer(n), callId: COMPACTED });
  const row = { profile: 'task', source: { kind: 'api', client: 'task.cli' } } as RunRow;
  const progress = new Progress(row, profiles().task, [answer(0), summary(2), answer(2)]);
  expect(progress.with(summary(4))).toEqual(summary(4));
  expect(progress.with(answer(4)).progress).toBe(30);
});
