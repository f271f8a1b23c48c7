import { expect, test } from 'vitest';
import type { JobBook } from '../core/job.ts';
import type { RunScope } from '../core/tool.ts';
import { openJournal } from '../journal/open.ts';
import { Book } from '../schedule/book.ts';
import { FakeClock, tempDir } from '../testing/fakes.ts';
import { MEMBER, OWNER } from '../testing/jobs.ts';
import { cron } from './cron.ts';

const CONTEXT = { callId: 'c1', idempotencyKey: 'run#c1', workspace: '/', signal: new AbortController().signal };
const origin = { channel: 'test', account: 'bot', chatId: 'c1' };

async function setup() {
  const dir = await tempDir();
  const clock = new FakeClock();
  const opened = await openJournal({ dir: dir.path, clock });
  const jobs: JobBook = new Book({ journal: opened.journal, clock, newId: () => 'random00' });
  const scope: RunScope = { session: '_main:test:c1', authority: OWNER, taint: 2, channel: 'test', origin, jobs };
  const [tool] = cron(scope);
  const call = (args: object, key = 'run#c1') => tool?.run(args, { ...CONTEXT, idempotencyKey: key });
  const close = async (): Promise<void> => {
    await opened[Symbol.asyncDispose]();
    await dir[Symbol.asyncDispose]();
  };
  return { ...{ clock, jobs, scope, call, journal: opened.journal }, [Symbol.asyncDispose]: close };
}

test('it is the owner’s alone, and only where there is a chat to answer in', async () => {
  await using at = await setup();
  expect(cron({ ...at.scope, authority: MEMBER })).toEqual([]);
  expect(cron({ ...at.scope, authority: { ...OWNER, role: 'guest' } })).toEqual([]);
  const { origin: _origin, ...nowhere } = at.scope;
  expect(cron(nowhere)).toEqual([]);
  const { jobs: _jobs, ...without } = at.scope;
  expect(cron(without)).toEqual([]);
});

test('the same call, run again after a crash, makes one job', async () => {
  await using at = await setup();
  const args = { action: 'add', message: 'call Mum', at: '2026-01-02T09:00', timezone: 'Europe/Berlin' };
  const first = await at.call(args);
  expect(first).toMatchObject({ ok: true, output: expect.stringContaining('once, next 2026-01-02T08:00:00.000Z') });
  expect(await at.call(args)).toEqual(first);
  expect(await at.jobs.list(OWNER)).toMatchObject([
    { name: 'call Mum', deleteAfterRun: true, taint: 2, payload: { deliver: origin, session: '_main:test:c1' } },
  ]);
  await at.call(args, 'run#c2');
  expect(await at.jobs.list(OWNER)).toHaveLength(2);
});

test('hostile: a model that adds without end, or a job that adds jobs, comes to a hundred of one person', async () => {
  await using at = await setup();
  const add = (n: number) => at.call({ action: 'add', message: `job ${n}`, every_seconds: 60 }, `run#${n}`);
  for (let n = 0; n < 100; n += 1) await add(n);
  expect(await add(100)).toMatchObject({ ok: false, output: expect.stringContaining('gatehouse cron add') });
  // The same call again is no new job.
  expect(await add(99)).toMatchObject({ ok: true });
  expect(await at.jobs.list(OWNER)).toHaveLength(100);
});

test('of several schedules the interval counts, then the expression', async () => {
  await using at = await setup();
  const all = { every_seconds: 90, cron: '0 8 * * *', at: '2027-01-01' };
  await at.call({ action: 'add', message: 'x', ...all }, 'a');
  await at.call({ action: 'add', message: 'y', ...all, every_seconds: undefined }, 'b');
  expect((await at.jobs.list(OWNER)).map(({ schedule }) => schedule.kind).toSorted()).toEqual(['cron', 'every']);
});

test('list, disable, enable and remove', async () => {
  await using at = await setup();
  await at.call({ action: 'add', message: 'call Mum', every_seconds: 3600 });
  const [made] = await at.jobs.list(OWNER);
  const job_id = made?.id ?? '';
  expect(await at.call({ action: 'disable', job_id })).toMatchObject({ output: `${job_id} "call Mum" every 3600 s, disabled` });
  expect(await at.call({ action: 'list' })).toMatchObject({ output: expect.stringContaining('disabled') });
  expect(await at.call({ action: 'enable', job_id })).toMatchObject({ output: expect.stringContaining('next ') });
  expect(await at.call({ action: 'remove', job_id: 'mum' })).toMatchObject({ output: expect.stringContaining('Removed') });
  expect(await at.call({ action: 'list' })).toMatchObject({ output: 'There are no jobs.' });
});

test.each([
  [{ action: 'add', message: 'x', every_seconds: 1 }, 'once a minute'],
  [{ action: 'add', message: 'x' }, 'one of at'],
  [{ action: 'add', every_seconds: 60 }, 'needs a message'],
  [{ action: 'add', message: 'x', cron: '* * *' }, 'five fields'],
  [{ action: 'add', message: 'x', at: 'soon' }, 'write it like'],
  [{ action: 'add', message: 'x', at: '2020-01-01' }, 'past'],
  [{ action: 'remove' }, 'which job'],
  [{ action: 'enable', job_id: 'none' }, 'no job'],
  [{ action: 'fly' }, 'invalid arguments'],
])('A34 %j is refused in words for the model', async (args, words) => {
  await using at = await setup();
  expect(await at.call(args)).toMatchObject({ ok: false, output: expect.stringContaining(words) });
  expect(await at.jobs.list(OWNER)).toEqual([]);
});
