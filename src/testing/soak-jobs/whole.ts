// what a soak did -> what it left out
import type { Soaked } from './soak.ts';
import type { Compared } from './systemd.ts';

/** A job fires some 20 times a month: see `makeJobs`. With fewer jobs than these, chance decides too much. */
const FIRINGS_OF_A_JOB = { least: 15, most: 25 };
const MANY_JOBS = 1_000;

type Done = Pick<Soaked, 'jobs' | 'firings' | 'kills'> & { readonly systemd: Compared | undefined };

/** Sentences; none = it did all that was asked of it. A soak that left something out proves nothing. */
export function missingOf({ jobs, firings, kills, systemd }: Done, asked: { readonly kills: number }): readonly string[] {
  const [least, most] = [FIRINGS_OF_A_JOB.least * jobs, FIRINGS_OF_A_JOB.most * jobs];
  return [
    ...(systemd && systemd.times > 0 ? [] : ['no due time was compared with systemd: install systemd-analyze']),
    ...(kills === asked.kills ? [] : [`it was killed ${kills} times, not ${asked.kills} times`]),
    ...(jobs < MANY_JOBS || (firings >= least && firings <= most)
      ? []
      : [`${jobs} jobs fired ${firings} times; a month has ${least} to ${most} firings of them`]),
  ];
}
