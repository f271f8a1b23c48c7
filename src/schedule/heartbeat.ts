// HEARTBEAT.md -> empty, or as it was? nothing. Else ONE commit: a run, and what it was about
import { open } from 'node:fs/promises';
import { errorText } from '../core/errors.ts';
import { shortHash } from '../core/ids.ts';
import { HEARTBEAT, type Job, type JobAddress } from '../core/job.ts';
import type { Journal } from '../core/journal.ts';
import type { Address } from '../core/message.ts';
import type { Clock, Logger } from '../core/ports.ts';
import { hasFailed, runOf } from './job-run.ts';
import type { TickerSource } from './ticker.ts';

/** More is no list of things to look after, and would be paid for each time. */
const MOST_BYTES = 64 * 1024;
const PREAMBLE =
  '[Heartbeat: the operator keeps the list below in HEARTBEAT.md. Do what of it is to be done now. ' +
  'Answer only HEARTBEAT_OK when there is nothing to tell.]';

export interface HeartbeatSettings {
  /** 0 = there is none. */
  readonly everyMs: number;
  /** Runs in a day of the daemon's time zone. */
  readonly mostADay: number;
}

export interface HeartbeatOptions {
  readonly journal: Pick<Journal, 'commit' | 'jobs'>;
  readonly file: string;
  /** Asked each time. */
  readonly settings: () => HeartbeatSettings;
  /** The operator's chat; undefined = none is configured, and the answer stays in the record. */
  readonly to: () => JobAddress | undefined;
  /** As for `DueJobs`. Undefined: no run is made before there is such a channel. */
  readonly address: (to: JobAddress) => Address | undefined;
  /** As for `DueJobs`. */
  readonly isHeld?: () => boolean;
  readonly clock: Pick<Clock, 'now'>;
  readonly logger: Logger;
}

/**
 * Looks at the operator's file from time to time. A file that is absent, says nothing, or says what it said
 * at the last run that did not fail, makes no run: nothing is written, and no model is asked. Its row in
 * `job` is made with its first run and remembers what that was about.
 */
export class Heartbeat implements TickerSource {
  readonly #options: HeartbeatOptions;
  #next: number | undefined;

  constructor(options: HeartbeatOptions) {
    this.#options = options;
  }

  async earliest(): Promise<number | undefined> {
    const { settings, clock, journal } = this.#options;
    const { everyMs } = settings();
    if (everyMs === 0) return undefined;
    if (this.#next === undefined) {
      const last = (await journal.jobs.get(HEARTBEAT))?.lastDue;
      // A clock that was ahead then is no reason to wait for it.
      this.#next = last === undefined ? clock.now() : Math.min(last, clock.now()) + everyMs;
    }
    // The interval may have been shortened. The time is kept: worked out anew at each call it would move with
    // the clock and never come.
    this.#next = Math.min(this.#next, clock.now() + everyMs);
    return this.#next;
  }

  async fire(now: number): Promise<void> {
    const { everyMs } = this.#options.settings();
    if (everyMs === 0) return;
    if (await this.#look(now)) this.#next = now + everyMs;
  }

  async replan(since: number): Promise<void> {
    if (this.#next !== undefined) this.#next = Math.min(this.#next, since + this.#options.settings().everyMs);
  }

  /** False = its row was changed meanwhile, or it is held: look again at once. */
  async #look(now: number): Promise<boolean> {
    const { journal, logger, settings, to, address, isHeld } = this.#options;
    const text = await this.#read();
    if (text === undefined || saysNothing(text)) return true;
    const was = await journal.jobs.get(HEARTBEAT);
    if (was && !was.enabled) return true;
    const { digest, day } = { digest: shortHash(text, 32), day: dayOf(now) };
    const seen = was?.payload.seen;
    if (was && seen?.digest === digest && !hasFailed(was)) return true;
    const runs = seen?.day === day ? seen.runs : 0;
    const { mostADay, everyMs: ms } = settings();
    if (runs >= mostADay) {
      logger.warn('heartbeat.limit', { runs, detail: 'heartbeat.max_a_day is reached; it goes on tomorrow' });
      return true;
    }
    if (isHeld?.()) return false;
    const wanted = to();
    const place = wanted && address(wanted);
    if (wanted && !place) {
      // Its answer would be paid for and told to no person, and the list not be asked about again.
      const hint = 'fix the channel (see `gatehouse status`), or put a chat of a working channel first in gateway.owner';
      logger.warn('heartbeat.no-channel', { channel: wanted.channel, detail: `there is no channel ${wanted.channel}`, hint });
      return true;
    }
    const job = { ...(was ?? firstOf(now)), payload: { ...PAYLOAD, seen: { digest, day, runs: runs + 1 } } };
    const fired: Job = {
      ...job,
      schedule: { kind: 'every', ms, from: now },
      lastDue: now,
      lastStatus: 'running',
      runCount: job.runCount + 1,
    };
    const run = runOf({ job: was ?? job, due: now, to: place, text: `${PREAMBLE}\n\n${text}` });
    return await journal.commit([
      { kind: 'run', run },
      { kind: 'job', job: fired, ...(was ? { was } : {}) },
    ]);
  }

  /** Undefined = there is none. */
  async #read(): Promise<string | undefined> {
    const { file, logger } = this.#options;
    try {
      await using handle = await open(file, 'r');
      const buffer = Buffer.alloc(MOST_BYTES + 1);
      const { bytesRead } = await handle.read(buffer, 0, buffer.length, 0);
      if (bytesRead <= MOST_BYTES) return buffer.toString('utf8', 0, bytesRead);
      logger.warn('heartbeat.too-long', { file, detail: `it has more than ${MOST_BYTES / 1024} kB and is not read` });
    } catch (error) {
      const isAbsent = error instanceof Error && 'code' in error && error.code === 'ENOENT';
      if (!isAbsent) logger.warn('heartbeat.unreadable', { file, detail: errorText(error) });
    }
    return undefined;
  }
}

/** Of its runs, and of the jobs that they make. */
export const HEARTBEAT_PRINCIPAL = `job:${HEARTBEAT}`;
const PAYLOAD = { text: 'HEARTBEAT.md', profile: 'session' } as const;

function firstOf(now: number): Job {
  return {
    ...{ id: HEARTBEAT, name: HEARTBEAT, schedule: { kind: 'every', ms: 0, from: now }, timezone: 'UTC', payload: PAYLOAD },
    // The file is the operator's own, beside the journal.
    authority: { principal: HEARTBEAT_PRINCIPAL, role: 'owner', mode: 'guarded', policies: [] },
    ...{ taint: 0, missed: 'once', enabled: true, deleteAfterRun: false, runCount: 0, createdAt: now },
  };
}

/** Only blank lines, headings, HTML comments, and boxes and bullets without words. */
export function saysNothing(text: string): boolean {
  return text
    .replace(/<!--[\s\S]*?(?:-->|$)/g, '')
    .split(/\r?\n/)
    .every((line) => /^(?:#.*|[-*+]?\s*(?:\[[ xX]?\])?)$/.test(line.trim()));
}

/** As people count days where the daemon runs. */
function dayOf(now: number): string {
  const at = new Date(now);
  return [at.getFullYear(), at.getMonth() + 1, at.getDate()].join('-');
}
