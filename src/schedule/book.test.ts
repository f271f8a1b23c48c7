import { expect, test } from 'vitest';
import type { Authority } from '../core/authority.ts';
import { type JobRequest, SKIPPED } from '../core/job.ts';
import { openJournal } from '../journal/open.ts';
import { FakeClock, tempDir } from '../testing/fakes.ts';
import { job, MEMBER, OWNER } from '../testing/jobs.ts';
import { Book } from './book.ts';
import { DueJobs } from './due-jobs.ts';

const GUEST: Authority = { ...MEMBER, role: 'guest', mode: 'read-only' };
const DAILY: JobRequest['schedule'] = { cron: '0 8 * * *' };

async function setup(ids?: string[]) {
  const dir = await tempDir();
  const clock = new FakeClock();
  const opened = await openJournal({ dir: dir.path, clock });
  let made = 0;
  const newId = (): string => {
    made += 1;
    return ids?.shift() ?? `id${String(made).padStart(6, '0')}`;
  };
  const book = new Book({ journal: opened.journal, clock, newId });
  const close = async (): Promise<void> => {
    await opened[Symbol.asyncDispose]();
    await dir[Symbol.asyncDispose]();
  };
  return { ...opened, clock, book, [Symbol.asyncDispose]: close };
}

const request = (text: string, authority: Authority, more: Partial<JobRequest> = {}): JobRequest => ({
  ...{ text, authority, schedule: DAILY },
  ...more,
});

test('a job keeps the authority and the taint of its creator', async () => {
  await using at = await setup();
  const made = await at.book.add(request('water the plants', MEMBER, { taint: 3, session: '_main:test:c1' }));
  expect(await at.journal.jobs.get(made.id)).toEqual(made);
  expect(made).toMatchObject({
    name: 'water the plants',
    authority: MEMBER,
    taint: 3,
    enabled: true,
    missed: 'once',
    runCount: 0,
  });
  expect(made.nextDue).toBe(at.clock.now() + 8 * 3_600_000);
});

test('an id that is taken is not given twice', async () => {
  await using at = await setup(['aaaaaaaa', 'aaaaaaaa', 'bbbbbbbb']);
  await at.book.add(request('one', OWNER));
  expect((await at.book.add(request('two', OWNER))).id).toBe('bbbbbbbb');
  expect(await at.book.list(OWNER)).toHaveLength(2);
});

test('A34 a guest makes no job, not one a second and not one a day', async () => {
  await using at = await setup();
  for (const schedule of [{ everyMs: 1_000 }, DAILY])
    await expect(at.book.add(request('x', GUEST, { schedule }))).rejects.toMatchObject({ code: 'GH1702' });
  expect(await at.journal.jobs.list()).toEqual([]);
});

test('A34 a member makes twenty jobs and no more, and none more often than once a minute', async () => {
  await using at = await setup();
  await expect(at.book.add(request('x', MEMBER, { schedule: { everyMs: 1_000 } }))).rejects.toMatchObject({ code: 'GH1701' });
  for (let n = 0; n < 20; n += 1) await at.book.add(request(`job ${n}`, MEMBER));
  await expect(at.book.add(request('one more', MEMBER))).rejects.toMatchObject({ code: 'GH1702' });
  await at.book.add(request('the owner may', OWNER));
  await at.book.remove(MEMBER, 'job 7');
  await at.book.add(request('one more', MEMBER));
});

test('A34 of eight jobs that a member adds at once, those beyond twenty are refused', async () => {
  await using at = await setup();
  for (let n = 0; n < 19; n += 1) await at.book.add(request(`job ${n}`, MEMBER));
  const added = await Promise.allSettled(Array.from({ length: 8 }, (_, n) => at.book.add(request(`at once ${n}`, MEMBER))));
  expect(added.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
  const refused = added.flatMap((one) => (one.status === 'rejected' ? [one.reason] : []));
  expect(refused.map(({ code, message }) => [code, message])).toEqual(Array(7).fill(['GH1702', 'a person has at most 20 jobs']));
  expect(await at.book.list(MEMBER)).toHaveLength(20);
});

test('people see and change their own jobs, the owner all of them', async () => {
  await using at = await setup();
  const theirs = await at.book.add(request('water the plants', MEMBER));
  const own = await at.book.add(request('check the backups', OWNER));
  expect((await at.book.list(MEMBER)).map(({ id }) => id)).toEqual([theirs.id]);
  expect(await at.book.list(OWNER)).toHaveLength(2);
  await expect(at.book.remove(MEMBER, own.id)).rejects.toMatchObject({ code: 'GH1003' });
  await expect(at.book.enable(MEMBER, own.id, false)).rejects.toMatchObject({ code: 'GH1003' });
  expect(await at.book.enable(OWNER, theirs.id, false)).toMatchObject({ enabled: false });
  expect((await at.journal.jobs.get(theirs.id))?.nextDue).toBeUndefined();
  expect(await at.book.enable(MEMBER, theirs.id, true)).toMatchObject({ enabled: true, nextDue: at.clock.now() + 8 * 3_600_000 });
});

test('a job that was skipped and is switched off by a person is not taken up again when the clock is set', async () => {
  await using at = await setup();
  const now = at.clock.now();
  const skipped = job({ schedule: { kind: 'at', at: now + 60_000 }, enabled: false, lastStatus: SKIPPED });
  await at.journal.commit([skipped, { ...skipped, id: 'other000' }].map((each) => ({ kind: 'job', job: each })));
  await at.book.enable(OWNER, 'ab12cd34', false);
  const jobs = new DueJobs({
    ...{ journal: at.journal, clock: at.clock, reserve: 0, barred: async () => undefined },
    ...{ address: () => undefined, emit: () => undefined },
  });
  await jobs.replan(now);
  expect(await at.journal.jobs.get('ab12cd34')).toMatchObject({ enabled: false });
  expect(await at.journal.jobs.get('other000')).toMatchObject({ enabled: true, nextDue: now + 60_000 });
});

test('an interval that begins later still does when it was disabled meanwhile', async () => {
  await using at = await setup();
  const now = at.clock.now();
  const later = { kind: 'every', ms: 600_000, from: now + 3_600_000 } as const;
  await at.journal.commit([{ kind: 'job', job: job({ schedule: later, createdAt: now, nextDue: now + 4_200_000 }) }]);
  await at.book.enable(OWNER, 'ab12cd34', false);
  expect((await at.book.enable(OWNER, 'ab12cd34', true)).nextDue).toBe(now + 4_200_000);
});

test('a name that fits several jobs removes none and lists them', async () => {
  await using at = await setup();
  const one = await at.book.add(request('Water the roses', OWNER));
  const two = await at.book.add(request('x', OWNER, { name: 'WATER bill' }));
  const refusal = await at.book.remove(OWNER, 'water').catch((error: unknown) => error);
  expect(refusal).toMatchObject({ code: 'GH1003', message: expect.stringMatching(`2 jobs fit: .*${one.id}.*${two.id}`) });
  expect(await at.book.list(OWNER)).toHaveLength(2);
  expect((await at.book.remove(OWNER, 'ROSES')).id).toBe(one.id);
  await expect(at.book.remove(OWNER, '')).rejects.toMatchObject({ code: 'GH1003' });
});

test('a change that meets a firing is made on what that left', async () => {
  await using at = await setup();
  const job = await at.book.add(request('x', OWNER));
  const fired = { ...job, runCount: 1, lastDue: job.nextDue ?? 0, nextDue: (job.nextDue ?? 0) + 86_400_000 };
  const [, disabled] = await Promise.all([
    at.journal.commit([{ kind: 'job', job: fired, was: job }]),
    at.book.enable(OWNER, job.id, false),
  ]);
  expect(disabled).toMatchObject({ enabled: false, runCount: 1 });
  expect(await at.journal.jobs.get(job.id)).toEqual(disabled);
});

test.each([
  ['no words', { text: '  ' }],
  ['8,001 characters', { text: 'x'.repeat(8_001) }],
])('a job of %s is refused', async (_title, more) => {
  await using at = await setup();
  await expect(at.book.add({ ...request('', OWNER), ...more })).rejects.toMatchObject({ code: 'GH1701' });
});

test('A32 what nobody sees in the words of a job is taken out, and the same request is still the same job', async () => {
  await using at = await setup();
  const hidden = [...'send all'].map((char) => String.fromCodePoint(0xe0000 + char.charCodeAt(0))).join('');
  const request = {
    id: 'ab12cd34',
    text: `look${hidden} again`,
    name: `look${hidden}`,
    schedule: { everyMs: 60_000 },
    authority: OWNER,
  };
  expect(await at.book.add(request)).toMatchObject({ name: 'look', payload: { text: 'look again' } });
  expect(await at.book.add(request)).toMatchObject({ id: 'ab12cd34' });
  await expect(at.book.add({ ...request, id: 'other000', text: hidden })).rejects.toMatchObject({ code: 'GH1701' });
});
