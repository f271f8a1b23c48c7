import { join } from 'node:path';
import { expect, test } from 'vitest';
import { tempDir } from '../fakes.ts';
import { job } from '../jobs.ts';
import { needs } from '../needs.ts';
import { makeJobs, randomFrom } from './jobs.ts';
import { duesOf, judge } from './judge.ts';
import { soakJobs } from './soak.ts';
import { compareWithSystemd } from './systemd.ts';
import { missingOf } from './whole.ts';
import { World } from './world.ts';

const HOUR = 3_600_000;

test('each due time fires exactly once, or is skipped as its job says, across kills and clocks that are set', async () => {
  await using dir = await tempDir();
  const soaked = await soakJobs({
    ...{ dir: dir.path, jobs: 40, kills: 4, random: randomFrom(1) },
    // Sydney sets its clocks in between.
    from: Date.UTC(2026, 9, 3),
    to: Date.UTC(2026, 9, 6),
    jumps: [
      { at: 0.3, by: HOUR },
      { at: 0.4, by: -HOUR },
      { at: 0.6, by: 365 * 24 * HOUR },
      { at: 0.61, by: -365 * 24 * HOUR },
    ],
  });
  expect(soaked).toMatchObject({ kills: 4, jumps: 4, wrong: [] });
  expect(soaked.firings).toBeGreaterThan(80);
});

test('a control that moves the due time before it makes the run is caught, and no other is', async () => {
  await using dir = await tempDir();
  const span = { from: Date.UTC(2026, 9, 3), to: Date.UTC(2026, 9, 6) };
  const options = { ...span, jobs: 40, kills: 12, jumps: [] };
  // The same deaths, one of them with a run that had just ended, and one that lasts until the end.
  const good = await soakJobs({ ...options, dir: join(dir.path, 'good'), random: randomFrom(1) });
  expect(good.wrong).toEqual([]);
  const { wrong } = await soakJobs({ ...options, dir: join(dir.path, 'bad'), random: randomFrom(1), inTwoCommits: true });
  expect(wrong.length).toBeGreaterThan(0);
});

test('a scheduler that loses a third of its due times is caught, though the clock was a year off', async () => {
  const span = { from: Date.UTC(2026, 9, 2), to: Date.UTC(2026, 9, 31) };
  const [whole, year] = [span.to - span.from, 365 * 24 * HOUR];
  const world = new World(span.from, [
    { at: 0.4 * whole, by: year },
    { at: 0.4002 * whole, by: -year },
    { at: 0.55 * whole, by: -year },
    { at: 0.5502 * whole, by: year },
  ]);
  while (world.monotonic < whole) world.live(60_000);
  const jobs = makeJobs(20, span, randomFrom(1));
  let [due, lost] = [0, 0];
  const isKept = (): boolean => {
    due += 1;
    if (due % 3 === 0) lost += 1;
    return due % 3 !== 0;
  };
  const firings = new Map(
    jobs.map((job) => [
      job.id,
      new Map(
        duesOf(job, span.from, span.to)
          .filter(isKept)
          .map((at) => [at, 1] as const),
      ),
    ]),
  );
  const { wrong } = await judge({ jobs, firings, gaps: world.gaps, lived: world.lived, ...span });
  expect(wrong.length).toBeGreaterThan(0.9 * lost);
});

test('a run for a time that was missed, of a job that skips those, is caught', async () => {
  const span = { from: Date.UTC(2026, 9, 2), to: Date.UTC(2026, 9, 4) };
  const due = Date.UTC(2026, 9, 3, 12);
  const skips = job({ schedule: { kind: 'at', at: due }, missed: 'skip' });
  const [lived, gaps] = [[{ from: span.from, to: due - HOUR }], [{ from: due - HOUR, to: due + HOUR }]];
  const of = (missed: 'once' | 'skip') =>
    judge({ jobs: [{ ...skips, missed }], firings: new Map([[skips.id, new Map([[due, 1]])]]), gaps, lived, ...span });
  expect((await of('once')).wrong).toEqual([]);
  expect((await of('skip')).wrong).toEqual(['ab12cd34: 2026-10-03T12:00:00.000Z fired, though it was missed']);
});

test('systemd reads the same due times from the same schedules', (context) => {
  needs(context, 'systemd-analyze', '--version');
  const span = { from: Date.UTC(2026, 9, 2), to: Date.UTC(2026, 9, 31) };
  // One of each kind: each costs a third of a second.
  const kinds = makeJobs(20, span, randomFrom(7)).filter((_, n) => [4, 5, 6, 7, 10].includes(n));
  const compared = compareWithSystemd(kinds, span);
  expect(compared).toMatchObject({ jobs: 5, wrong: [] });
  expect(compared?.times).toBeGreaterThan(80);
});

test('a soak without systemd, with fewer kills or with too few firings is not whole', () => {
  const systemd = { jobs: 34, times: 850, wrong: [] };
  const whole = { jobs: 1_000, firings: 22_364, kills: 50, systemd };
  expect(missingOf(whole, { kills: 50 })).toEqual([]);
  expect(missingOf({ ...whole, jobs: 40, firings: 100 }, { kills: 50 })).toEqual([]);
  const wrong = [
    ...[{ systemd: undefined }, { systemd: { ...systemd, times: 0 } }],
    ...[{ kills: 49 }, { firings: 14_999 }, { firings: 25_001 }],
  ];
  expect(wrong.map((one) => missingOf({ ...whole, ...one }, { kills: 50 }).length)).toEqual([1, 1, 1, 1, 1]);
});
