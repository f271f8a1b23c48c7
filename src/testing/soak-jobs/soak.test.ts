import { expect, test } from 'vitest';
import { tempDir } from '../fakes.ts';
import { needs } from '../needs.ts';
import { makeJobs, randomFrom } from './jobs.ts';
import { soakJobs } from './soak.ts';
import { compareWithSystemd } from './systemd.ts';
import { missingOf } from './whole.ts';

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

test('a control that moves the due time before it makes the run is caught', async () => {
  await using dir = await tempDir();
  const span = { from: Date.UTC(2026, 9, 3), to: Date.UTC(2026, 9, 6) };
  const options = { ...span, dir: dir.path, jobs: 40, kills: 12, jumps: [], inTwoCommits: true };
  const { wrong } = await soakJobs({ ...options, random: randomFrom(1) });
  expect(wrong.length).toBeGreaterThan(0);
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
