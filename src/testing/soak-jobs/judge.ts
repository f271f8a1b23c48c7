// what fired + when no process went through -> each due time fired exactly once, or skipped by its own policy
import { Cron } from 'croner';
import type { Job } from '../../core/job.ts';
import type { Gap } from './world.ts';

/** Runs that were made, by job, with how often each ended. */
export type Firings = Map<string, Map<number, number>>;

export interface Judged {
  /**
   * Due times that were missed and made no run, as their job says: `skip`, or one run for all with `once`.
   */
  readonly skipped: number;
  readonly wrong: readonly string[];
}

interface Case {
  readonly jobs: readonly Job[];
  readonly firings: Firings;
  readonly gaps: readonly Gap[];
  readonly lived: readonly Gap[];
  readonly from: number;
  readonly to: number;
}

/** The ticker looks every minute, and a time that is late by a minute was missed. */
const EDGE_MS = 150_000;

/** The due times come from croner itself, not from the code that is judged. */
export async function judge({ jobs, firings, gaps, lived, from, to }: Case): Promise<Judged> {
  const wrong: string[] = [];
  let skipped = 0;
  for (const job of jobs) {
    const fired = firings.get(job.id) ?? new Map<number, number>();
    const expected = duesOf(job, from, to);
    for (const [due, times] of fired) {
      if (times !== 1) wrong.push(`${job.id}: ${iso(due)} ended ${times} times`);
      if (due > from && due <= to && !expected.includes(due)) wrong.push(`${job.id}: ${iso(due)} is no due time of it`);
      if (job.missed === 'skip' && !within(lived, due, EDGE_MS)) wrong.push(`${job.id}: ${iso(due)} fired, though it was missed`);
    }
    for (const due of expected) {
      if (fired.has(due)) continue;
      skipped += 1;
      // A clock that was set ahead for a while makes a gap of times that came all the same.
      const gap = within(lived, due, -EDGE_MS) ? [] : gaps.filter((each) => each.from < due && due <= each.to);
      if (gap.length === 0) wrong.push(`${job.id}: ${iso(due)} (${job.missed}) did not fire`);
      else if (job.missed === 'once' && !gap.some((each) => hasFired(each, fired)))
        wrong.push(`${job.id}: nothing fired for ${iso(due)}, which was missed`);
    }
  }
  return { skipped, wrong };
}

/** `margin`: how far outside of a stretch it may lie; below 0, how far inside it has to. */
function within(stretches: readonly Gap[], at: number, margin: number): boolean {
  return stretches.some(({ from, to }) => from - margin <= at && at <= to + margin);
}

/** One run for all times of a gap: the first of them, or one that fired while the clock was ahead. */
function hasFired(gap: Gap, fired: ReadonlyMap<number, number>): boolean {
  return [...fired.keys()].some((due) => gap.from - 1_000 < due && due <= gap.to);
}

/** In (from, to]. */
export function duesOf({ schedule, timezone }: Pick<Job, 'schedule' | 'timezone'>, from: number, to: number): readonly number[] {
  const dues: number[] = [];
  if (schedule.kind === 'at') return schedule.at > from && schedule.at <= to ? [schedule.at] : [];
  if (schedule.kind === 'every') {
    for (let due = schedule.from; due <= to; due += schedule.ms) if (due > from) dues.push(due);
    return dues;
  }
  const cron = new Cron(schedule.expr, { timezone, paused: true });
  for (let due = cron.nextRun(new Date(from)); due && due.getTime() <= to; due = cron.nextRun(due)) dues.push(due.getTime());
  return dues;
}

function iso(at: number): string {
  return new Date(at).toISOString();
}
