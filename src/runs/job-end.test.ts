import { expect, test } from 'vitest';
import type { RunRow } from '../core/run.ts';
import { asJob, endOf } from './job-end.ts';

const ROW: RunRow = {
  ...{ seq: 1, key: 'job/a/1', profile: 'session', lane: 'job/a', session: 'job:a', attempts: 1, acceptedAt: 0, generation: 1 },
  authority: { principal: 'cli:local', role: 'owner', mode: 'guarded', policies: [] },
  source: { kind: 'job', job: 'a', due: 1 },
  prompt: { text: 'x', media: [], at: '2026-10-02T00:00:00Z' },
};
const answered = (text: string) => ({ state: 'DONE', outcome: 'answered', text }) as const;
const FAILED = { state: 'DEAD', outcome: 'failed:GH2103', text: '⚠️' } as const;

test.each(['', '  \n', '[SILENT]', ' [silent] ', '[NO_CHANGE]\n', '[SILENT] [NO_CHANGE]', 'HEARTBEAT_OK'])(
  'the answer %j of a job delivers nothing',
  (text) => {
    expect(asJob(ROW, answered(text))).toEqual({ state: 'DONE', outcome: 'silent' });
  },
);

test.each([
  ['[SILENT] The roof leaks.', 'The roof leaks.'],
  ['HEARTBEAT_OK\n\nOne mail came.', 'One mail came.'],
  ['Nothing is [SILENT] here.', 'Nothing is [SILENT] here.'],
])('of %j the text is delivered as %j', (text, expected) => {
  expect(asJob(ROW, answered(text))).toMatchObject({ outcome: 'answered', text: expected });
});

test('an answer of no words is silent too, and a failure is told once', () => {
  expect(asJob(ROW, { state: 'DONE', outcome: 'failed:GH2108', text: '⚠️' })).toEqual({ state: 'DONE', outcome: 'silent' });
  expect(asJob(ROW, FAILED)).toEqual({ ...FAILED, text: 'The scheduled job a failed.\n⚠️' });
  const again: RunRow = { ...ROW, prompt: { ...ROW.prompt, failsQuietly: true } };
  expect(asJob(again, FAILED)).toEqual({ state: 'DEAD', outcome: 'failed:GH2103' });
});

test('an answer that the provider withheld is a failure like any other: it names the job, and is told once', () => {
  const withheld = { state: 'DONE', outcome: 'failed:GH2111', text: '⚠️' } as const;
  expect(asJob(ROW, withheld)).toEqual({ ...withheld, text: 'The scheduled job a failed.\n⚠️' });
  const again: RunRow = { ...ROW, prompt: { ...ROW.prompt, failsQuietly: true } };
  expect(asJob(again, withheld)).toEqual({ state: 'DONE', outcome: 'failed:GH2111' });
});

test.each([
  ['has no model', { state: 'DONE', outcome: 'no-model' }, 'failed:GH1104'],
  ['was withheld its answer', { state: 'DONE', outcome: 'failed:GH2111', text: '⚠️' }, 'failed:GH2111'],
] as const)('a job that is a task and %s names the job, and is told once', (_why, end, outcome) => {
  const task: RunRow = { ...ROW, profile: 'task' };
  expect(endOf(task, end)).toMatchObject({
    state: 'DEAD',
    outcome,
    text: expect.stringMatching(/^The scheduled job a failed\.\n./),
  });
  const again: RunRow = { ...task, prompt: { ...ROW.prompt, failsQuietly: true } };
  expect(endOf(again, end)).toEqual({ state: 'DEAD', outcome });
});

test('an empty answer of a job that is a task is no failure', () => {
  const empty = { state: 'DONE', outcome: 'failed:GH2108', text: '⚠️' } as const;
  expect(endOf({ ...ROW, profile: 'task' }, empty)).toEqual({ state: 'DONE', outcome: 'silent' });
});

const FILES = [
  { file: { path: 'outgoing/a', name: 'report.pdf', mime: 'application/pdf', kind: 'document', bytes: 1 } },
] as const;

test('files that a job attached are delivered also where its model says nothing behind them', () => {
  const empty = { state: 'DONE', outcome: 'failed:GH2108', text: '⚠️', files: FILES } as const;
  for (const row of [ROW, { ...ROW, profile: 'task' } as const])
    expect(endOf(row, empty)).toEqual({ state: 'DONE', outcome: 'answered', text: '', files: FILES });
});

test('files come with each answer that the provider withheld: with the failure, then alone', () => {
  const withheld = { state: 'DONE', outcome: 'failed:GH2111', text: '⚠️', files: FILES } as const;
  expect(endOf(ROW, withheld)).toEqual({ ...withheld, text: 'The scheduled job a failed.\n⚠️' });
  const again: RunRow = { ...ROW, prompt: { ...ROW.prompt, failsQuietly: true } };
  expect(endOf(again, withheld)).toEqual({ ...withheld, text: '' });
  expect(endOf({ ...again, profile: 'task' }, withheld)).not.toHaveProperty('text');
});

test('what a person asked is answered in the words of the agent', () => {
  const chat: RunRow = { ...ROW, source: { kind: 'api', client: 'web' } };
  expect(asJob(chat, answered('[SILENT]'))).toEqual(answered('[SILENT]'));
});
