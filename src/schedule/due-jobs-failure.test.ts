import { expect, test } from 'vitest';
import { openJournal } from '../journal/open.ts';
import { recordEvents, tempDir } from '../testing/fakes.ts';
import { JumpingClock, job } from '../testing/jobs.ts';
import { importOf, withoutDescriptors } from '../testing/without-descriptors.ts';
import { DueJobs } from './due-jobs.ts';

const MINUTE = 60_000;
const START = Date.UTC(2026, 9, 2);
const AT = { kind: 'at', at: START } as const;

async function setup() {
  const dir = await tempDir();
  const clock = new JumpingClock(START);
  const opened = await openJournal({ dir: dir.path, clock });
  const { journal } = opened;
  const { emit, events } = recordEvents();
  const channels = new Set<string>();
  const jobs = new DueJobs({
    ...{ journal, clock, emit, reserve: 10 },
    barred: async () => undefined,
    address: (to) => (channels.has(to.channel) ? { account: 'bot', ...to } : undefined),
  });
  return {
    ...{ clock, journal, jobs, events, channels },
    async [Symbol.asyncDispose]() {
      await opened[Symbol.asyncDispose]();
      await dir[Symbol.asyncDispose]();
    },
  };
}

test('a job that cannot be worked out is disabled with the reason, and holds up no other', async () => {
  await using at = await setup();
  const cron = { kind: 'cron', expr: '0 0 * * *' } as const;
  const bad = job({ id: 'bad', schedule: cron, timezone: 'Nowhere/AtAll', nextDue: START });
  const good = job({ id: 'good', nextDue: START });
  await at.journal.commit([bad, good].map((each) => ({ kind: 'job', job: each })));
  await at.jobs.fire(START);
  expect(await at.journal.waiting('job/good', 9)).toHaveLength(1);
  expect(await at.journal.jobs.get('bad')).toMatchObject({
    enabled: false,
    lastStatus: expect.stringMatching(/^error: .*Nowhere/),
  });
  expect(at.events).toMatchObject([{ type: 'job', job: 'bad', state: 'disabled' }]);
  await at.jobs.replan(START - MINUTE);
});

test('a job that falls due while croner cannot be read stays due, and fires afterwards', () => {
  const at = (names: string, file: string) => importOf(names, file, import.meta.url);
  const setUp = `
    const [dir, clock] = [await tempDir(), new JumpingClock(${START})];
    const { journal } = await openJournal({ dir: dir.path, clock });
    const others = { emit() {}, barred: async () => undefined, address: (to) => to };
    const jobs = new DueJobs({ journal, clock, reserve: 10, ...others });
    const schedule = { kind: 'cron', expr: '0 9 * * *' };
    await journal.commit([{ kind: 'job', job: job({ id: 'c', schedule, nextDue: ${START} }) }]);`;
  const script = `
    const fire = () => jobs.fire(${START}).then(() => 'fired', ({ code }) => code);
    const first = await fire();
    free();
    const { enabled, nextDue } = await journal.jobs.get('c');
    console.log(first, enabled, nextDue === ${START}, await fire(), (await journal.waiting('job/c', 9)).length);
    process.exit();`;
  const imports = [
    ...[at('DueJobs', './due-jobs.ts'), at('openJournal', '../journal/open.ts'), at('tempDir', '../testing/fakes.ts')],
    ...[at('JumpingClock, job', '../testing/jobs.ts'), setUp],
  ];
  expect(withoutDescriptors(imports.join('\n'), script)).toBe('GH1703 true true fired 1');
});

test('a clock that is set back brings the other jobs forward where one cannot be worked out', async () => {
  await using at = await setup();
  const cron = { kind: 'cron', expr: '0 0 * * *' } as const;
  const bad = job({ id: 'bad', schedule: cron, timezone: 'Nowhere/AtAll', nextDue: START + 9 * MINUTE, createdAt: 1 });
  const good = job({ id: 'good', nextDue: START + 60 * MINUTE, createdAt: 2 });
  await at.journal.commit([bad, good].map((each) => ({ kind: 'job', job: each })));
  await at.jobs.replan(START);
  expect((await at.journal.jobs.get('good'))?.nextDue).toBe(START + 10 * MINUTE);
});

test('a job for one time whose channel is not there is tried again, and is told when it is back', async () => {
  await using at = await setup();
  const payload = { text: 'take the pills', profile: 'session', deliver: { channel: 'test', chatId: 'c1' } } as const;
  await at.journal.commit([{ kind: 'job', job: job({ schedule: AT, payload, nextDue: START, deleteAfterRun: true }) }]);
  await at.jobs.fire(START);
  expect(await at.journal.jobs.get('ab12cd34')).toMatchObject({ enabled: true, lastStatus: 'error: there is no channel test' });
  at.channels.add('test');
  await at.clock.advance(10 * MINUTE);
  await at.jobs.fire(at.clock.now());
  const [row] = await at.journal.waiting('test/bot/c1/#job:ab12cd34', 9);
  expect(row).toMatchObject({ prompt: { text: expect.stringContaining('take the pills') } });
});

test('a job for one time whose channel does not come back is given up after a week', async () => {
  await using at = await setup();
  const payload = { text: 'x', profile: 'session', deliver: { channel: 'gone', chatId: 'c1' } } as const;
  const late = job({ schedule: { kind: 'at', at: START - 7 * 24 * 60 * MINUTE }, payload, nextDue: START });
  await at.journal.commit([{ kind: 'job', job: late }]);
  await at.jobs.fire(START);
  expect(await at.journal.jobs.get('ab12cd34')).toMatchObject({ enabled: false, lastStatus: 'error: there is no channel gone' });
});

test.each([
  ['error: cancelled', undefined],
  ['error: limit:time', undefined],
  ['error: there is no channel test', undefined],
  ['error: too old', true],
  ['error: failed:GH2112', true],
])('after %j a failure of the next run is told only where that one was not: %j', async (lastStatus, failsQuietly) => {
  await using at = await setup();
  await at.journal.commit([{ kind: 'job', job: job({ nextDue: START, lastStatus }) }]);
  await at.jobs.fire(START);
  const [row] = await at.journal.waiting('job/ab12cd34', 9);
  expect(row && !row.message && row.prompt.failsQuietly).toBe(failsQuietly);
});
