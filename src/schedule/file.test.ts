import { expect, test } from 'vitest';
import { readJobs } from './file.ts';
import { nextDue } from './next.ts';

const NOW = Date.UTC(2026, 0, 1);
const MINUTE = 60_000;
const AHEAD = NOW + 400 * 86_400_000;

async function imported(fields: object) {
  const entry = { name: 'look', schedule: { kind: 'every', every_ms: 10 * MINUTE }, payload: { message: 'look' }, ...fields };
  const options = { now: AHEAD, newId: () => 'ab12cd34', fallback: undefined, there: new Map<string, string>() };
  const [read] = await readJobs(JSON.stringify({ version: 1, jobs: [entry] }), options);
  return read?.kind === 'job' ? read.job : expect.fail(JSON.stringify(read));
}

test.each([
  ['says no beginning of', {}],
  ['says a beginning of that is past', { anchor_ms: NOW - 3_600_000 }],
])(
  'F22 an interval that is imported under a clock that is ahead, and that the file %s, is due soon once it is right',
  async (_what, more) => {
    const job = await imported({ created_at_ms: NOW - 86_400_000 - 7, ...more });
    const first = job.nextDue ?? 0;
    expect([first > AHEAD, first <= AHEAD + 10 * MINUTE]).toEqual([true, true]);
    expect(await nextDue(job, first - 1)).toBe(first);
    const due = (await nextDue(job, NOW)) ?? 0;
    expect([due > NOW, due <= NOW + 10 * MINUTE]).toEqual([true, true]);
  },
);

test('an interval that the file says the beginning of begins there', async () => {
  const begins = AHEAD + 60 * MINUTE;
  const job = await imported({ created_at_ms: NOW, anchor_ms: begins });
  expect(job.nextDue).toBe(begins);
  expect(await nextDue(job, NOW)).toBe(begins);
});
