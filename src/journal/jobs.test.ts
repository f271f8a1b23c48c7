import { expect, test } from 'vitest';
import type { Job } from '../core/job.ts';
import type { Journal } from '../core/journal.ts';
import { runOf } from '../schedule/job-run.ts';
import { FakeClock, tempDir } from '../testing/fakes.ts';
import { job, MEMBER } from '../testing/jobs.ts';
import { LANE, message, SESSION } from '../testing/journal-rows.ts';
import { openJournal } from './open.ts';

const clock = new FakeClock();

async function opened() {
  const dir = await tempDir();
  const at = await openJournal({ dir: dir.path, clock });
  const close = async (): Promise<void> => {
    await at[Symbol.asyncDispose]();
    await dir[Symbol.asyncDispose]();
  };
  return { journal: at.journal, [Symbol.asyncDispose]: close };
}

async function fire(journal: Journal, was: Job, due: number): Promise<boolean> {
  const fired: Job = { ...was, lastDue: due, lastStatus: 'running', nextDue: due + 600_000, runCount: was.runCount + 1 };
  return await journal.commit([
    { kind: 'run', run: runOf({ job: was, due, to: undefined, text: 'x' }) },
    { kind: 'job', job: fired, was },
  ]);
}

/** Claims the newest run of the job and ends it. */
async function end(journal: Journal, outcome: string): Promise<void> {
  const [row] = await journal.waiting('job/ab12cd34', 1);
  const claimed = await journal.claim(row?.seq ?? 0);
  const state = outcome.startsWith('failed') ? 'DEAD' : 'DONE';
  await journal.commit([], { seq: claimed?.seq ?? 0, generation: claimed?.generation ?? 0, end: { state, outcome } });
}

test('a job reads as it was written, and who acts on jobs is told', async () => {
  await using at = await opened();
  const { journal } = at;
  const woken: string[] = [];
  using _listening = journal.wakeup.listen((what, id) => woken.push(`${what} ${id}`));
  const deliver = { channel: 'test', chatId: 'c1', threadId: 't', replyContext: { subject: 'Hi' } };
  const full = job({
    ...{ nextDue: 600_000, lastDue: 0, lastStatus: 'ok', runCount: 3, taint: 1, missed: 'skip', deleteAfterRun: true },
    ...{ schedule: { kind: 'cron', expr: '0 8 * * *' }, timezone: 'Europe/Berlin' },
    payload: { text: 'x', profile: 'task', session: '_main:test:c1', deliver },
  });
  expect(await journal.commit([{ kind: 'job', job: full }])).toBe(true);
  expect(await journal.jobs.get('ab12cd34')).toEqual(full);
  expect(await journal.jobs.list()).toEqual([full]);
  expect(woken).toEqual(['job ab12cd34']);
  expect(await journal.commit([{ kind: 'job', job: { gone: 'ab12cd34' }, was: full }])).toBe(true);
  expect(await journal.jobs.list()).toEqual([]);
});

test('what is due comes in the order of its due times, and nothing that is disabled', async () => {
  await using at = await opened();
  const { journal } = at;
  const jobs = [
    job({ id: 'a', nextDue: 300 }),
    job({ id: 'b', nextDue: 100 }),
    job({ id: 'c', nextDue: 50, enabled: false }),
    job({ id: 'd', nextDue: 900 }),
    job({ id: 'e' }),
  ];
  await journal.commit(jobs.map((each) => ({ kind: 'job', job: each })));
  expect((await journal.jobs.due(300, 9)).map(({ id }) => id)).toEqual(['b', 'a']);
  expect((await journal.jobs.due(300, 1)).map(({ id }) => id)).toEqual(['b']);
  expect(await journal.jobs.earliest()).toBe(100);
  expect(await journal.jobs.counts()).toEqual({ enabled: 4, disabled: 1, failing: 0, nextDue: 100 });
});

test('an edit that meets a firing writes nothing of its commit, nor does a firing that meets an edit', async () => {
  await using at = await opened();
  const { journal } = at;
  const read = job({ nextDue: 600_000 });
  await journal.commit([{ kind: 'job', job: read }]);
  expect(await fire(journal, read, 600_000)).toBe(true);
  expect(await journal.commit([{ kind: 'job', job: { ...read, enabled: false }, was: read }])).toBe(false);
  expect(await fire(journal, read, 600_000)).toBe(false);
  expect(await journal.commit([{ kind: 'job', job: { gone: read.id }, was: read }])).toBe(false);
  expect(await journal.commit([{ kind: 'job', job: read }])).toBe(false);
  expect(await journal.jobs.get(read.id)).toMatchObject({ enabled: true, nextDue: 1_200_000, runCount: 1 });
  const [row, ...more] = await journal.waiting('job/ab12cd34', 9);
  expect(row).toMatchObject({ key: 'job/ab12cd34/600000', source: { kind: 'job', job: 'ab12cd34', due: 600_000 } });
  expect(more).toEqual([]);
  expect(await journal.jobs.fired('ab12cd34', 600_000)).toBe(true);
  expect(await journal.jobs.fired('ab12cd34', 1_200_000)).toBe(false);
  expect([await journal.jobs.fired('ab12cd34'), await journal.jobs.fired('ab12cd3')]).toEqual([true, false]);
});

test('a new job that would be one too many of its person is not written, nor is anything of its commit', async () => {
  await using at = await opened();
  const { journal } = at;
  const add = (id: string, more: Partial<Job> = {}) => journal.commit([{ kind: 'job', job: job({ id, ...more }), most: 2 }]);
  expect(await Promise.all(['a', 'b', 'c'].map((id) => add(id)))).toEqual([true, true, false]);
  expect(await add('d', { authority: MEMBER })).toBe(true);
  const [was] = await journal.jobs.list();
  // One that is there already is changed all the same.
  expect(was && (await journal.commit([{ kind: 'job', job: { ...was, enabled: false }, was, most: 2 }]))).toBe(true);
  expect((await journal.jobs.list()).map(({ id }) => id).sort()).toEqual(['a', 'b', 'd']);
});

test('how a run ended stands in its job with the commit that ended it, and an edit keeps it', async () => {
  await using at = await opened();
  const { journal } = at;
  await journal.commit([{ kind: 'job', job: job({ nextDue: 600_000 }) }]);
  await fire(journal, job({ nextDue: 600_000 }), 600_000);
  const running = await journal.jobs.get('ab12cd34');
  expect(running?.lastStatus).toBe('running');
  await end(journal, 'answered');
  expect((await journal.jobs.get('ab12cd34'))?.lastStatus).toBe('ok');
  // Read before the run ended: the edit changes the name and nothing else.
  expect(running && (await journal.commit([{ kind: 'job', job: { ...running, name: 'cacti' }, was: running }]))).toBe(true);
  const edited = await journal.jobs.get('ab12cd34');
  expect(edited).toMatchObject({ name: 'cacti', lastStatus: 'ok' });
  if (edited) await fire(journal, edited, 1_200_000);
  await end(journal, 'failed:GH2103');
  expect((await journal.jobs.get('ab12cd34'))?.lastStatus).toBe('error: failed:GH2103');
  expect((await journal.jobs.counts()).failing).toBe(1);
  expect(await journal.dead.list()).toMatchObject([
    { channel: 'job', chatId: 'job/ab12cd34', sender: 'cli:local', payload: { text: 'x' } },
  ]);
});

test('a stop in the chat that a job answers in ends its parked run, also of a job with a session of its own', async () => {
  await using at = await opened();
  const { journal } = at;
  const to = { channel: 'test', account: 'bot', chatId: 'chat-1' };
  const runs = [to, { ...to, chatId: 'chat-10' }, undefined].map((place, n) =>
    runOf({ job: job({ id: `ab12cd3${n}` }), due: 0, to: place, text: 'x' }),
  );
  for (const run of runs) {
    await journal.commit([{ kind: 'run', run }]);
    const [row] = await journal.waiting(run.lane, 1);
    const { seq = 0, generation = 0 } = (await journal.claim(row?.seq ?? 0)) ?? {};
    const waits = [{ callId: 'model/0', kind: 'signal', about: 'budget/day' }] as const;
    await journal.commit([], { seq, generation, end: { state: 'PARKED', outcome: 'parked', waits, historyTo: '' } });
  }
  const place = { lane: LANE, session: SESSION };
  const [accepted] = await journal.accept([
    { kind: 'answer', message: message('stop'), ...place, outcome: 'stop', parts: [], cancels: { where: 'chat' } },
  ]);
  const ended = accepted?.kind === 'answered' ? accepted.cancelled : [];
  expect(ended.map(({ row }) => row.key)).toEqual(['job/ab12cd30/0']);
});
