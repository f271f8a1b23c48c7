// jobs + virtual weeks + kills + clocks that are set -> what fired
import type { Write } from '../../core/commit.ts';
import type { Journal } from '../../core/journal.ts';
import { openJournal } from '../../journal/open.ts';
import { DueJobs } from '../../schedule/due-jobs.ts';
import { nextDue } from '../../schedule/next.ts';
import { Ticker } from '../../schedule/ticker.ts';
import { MemoryLogger } from '../fakes.ts';
import { makeJobs, type Random } from './jobs.ts';
import { type Firings, type Judged, judge } from './judge.ts';
import { type Death, LifeClock, mortal, World } from './world.ts';

const HOUR_MS = 3_600_000;
const LAST_MS = 120_000;

export interface SoakOptions {
  readonly dir: string;
  readonly jobs: number;
  readonly from: number;
  readonly to: number;
  readonly kills: number;
  readonly random: Random;
  /** Known to be bad: the due time is moved in a commit of its own, before the run is made. */
  readonly inTwoCommits?: boolean;
  /** How the wall clock is set, as shares of the whole time. */
  readonly jumps: readonly { readonly at: number; readonly by: number }[];
}

export interface Soaked extends Judged {
  readonly jobs: number;
  readonly firings: number;
  readonly kills: number;
  readonly jumps: number;
}

/**
 * Real ticker and real journal file on virtual time. A kill leaves the journal between two commits, before
 * the last one or after it, and the process stays away from a second to half a day.
 */
export async function soakJobs(options: SoakOptions): Promise<Soaked> {
  const { dir, from, to, random, inTwoCommits = false } = options;
  const world = new World(
    from,
    options.jumps.map(({ at, by }) => ({ at: at * (to - from), by })),
  );
  const jobs = makeJobs(options.jobs, { from, to }, random);
  const firings: Firings = new Map(jobs.map(({ id }) => [id, new Map<number, number>()]));
  let isFirst = true;
  let kills = 0;
  for (;;) {
    // Where it is away at the end, one more process finds what was due meanwhile.
    const end = Math.max(to - from, world.monotonic + LAST_MS);
    const left = world.monotonic < to - from ? options.kills - kills : 0;
    const life = left === 0 ? Number.POSITIVE_INFINITY : ((to - from - world.monotonic) / (left + 1)) * (0.5 + random());
    const death = {
      after: world.monotonic + life,
      commits: Math.floor(random() * Math.min(20, options.jobs / 10)),
      before: random() < 0.5,
    };
    const began = world.now();
    const setup = isFirst
      ? async (journal: Journal): Promise<void> => {
          const rows = await Promise.all(jobs.map(async (job) => ({ ...job, nextDue: (await nextDue(job, from)) ?? from })));
          await journal.commit(rows.map((job) => ({ kind: 'job', job })));
        }
      : undefined;
    isFirst = false;
    const wasKilled = await live({ world, dir, firings, setup, death, end, inTwoCommits });
    if (!wasKilled) break;
    kills += 1;
    // What was due in the moment of the kill may be found only after it.
    const fell = Math.max(began, world.now()) - 1_000;
    world.pass(Math.floor(random() ** 5 * 12 * HOUR_MS) + 1_000);
    world.gaps.push({ from: fell, to: world.now() + 60_000 });
  }
  const judged = await judge({ jobs, firings, gaps: world.gaps, lived: world.lived, from, to });
  const count = [...firings.values()].reduce((sum, each) => sum + each.size, 0);
  return { jobs: jobs.length, firings: count, kills, jumps: world.jumped, ...judged };
}

interface Life {
  readonly world: World;
  readonly dir: string;
  readonly firings: Firings;
  readonly setup: ((journal: Journal) => Promise<void>) | undefined;
  readonly death: Death;
  /** Monotonic. */
  readonly end: number;
  readonly inTwoCommits: boolean;
}

/** One process, until it is killed (true) or the time is over. */
async function live({ world, dir, firings, setup, death, end, inTwoCommits }: Life): Promise<boolean> {
  const over = Promise.withResolvers<boolean>();
  const clock = new LifeClock(world, async () => {
    if (isDead) return false;
    await work();
    if (world.monotonic >= end) over.resolve(false);
    return !isDead && world.monotonic < end;
  });
  let isDead = false;
  const opened = await openJournal({ dir, clock, remains: () => ({ lines: [], tools: [] }), checks: false });
  const { journal } = opened;
  const die = (): void => {
    isDead = true;
    over.resolve(true);
  };
  const commits = mortal(journal, death, clock, die);
  /** Ends what waits, as the lanes and the runner do. */
  let hasWork = true;
  let ends: Promise<readonly PromiseSettledResult<void>[]> = Promise.resolve([]);
  journal.wakeup.listen((what) => {
    if (what === 'run') hasWork = true;
  });
  const work = async (): Promise<void> => {
    if (!hasWork) return;
    hasWork = false;
    const { lanes } = await journal.work();
    ends = Promise.allSettled(lanes.map((lane) => endAll(journal, commits, lane, firings)));
    const failed = (await ends).find(({ status }) => status === 'rejected');
    if (failed?.status === 'rejected' && !isDead) throw failed.reason;
  };
  await setup?.(journal);
  await journal.recover({ maxAttempts: 1_000, maxAgeMs: Number.MAX_SAFE_INTEGER }, () => []);
  await opened.prune();
  const jobs = new DueJobs({
    journal: {
      commit: inTwoCommits ? apart(commits) : commits.commit,
      jobs: journal.jobs,
      room: () => journal.room(),
      load: (of, key) => journal.load(of, key),
      waits: journal.waits,
    },
    ...{ reserve: 0, barred: async () => undefined, address: () => undefined, clock, emit: () => undefined },
  });
  const ticker = new Ticker({ sources: [jobs], clock, logger: new MemoryLogger() });
  ticker.start();
  const wasKilled = await over.promise;
  isDead = true;
  // What was on disk when it died is counted in the journal that it left.
  await ends;
  await opened[Symbol.asyncDispose]();
  return wasKilled;
}

async function endAll(journal: Journal, commits: Pick<Journal, 'commit'>, lane: string, firings: Firings): Promise<void> {
  for (const { seq } of await journal.waiting(lane, 9)) {
    const row = await journal.claim(seq);
    if (row?.source.kind !== 'job') continue;
    const { job, due } = row.source;
    const end = { seq, generation: row.generation, end: { state: 'DONE', outcome: 'answered' } } as const;
    // Counted before it is known: a kill after the commit loses its result, not its effect.
    const ends = firings.get(job);
    try {
      if (await commits.commit([], end)) ends?.set(due, (ends.get(due) ?? 0) + 1);
    } catch (error) {
      const isOver = (await journal.record.about(row.key))?.run?.state === 'DONE';
      if (isOver) ends?.set(due, (ends.get(due) ?? 0) + 1);
      throw error;
    }
  }
}

function apart(commits: Pick<Journal, 'commit'>): Journal['commit'] {
  return async (writes) => {
    const isRun = (write: Write): boolean => write.kind === 'run';
    if (!(await commits.commit(writes.filter((write) => !isRun(write))))) return false;
    return await commits.commit(writes.filter(isRun));
  };
}
