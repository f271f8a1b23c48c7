// due job -> may it? where to? -> ONE commit: its run, its next due time
import type { Authority } from '../core/authority.ts';
import { errorText, isGatehouseError } from '../core/errors.ts';
import type { Emit, RunEvent } from '../core/events.ts';
import { archivedSession } from '../core/ids.ts';
import { type Job, type JobAddress, jobRunKey, jobSession, SKIPPED } from '../core/job.ts';
import type { Journal } from '../core/journal.ts';
import type { Address } from '../core/message.ts';
import type { Clock } from '../core/ports.ts';
import { type Firing, jobLane, promptOf, runOf } from './job-run.ts';
import { nextDue } from './next.ts';
import type { TickerSource } from './ticker.ts';

/** Jobs that are fired in one step; those of one step share a transaction. */
const BATCH = 20;
/** Jobs that are brought forward in one step and one transaction. Until all are, nothing fires. */
const REPLANNED = 100;
/** A time that is this late was missed: the process did not run or had no room, or the clock was set. */
const MISSED_AFTER_MS = 60_000;
/**
 * Runs of one job that may be under way. A job that is slower than its schedule must not pile up work, nor
 * runs that wait for the same answer: one yes would pay for all of them.
 */
const MOST_OF_A_JOB = 2;
/** A job for one time whose channel is not there is looked at again this often, and for this long. */
const NO_CHANNEL_RETRY_MS = 600_000;
const NO_CHANNEL_MS = 7 * 86_400_000;

/** What stands against a run on the account of a person. */
export type Bar =
  /** The person is known not to be let in any more. */
  | { readonly kind: 'not-let-in'; readonly reason: string }
  /** That is not known: their channel is not there now, or not with the account they wrote to. */
  | ({ readonly kind: 'absent' } & Pick<JobAddress, 'channel' | 'account'>);

export interface DueJobsOptions {
  readonly journal: Pick<Journal, 'commit' | 'jobs' | 'room' | 'load' | 'waits'>;
  /** Rows below the high-water mark that jobs leave to people. */
  readonly reserve: number;
  /** Undefined = nothing does. */
  readonly barred: (authority: Authority) => Promise<Bar | undefined>;
  /** Undefined = there is no such channel now, it has no login yet, or another account works there. */
  readonly address: (to: JobAddress) => Address | undefined;
  /** Days that a task is kept once it is over; asked at each use. Absent = as of `Firing`. */
  readonly keepDays?: () => number;
  /** Nothing is fired now: who is who, and which channels there are, is just changing. Absent = never. */
  readonly isHeld?: () => boolean;
  readonly clock: Pick<Clock, 'now'>;
  readonly emit: Emit;
}

type NoRun = Extract<RunEvent, { type: 'job' }>['state'];

/**
 * Fires jobs. A firing is one commit with the key `job/<id>/<due>`, so that a kill leaves either a job that
 * is still due or a run, and a clock that is set back makes no second run of the same due time.
 */
export class DueJobs implements TickerSource {
  readonly #options: DueJobsOptions;

  constructor(options: DueJobsOptions) {
    this.#options = options;
  }

  earliest(): Promise<number | undefined> {
    return this.#options.journal.jobs.earliest();
  }

  /**
   * Stops before the waiting rows take the place of people's messages, and goes on when it is called again.
   * Rejects as the journal does, and with GH1703: what is left stays due.
   */
  async fire(now: number): Promise<void> {
    const { journal, reserve, isHeld } = this.#options;
    for (;;) {
      if (isHeld?.()) return;
      const free = Math.min(BATCH, journal.room() - reserve);
      if (free <= 0) return;
      const due = await journal.jobs.due(now, free);
      const done = await Promise.all(due.map((job) => this.#fire(job, now)));
      // A job that was changed meanwhile is read again; where none made progress, the next call does that.
      if (due.length < free || !done.includes(true)) return;
    }
  }

  /**
   * Brings dates forward that a clock ahead of time had moved too far, and those back that were skipped under
   * it. What has fired is known by its key and does not fire again.
   */
  async replan(since: number): Promise<void> {
    const all = await this.#options.journal.jobs.list();
    const later = all.filter((job) => (job.enabled ? (job.nextDue ?? since) > since : job.lastStatus === SKIPPED));
    for (let first = 0; first < later.length; first += REPLANNED) {
      await Promise.all(later.slice(first, first + REPLANNED).map((job) => this.#bringForward(job, since)));
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  async #bringForward(job: Job, since: number): Promise<void> {
    const { next } = await worked(job, since);
    if (next === undefined || (job.enabled && next >= (job.nextDue ?? since))) return;
    await this.#commit(job, { enabled: true, nextDue: next, ...(job.enabled ? {} : { lastStatus: undefined }) });
  }

  /** False = the job is not as it was read, or is held by now, and nothing was done. */
  async #fire(job: Job, now: number): Promise<boolean> {
    const { journal, barred, address, isHeld } = this.#options;
    const due = job.nextDue ?? now;
    const { next, text = '', failure } = await worked(job, now, due);
    const then = { enabled: job.enabled && next !== undefined, nextDue: next };
    const bar = await barred(job.authority);
    const { deliver } = job.payload;
    const to = deliver && address(deliver);
    // Both may be those of a change that began meanwhile.
    if (isHeld?.()) return false;
    const reason = failure ?? (bar?.kind === 'not-let-in' ? bar.reason : undefined);
    if (reason !== undefined) return await this.#withoutRun(job, { enabled: false, nextDue: undefined }, 'disabled', reason);
    // Only after the clock was set back. Its run is or was there: nothing is lost and nothing is new.
    if (job.lastDue !== undefined && due <= job.lastDue && (await journal.jobs.fired(job.id, due)))
      return await this.#commit(job, then);
    if (job.missed === 'skip' && now - due > MISSED_AFTER_MS)
      return await this.#withoutRun(job, { ...then, ...wasLastOf(then) }, 'skipped', lateText(now - due));
    const absent = bar?.kind === 'absent' ? bar : to ? undefined : deliver;
    if (absent) return await this.#withoutRun(job, { ...then, ...againOf(job, now) }, 'refused', absentText(absent));
    if ((await this.#unfinished(job, to)) >= MOST_OF_A_JOB)
      return await this.#withoutRun(job, then, 'skipped', `${MOST_OF_A_JOB} runs of it are not over yet`);

    const run = runOf({ job, due, to, text, ...this.#kept() });
    if (next === undefined && job.deleteAfterRun)
      return await journal.commit([
        { kind: 'run', run },
        { kind: 'job', job: { gone: job.id }, was: job },
      ]);
    const fired = changed(job, { ...then, lastDue: due, lastStatus: 'running', runCount: job.runCount + 1 });
    return await journal.commit([
      { kind: 'run', run },
      { kind: 'job', job: fired, was: job },
    ]);
  }

  async #unfinished({ id, payload }: Job, to: Address | undefined): Promise<number> {
    const { journal } = this.#options;
    const session = jobSession({ id, payload });
    // Those from before its conversation began anew wait for the same answer.
    const parked = [...(await journal.waits.parked(session)), ...(await journal.waits.parked(archivedSession(session)))];
    return journal.load('lane', jobLane(id, to)).messages + parked.filter(({ key }) => key.startsWith(`job/${id}/`)).length;
  }

  async #withoutRun(job: Job, change: Change, state: NoRun, reason: string): Promise<boolean> {
    const { journal, clock, emit } = this.#options;
    const due = job.nextDue ?? clock.now();
    const event: RunEvent = { type: 'job', at: clock.now(), messageId: jobRunKey(job.id, due), job: job.id, state, reason };
    const status = state === 'skipped' ? {} : { lastStatus: `error: ${reason}` };
    const done = await journal.commit([
      { kind: 'job', job: changed(job, { ...change, ...status }), was: job },
      { kind: 'event', event },
    ]);
    if (done) emit(event);
    return done;
  }

  #kept(): Pick<Firing, 'keepDays'> {
    const { keepDays } = this.#options;
    return keepDays ? { keepDays: keepDays() } : {};
  }

  #commit(job: Job, change: Change): Promise<boolean> {
    return this.#options.journal.commit([{ kind: 'job', job: changed(job, change), was: job }]);
  }
}

interface Worked {
  readonly next?: number | undefined;
  readonly text?: string;
  readonly failure?: string;
}

/**
 * What of a job is worked out from its row alone. `failure`: a row that another version or another time zone
 * database wrote. It must cost no other job its due time. Rejects with GH1703 where that cannot be known just
 * now: the job stays as it is.
 */
async function worked(job: Job, after: number, due?: number): Promise<Worked> {
  try {
    return { next: await nextDue(job, after), ...(due === undefined ? {} : { text: promptOf(job, due) }) };
  } catch (error) {
    if (isGatehouseError(error)) throw error;
    return { failure: `it cannot be worked out: ${errorText(error)}` };
  }
}

/** Why it was late is not known here: see `MISSED_AFTER_MS`. */
function lateText(ms: number): string {
  return `it was ${Math.floor(ms / 60_000)} min late, and this job skips times that it missed`;
}

function absentText({ channel, account }: Pick<JobAddress, 'channel' | 'account'>): string {
  return `there is no channel ${channel}${account === undefined ? '' : ` with account ${account}`}`;
}

/** The clock may have been ahead of time: see `replan`. */
function wasLastOf({ enabled }: Pick<Job, 'enabled'>): Change {
  return enabled ? {} : { lastStatus: SKIPPED };
}

/** A reminder must not be lost because its channel is mended or replaced just then. */
function againOf({ schedule, enabled }: Job, now: number): Change {
  if (schedule.kind !== 'at' || !enabled || now - schedule.at >= NO_CHANNEL_MS) return {};
  return { enabled: true, nextDue: now + NO_CHANNEL_RETRY_MS };
}

type Change = { readonly [Key in keyof Job]?: Job[Key] | undefined };

/** What is undefined is taken away. */
function changed(job: Job, change: Change): Job {
  const all = Object.entries({ ...job, ...change }).filter(([, value]) => value !== undefined);
  return Object.fromEntries(all) as unknown as Job;
}
