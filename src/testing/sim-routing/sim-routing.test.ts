import { describe, expect, test } from 'vitest';
import { check, type Figures, toFigures, toText } from './report.ts';
import { MODES, runDay } from './run-day.ts';
import type { Day } from './world.ts';

/** The day of `npm run sim:routing` in four hours. */
const DAY: Day = { seed: 1, lengthMs: 14_400_000, perMinute: 12 };

async function figuresOf(day: Day): Promise<Figures[]> {
  const all: Figures[] = [];
  for (const mode of MODES) all.push(toFigures(await runDay(mode, day)));
  return all;
}

describe('a simulated day through the real chain and router', () => {
  test('F24 F25 F26 F27 outages, limits, refused keys and silent streams lose no request, and each mode keeps its promise', async () => {
    const figures = await figuresOf(DAY);
    const checks = check(figures);
    expect(
      checks.filter(({ passed }) => !passed),
      toText(figures, checks),
    ).toEqual([]);
    expect(figures.find(({ mode }) => mode === 'lane')?.recoveries).toBeGreaterThan(1);
  });

  test('the same seed gives the same day, another seed another', async () => {
    const short = { ...DAY, lengthMs: 1_200_000 };
    const once = toFigures(await runDay('lane', short));
    expect(toFigures(await runDay('lane', short))).toEqual(once);
    expect(toFigures(await runDay('lane', { ...short, seed: 2 }))).not.toEqual(once);
  });

  test('each check can fail', () => {
    const good: Omit<Figures, 'mode'> = {
      requests: 10,
      served: 10,
      lost: 0,
      brokenEnds: 0,
      p50Ms: 1,
      p95Ms: 5,
      costUsd: 5,
      switches: 0,
      recoveries: 1,
      slowestRecoveryMs: 1,
    };
    const all = (change: Partial<Record<Figures['mode'], Partial<Figures>>> = {}): Figures[] => [
      { ...good, mode: 'alone', lost: 1, ...change.alone },
      { ...good, mode: 'off', ...change.off },
      { ...good, mode: 'chain', ...change.chain },
      { ...good, mode: 'lane', p95Ms: 4, costUsd: 4, ...change.lane },
      { ...good, mode: 'hedge', p95Ms: 3, ...change.hedge },
    ];
    const failures = (figures: Figures[]) => check(figures).filter(({ passed }) => !passed).length;
    expect(failures(all())).toBe(0);
    for (const change of [
      { lane: { p95Ms: 5 } },
      { lane: { costUsd: 5 } },
      { hedge: { p95Ms: 4 } },
      { chain: { lost: 1 } },
      { hedge: { brokenEnds: 1 } },
      { off: { slowestRecoveryMs: 120_001 } },
      { off: { recoveries: 0 } },
      { alone: { lost: 0 } },
    ])
      expect(failures(all(change)), JSON.stringify(change)).toBe(1);
  });
});
