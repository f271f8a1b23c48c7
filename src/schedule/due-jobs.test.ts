import { expect, test } from 'vitest';
import type { RunEvent } from '../core/events.ts';
import type { Job } from '../core/job.ts';
import type { Journal } from '../core/journal.ts';
import { openJournal } from '../journal/open.ts';
import { recordEvents, tempDir } from '../testing/fakes.ts';
import { JumpingClock, job, MEMBER, promptOf } from '../testing/jobs.ts';
import { LANE, message, SESSION } from '../testing/journal-rows.ts';
import { DueJobs, type DueJobsOptions } from './due-jobs.ts';

const MINUTE = 60_000;
const DAY = 86_400_000;
const START = Date.UTC(2026, 9, 2);
const EVERY_TEN = { kind: 'every', ms: 10 * MINUTE, from: START } as const;

interface Setup extends AsyncDisposable {
  readonly clock: JumpingClock;
  readonly journal: Journal;
  readonly jobs: DueJobs;
  readonly events: RunEvent[];
  /** Adds jobs. */
  add(...jobs: Job[]): Promise<void>;
  get(id?: string): Promise<Job | undefined>;
  /** Due times of the runs that wait, of all jobs without a chat or of the lane. */
  runs(id?: string): Promise<number[]>;
  /** Claims what waits of a job and ends it. */
  end(id?: string): Promise<void>;
  /** Claims what waits of a job and parks it until the signal `yes`. */
  park(): Promise<void>;
}

async function setup(options: Partial<DueJobsOptions> & { readonly highWater?: number } = {}): Promise<Setup> {
  const dir = await tempDir();
  const clock = new JumpingClock(START);
  const { highWater = 10_000, ...rest } = options;
  const opened = await openJournal({ dir: dir.path, clock, highWater });
  const { journal } = opened;
  const { emit, events } = recordEvents();
  const jobs = new DueJobs({
    ...{ journal, clock, emit, reserve: highWater / 2 },
    barred: async () => undefined,
    address: (to) => (to.channel === 'test' ? { account: 'bot', ...to } : undefined),
    ...rest,
  });
  const waiting = (id: string) => journal.waiting(`job/${id}`, 99);
  return {
    ...{ clock, journal, jobs, events },
    add: async (...all) => void (await journal.commit(all.map((each) => ({ kind: 'job', job: each })))),
    get: (id = 'ab12cd34') => journal.jobs.get(id),
    runs: async (id = 'ab12cd34') =>
      (await waiting(id)).map(({ source }) => (source.kind === 'job' ? (source.due - START) / MINUTE : -1)),
    async end(id = 'ab12cd34') {
      for (const { seq } of await waiting(id)) {
        const row = await journal.claim(seq);
        await journal.commit([], { seq, generation: row?.generation ?? 0, end: { state: 'DONE', outcome: 'answered' } });
      }
    },
    async park() {
      for (const { seq } of await waiting('ab12cd34')) {
        const generation = (await journal.claim(seq))?.generation ?? 0;
        const waits = [{ callId: 'model/1', kind: 'signal', about: 'yes' }] as const;
        await journal.commit([], { seq, generation, end: { state: 'PARKED', outcome: 'parked', waits, historyTo: '' } });
      }
    },
    async [Symbol.asyncDispose]() {
      await opened[Symbol.asyncDispose]();
      await dir[Symbol.asyncDispose]();
    },
  };
}

test('a due job becomes one run, in one commit with its next due time', async () => {
  await using at = await setup();
  await at.add(job({ schedule: EVERY_TEN, nextDue: START + 10 * MINUTE }));
  await at.clock.advance(10 * MINUTE);
  await at.jobs.fire(at.clock.now());
  await at.jobs.fire(at.clock.now());
  expect(await at.runs()).toEqual([10]);
  expect(await at.get()).toMatchObject({
    lastDue: START + 10 * MINUTE,
    nextDue: START + 20 * MINUTE,
    runCount: 1,
    lastStatus: 'running',
  });
  const [row] = await at.journal.waiting('job/ab12cd34', 1);
  expect(row).toMatchObject({ session: 'job:ab12cd34', authority: { principal: 'cli:local', role: 'owner' } });
  expect(promptOf(row)).toContain('water the plants');
  expect(promptOf(row)).toContain('2 October 2026 at 00:10 (UTC)');
});

test('a job that answers in a chat runs beside its messages and ends with its /stop', async () => {
  await using at = await setup();
  const payload = {
    text: 'x',
    profile: 'session',
    session: '_main:test:c1',
    deliver: { channel: 'test', chatId: 'c1' },
  } as const;
  await at.add(job({ payload, authority: MEMBER, taint: 1, nextDue: START }));
  await at.jobs.fire(START);
  const [row] = await at.journal.waiting('test/bot/c1/#job:ab12cd34', 1);
  expect(row).toMatchObject({
    session: '_main:test:c1',
    replyTo: { channel: 'test', account: 'bot', chatId: 'c1' },
    authority: MEMBER,
  });
});

test.each([
  ['once', [10], { lastDue: START + 10 * MINUTE }],
  ['skip', [], { runCount: 0 }],
] as const)('times that passed while the daemon was away make %s run', async (missed, runs, state) => {
  await using at = await setup();
  await at.add(job({ schedule: EVERY_TEN, missed, nextDue: START + 10 * MINUTE }));
  await at.clock.advance(55 * MINUTE);
  await at.jobs.fire(at.clock.now());
  expect(await at.runs()).toEqual(runs);
  expect(await at.get()).toMatchObject({ ...state, enabled: true, nextDue: START + 60 * MINUTE });
  if (missed === 'skip') {
    const skipped = { type: 'job', job: 'ab12cd34', state: 'skipped', messageId: `job/ab12cd34/${START + 10 * MINUTE}` };
    expect(at.events).toMatchObject([skipped]);
    expect(await at.journal.record.of(`job/ab12cd34/${START + 10 * MINUTE}`)).toMatchObject([{ event: skipped }]);
  }
});

test('a skipped time says how late it was, whether there was no room for it or the clock was set forward', async () => {
  const skipped = {
    type: 'job',
    job: 'ab12cd34',
    state: 'skipped',
    reason: 'it was 15 min late, and this job skips times that it missed',
  };
  const skips = job({ schedule: EVERY_TEN, missed: 'skip', nextDue: START + 10 * MINUTE });
  await using full = await setup({ highWater: 2 });
  await full.add(skips, job({ id: 'other000', schedule: { kind: 'at', at: START }, nextDue: START }));
  await full.jobs.fire(START);
  await full.clock.advance(10 * MINUTE);
  await full.jobs.fire(full.clock.now());
  expect(full.events).toEqual([]);
  await full.clock.advance(15 * MINUTE);
  await full.end('other000');
  await full.jobs.fire(full.clock.now());
  expect(full.events).toMatchObject([skipped]);
  await using set = await setup();
  await set.add(skips);
  set.clock.jump(25 * MINUTE);
  await set.jobs.fire(set.clock.now());
  expect(set.events).toMatchObject([skipped]);
});

test('a time that is late by less than a minute was not missed', async () => {
  await using at = await setup();
  await at.add(job({ schedule: EVERY_TEN, missed: 'skip', nextDue: START }));
  await at.clock.advance(MINUTE);
  await at.jobs.fire(at.clock.now());
  expect(await at.runs()).toEqual([0]);
});

test('a job for one time is disabled when it has fired, or removed where that was asked for', async () => {
  await using at = await setup();
  const schedule = { kind: 'at', at: START } as const;
  await at.add(job({ schedule, nextDue: START }), job({ id: 'gone', schedule, nextDue: START, deleteAfterRun: true }));
  await at.jobs.fire(START);
  expect(await at.get()).toMatchObject({ enabled: false, lastDue: START });
  expect((await at.get())?.nextDue).toBeUndefined();
  expect(await at.get('gone')).toBeUndefined();
  expect([await at.runs(), await at.runs('gone')]).toEqual([[0], [0]]);
});

test('F22 a clock that is set back fires no due time twice, and none too late', async () => {
  await using at = await setup();
  await at.add(job({ schedule: EVERY_TEN, nextDue: START + 10 * MINUTE }));
  for (const minute of [10, 20, 30]) {
    await at.clock.advance(10 * MINUTE);
    await at.jobs.fire(at.clock.now());
    expect((await at.get())?.lastDue).toBe(START + minute * MINUTE);
    await at.end();
  }
  at.clock.jump(-25 * MINUTE);
  await at.jobs.replan(at.clock.now());
  expect((await at.get())?.nextDue).toBe(START + 10 * MINUTE);
  for (let n = 0; n < 4; n += 1) {
    await at.clock.advance(10 * MINUTE);
    await at.jobs.fire(at.clock.now());
    await at.end();
  }
  expect(await at.get()).toMatchObject({ runCount: 4, lastDue: START + 40 * MINUTE, nextDue: START + 50 * MINUTE });
});

test('a start brings no interval forward that begins later', async () => {
  await using at = await setup();
  const schedule = { kind: 'every', ms: 10 * MINUTE, from: START + 60 * MINUTE } as const;
  await at.add(job({ schedule, createdAt: START, nextDue: START + 70 * MINUTE }));
  await at.jobs.replan(START);
  expect((await at.get())?.nextDue).toBe(START + 70 * MINUTE);
  await at.clock.advance(65 * MINUTE);
  await at.jobs.replan(at.clock.now());
  expect((await at.get())?.nextDue).toBe(START + 70 * MINUTE);
});

test('F22 an interval that was made under a clock that is ahead begins now', async () => {
  await using at = await setup();
  const ahead = START + 365 * DAY;
  await at.add(job({ schedule: { ...EVERY_TEN, from: ahead }, createdAt: ahead, nextDue: ahead + 10 * MINUTE }));
  await at.jobs.replan(START);
  const { nextDue = 0 } = (await at.get()) ?? {};
  expect([nextDue > START, nextDue <= START + 10 * MINUTE]).toEqual([true, true]);
});

test('F22 after a year ahead and back again a job fires as if nothing had been', async () => {
  await using at = await setup();
  await at.add(job({ schedule: { kind: 'cron', expr: '0 8 * * *' }, nextDue: START + 480 * MINUTE }));
  at.clock.jump(365 * DAY);
  await at.jobs.fire(at.clock.now());
  await at.end();
  expect((await at.get())?.runCount).toBe(1);
  at.clock.jump(-365 * DAY);
  await at.jobs.replan(at.clock.now());
  await at.clock.advance(480 * MINUTE);
  await at.jobs.fire(at.clock.now());
  // The eighth hour had fired ahead of its time, and is not fired again.
  expect(await at.get()).toMatchObject({ runCount: 1, nextDue: START + (24 + 8) * 60 * MINUTE });
  await at.clock.advance(24 * 60 * MINUTE);
  await at.jobs.fire(at.clock.now());
  expect((await at.get())?.runCount).toBe(2);
});

test('F22 a reminder that was skipped under a clock a year ahead is told at its time', async () => {
  await using at = await setup();
  const time = START + 480 * MINUTE;
  const once = job({ schedule: { kind: 'at', at: time }, missed: 'skip', nextDue: time });
  await at.add(once, { ...once, id: 'switched', deleteAfterRun: true });
  at.clock.jump(365 * DAY);
  await at.jobs.fire(at.clock.now());
  await at.jobs.replan(at.clock.now());
  expect(await at.get()).toMatchObject({ enabled: false, lastStatus: 'skipped as missed' });
  at.clock.jump(-365 * DAY);
  await at.jobs.replan(at.clock.now());
  await at.clock.advance(480 * MINUTE);
  await at.jobs.fire(at.clock.now());
  expect(await at.get()).toMatchObject({ enabled: false, runCount: 1, lastStatus: 'running' });
  expect([await at.runs(), await at.runs('switched')]).toEqual([[480], [480]]);
});

test('F22 jobs that a clock set back brings forward share their commits', async () => {
  await using at = await setup();
  const { journal, clock } = at;
  let [open, most] = [0, 0];
  const commit: Journal['commit'] = async (...all) => {
    open += 1;
    most = Math.max(most, open);
    return await journal.commit(...all).finally(() => {
      open -= 1;
    });
  };
  const jobs = new DueJobs({
    journal: {
      commit,
      jobs: journal.jobs,
      waits: journal.waits,
      room: () => journal.room(),
      load: (...of) => journal.load(...of),
    },
    ...{ clock, reserve: 0, barred: async () => undefined, address: () => undefined, emit: () => undefined },
  });
  const schedule = { kind: 'cron', expr: '0 8 * * *' } as const;
  await at.add(...Array.from({ length: 250 }, (_, n) => job({ id: `j${n}`, schedule, nextDue: START + 365 * DAY })));
  await jobs.replan(START);
  expect(most).toBeGreaterThanOrEqual(50);
  expect(new Set((await journal.jobs.list()).map(({ nextDue }) => nextDue))).toEqual(new Set([START + 480 * MINUTE]));
});

test('a job whose creator may do nothing any more is disabled with the reason, and does not run', async () => {
  const reason = 'its creator is not let in any more';
  await using at = await setup({ barred: async ({ role }) => (role === 'member' ? { kind: 'not-let-in', reason } : undefined) });
  await at.add(job({ authority: MEMBER, nextDue: START }), job({ id: 'own', nextDue: START }));
  await at.jobs.fire(START);
  expect([await at.runs(), await at.runs('own')]).toEqual([[], [0]]);
  expect(await at.get()).toMatchObject({ enabled: false, lastStatus: `error: ${reason}` });
  expect(at.events).toMatchObject([{ type: 'job', state: 'disabled', reason }]);
});

test('a job that is being looked at when a change of the config begins is left for after the change', async () => {
  let isChanging = false;
  const barred = async () => {
    isChanging = true;
    return { kind: 'not-let-in', reason: 'its creator is no owner any more' } as const;
  };
  await using at = await setup({ barred, isHeld: () => isChanging });
  await at.add(job({ authority: MEMBER, schedule: EVERY_TEN, nextDue: START }));
  await at.jobs.fire(START);
  expect([await at.get(), at.events]).toMatchObject([{ enabled: true, nextDue: START }, []]);
});

test('without the channel of its answer a job does not run, says so, and is due again', async () => {
  await using at = await setup();
  const payload = { text: 'x', profile: 'session', deliver: { channel: 'gone', chatId: 'c1' } } as const;
  await at.add(job({ schedule: EVERY_TEN, payload, nextDue: START }));
  await at.jobs.fire(START);
  expect(await at.get()).toMatchObject({ lastStatus: 'error: there is no channel gone', nextDue: START + 10 * MINUTE });
});

test('a job that is slower than its schedule does not pile up runs', async () => {
  await using at = await setup();
  await at.add(job({ schedule: EVERY_TEN, nextDue: START }));
  for (let n = 0; n < 6; n += 1) {
    await at.jobs.fire(at.clock.now());
    await at.clock.advance(10 * MINUTE);
  }
  expect(await at.runs()).toEqual([0, 10]);
  expect(at.events.map((event) => event.type === 'job' && event.state)).toEqual(['skipped', 'skipped', 'skipped', 'skipped']);
  await at.end();
  await at.jobs.fire(at.clock.now());
  expect(await at.runs()).toEqual([60]);
});

test('a job whose runs wait for an answer does not pile them up for the day it comes', async () => {
  await using at = await setup();
  await at.add(job({ schedule: EVERY_TEN, nextDue: START }));
  for (let n = 0; n < 6; n += 1) {
    await at.jobs.fire(at.clock.now());
    await at.park();
    await at.clock.advance(10 * MINUTE);
  }
  expect((await at.get())?.runCount).toBe(2);
  await at.journal.commit([{ kind: 'settle', settled: { wait: 'yes', value: { ok: true, output: 'allow' }, by: 'cli' } }]);
  expect(await at.runs()).toEqual([0, 10]);
});

test('runs of a job that wait count, also where their conversation was begun anew meanwhile', async () => {
  await using at = await setup();
  const payload = { text: 'x', profile: 'session', session: SESSION } as const;
  await at.add(job({ schedule: EVERY_TEN, payload, nextDue: START }));
  for (let n = 0; n < 6; n += 1) {
    await at.jobs.fire(at.clock.now());
    await at.park();
    const restart = { topic: '', keep: 0 };
    const place = { message: message(`new-${n}`), lane: LANE, session: SESSION };
    await at.journal.accept([{ kind: 'answer', ...place, outcome: 'new', parts: [], restart }]);
    await at.clock.advance(10 * MINUTE);
  }
  expect((await at.get())?.runCount).toBe(2);
});

test('an edit wins over a firing that read the job before it', async () => {
  await using at = await setup();
  const first = job({ nextDue: START });
  await at.add(first);
  const fires = at.jobs.fire(START);
  // In the same tick: the firing has read the job, or will read it as it is then.
  const edited = at.journal.commit([{ kind: 'job', job: { ...first, payload: { ...first.payload, text: 'new' } }, was: first }]);
  await Promise.all([fires, edited]);
  await at.jobs.fire(START);
  const [row, ...more] = await at.journal.waiting('job/ab12cd34', 9);
  expect(more).toEqual([]);
  expect(promptOf(row)).toContain(((await edited) ? 'new' : 'water') as string);
});

test.each([
  ['a thousand', 1_000, 200],
  ['ten thousand', 10_000, 2_000],
])('%s jobs that are due at once leave half of the room to people, and all of them fire', async (_title, count, highWater) => {
  await using at = await setup({ highWater });
  const all = Array.from({ length: count }, (_, n) => job({ id: `j${n}`, nextDue: START, schedule: { kind: 'at', at: START } }));
  await at.add(...all);
  let fired = 0;
  while ((await at.journal.jobs.earliest()) !== undefined) {
    await at.jobs.fire(START);
    expect(at.journal.room()).toBeGreaterThanOrEqual(highWater / 2);
    const lanes = (await at.journal.work()).lanes;
    const rows = (await Promise.all(lanes.map((lane) => at.journal.waiting(lane, 1)))).flat();
    const claimed = await Promise.all(rows.map(({ seq }) => at.journal.claim(seq)));
    const end = { state: 'DONE', outcome: 'answered' } as const;
    await Promise.all(claimed.map((row) => row && at.journal.commit([], { seq: row.seq, generation: row.generation, end })));
    fired += claimed.length;
  }
  expect(fired).toBe(count);
});
