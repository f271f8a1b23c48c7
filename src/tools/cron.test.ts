import { expect, test } from 'vitest';
import { PRIVATE } from '../core/authority.ts';
import type { JobBook } from '../core/job.ts';
import type { RunScope } from '../core/tool.ts';
import { openJournal } from '../journal/open.ts';
import { Book } from '../schedule/book.ts';
import { runOf } from '../schedule/job-run.ts';
import { FakeClock, tempDir } from '../testing/fakes.ts';
import { MEMBER, OWNER } from '../testing/jobs.ts';
import { toolCall } from '../testing/tool-scope.ts';
import { cron } from './cron.ts';

const CONTEXT = toolCall({ callId: 'c1', idempotencyKey: 'run#c1' });
const origin = { channel: 'test', account: 'bot', chatId: 'c1' };

async function setup(timezone?: string) {
  const dir = await tempDir();
  const clock = new FakeClock();
  const opened = await openJournal({ dir: dir.path, clock });
  const zone = timezone === undefined ? {} : { timezone };
  const jobs: JobBook = new Book({ journal: opened.journal, clock, newId: () => 'random00', ...zone });
  const scope: RunScope = { session: '_main:test:c1', authority: OWNER, taint: 2, channel: 'test', origin, jobs };
  const [tool] = cron(scope);
  const call = (args: object, key = 'run#c1') => tool?.run(args, { ...CONTEXT, idempotencyKey: key });
  const close = async (): Promise<void> => {
    await opened[Symbol.asyncDispose]();
    await dir[Symbol.asyncDispose]();
  };
  return { ...{ clock, jobs, scope, call, journal: opened.journal }, [Symbol.asyncDispose]: close };
}

test('guests have none, and it is only where there is a chat to answer in', async () => {
  await using at = await setup();
  expect(cron({ ...at.scope, authority: MEMBER })).toHaveLength(1);
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

test('a reminder for a length of time from now counts from the clock of the daemon', async () => {
  await using at = await setup('Europe/Berlin');
  expect(await at.call({ action: 'add', message: 'call Mum', in_seconds: 600 })).toEqual({
    ok: true,
    output: expect.stringMatching(
      /"call Mum" once, next 2026-01-01T00:10:00.000Z; it is now 2026-01-01 01:00 in Europe\/Berlin; due 2026-01-01 01:10 Europe\/Berlin$/,
    ),
  });
  expect(await at.jobs.list(OWNER)).toMatchObject([
    { schedule: { kind: 'at', at: at.clock.now() + 600_000 }, deleteAfterRun: true },
  ]);
});

test('a time of day is one of the daemon’s own zone where no other one is named, and the model is told so', async () => {
  await using at = await setup('Europe/Berlin');
  const added = await at.call({ action: 'add', message: 'call Mum', at: '2026-07-01T18:00' });
  expect(added).toMatchObject({ ok: true, output: expect.stringContaining('due 2026-07-01 18:00 Europe/Berlin') });
  await at.call({ action: 'add', message: 'every morning', cron: '0 8 * * *' }, 'b');
  await at.call({ action: 'add', message: 'far away', at: '2026-07-01T18:00', timezone: 'Asia/Kolkata' }, 'c');
  expect((await at.jobs.list(OWNER)).map(({ name, timezone, nextDue }) => [name, timezone, nextDue]).toSorted()).toEqual([
    ['call Mum', 'Europe/Berlin', Date.UTC(2026, 6, 1, 16)],
    ['every morning', 'Europe/Berlin', Date.UTC(2026, 0, 1, 7)],
    ['far away', 'Asia/Kolkata', Date.UTC(2026, 6, 1, 12, 30)],
  ]);
  const [tool] = cron(at.scope);
  expect(JSON.stringify(tool?.parameters['properties'])).toContain('Default: the zone that your current date is given in');
});

test.each([{ at: '2026-01-01T00:30' }, { at: 'at six' }, { in_seconds: -60 }])(
  'a time that cannot be (%j) is answered with the time that it is',
  async (time) => {
    await using at = await setup('Europe/Berlin');
    expect(await at.call({ action: 'add', message: 'x', ...time })).toMatchObject({
      ok: false,
      output: expect.stringContaining('it is now 2026-01-01 01:00 in Europe/Berlin'),
    });
  },
);

test('the call of a reminder that has fired meanwhile makes no second one when it runs again after a crash', async () => {
  await using at = await setup();
  const args = { action: 'add', message: 'call Mum', in_seconds: 600 };
  await at.call(args);
  const [job] = await at.jobs.list(OWNER);
  if (!job) throw new Error('it is not there');
  const run = runOf({ job, due: job.nextDue ?? 0, to: origin, text: 'x' });
  await at.journal.commit([
    { kind: 'run', run },
    { kind: 'job', job: { gone: job.id }, was: job },
  ]);
  await at.clock.advance(3_600_000);
  expect(await at.call(args)).toMatchObject({ ok: false, output: expect.stringContaining('has fired') });
  expect(await at.jobs.list(OWNER)).toEqual([]);
  expect(await at.call(args, 'run#c2')).toMatchObject({ ok: true });
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

test('hostile: eight calls of one answer that add at once come to a hundred as well', async () => {
  await using at = await setup();
  const add = (n: number) => at.call({ action: 'add', message: `job ${n}`, every_seconds: 60 }, `run#${n}`);
  for (let n = 0; n < 97; n += 1) await add(n);
  const results = await Promise.all(Array.from({ length: 8 }, (_, n) => add(97 + n)));
  expect(results.filter((result) => result?.ok)).toHaveLength(3);
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

test('A30 what is told of a job brings in what its maker had read, wherever it is told', async () => {
  await using at = await setup();
  const { session } = at.scope;
  await at.jobs.add({ id: 'one', text: 'call Mum', schedule: { everyMs: 3_600_000 }, authority: OWNER, session, taint: 1 });
  expect(await at.call({ action: 'list' })).toMatchObject({ taint: 1 });
  expect(await at.call({ action: 'disable', job_id: 'one' })).toMatchObject({ taint: 1 });
  expect(await at.call({ action: 'remove', job_id: 'one' })).toMatchObject({ taint: 1 });
  expect(await at.call({ action: 'list' })).not.toHaveProperty('taint');
});

test('what is told of a job of another conversation or person is private, also where no job or more than one fits', async () => {
  await using at = await setup();
  const { session } = at.scope;
  const schedule = { everyMs: 3_600_000 };
  await at.jobs.add({ id: 'own', text: 'call Mum', schedule, authority: OWNER, session });
  expect(await at.call({ action: 'list' })).not.toHaveProperty('taint');
  expect(await at.call({ action: 'enable', job_id: 'own' })).not.toHaveProperty('taint');
  expect(await at.call({ action: 'enable', job_id: 'gone' })).not.toHaveProperty('taint');
  await at.jobs.add({ id: 'there', text: 'call Dad', schedule, authority: OWNER, session: '_main:test:c2' });
  await at.jobs.add({ id: 'cli', text: 'backup', schedule, authority: OWNER });
  await at.jobs.add({ id: 'theirs', text: 'tea', schedule, authority: MEMBER, session });
  for (const job_id of ['there', 'cli', 'theirs'])
    expect(await at.call({ action: 'disable', job_id }), job_id).toMatchObject({ ok: true, taint: PRIVATE });
  for (const call of [{ action: 'list' }, { action: 'remove', job_id: 'call' }, { action: 'remove', job_id: 'gone' }])
    expect(await at.call(call)).toMatchObject({ taint: PRIVATE });
  expect(await at.call({ action: 'enable', job_id: 'own' })).not.toHaveProperty('taint');
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
