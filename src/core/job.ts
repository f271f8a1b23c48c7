/** Work that the clock begins (runs.md M10): what is due, when, on whose account, and who may ask for it. */
import type { Authority } from './authority.ts';
import type { Address } from './message.ts';

/** When a job is due. `every` counts from `from`, so that a late run does not shift the ones after it. */
export type Schedule =
  | { readonly kind: 'at'; readonly at: number }
  | { readonly kind: 'every'; readonly ms: number; readonly from: number }
  /** Five fields, or six with seconds first, or seven with the year last. */
  | { readonly kind: 'cron'; readonly expr: string };

/** Where an answer goes. Without an account, to the one that the channel has when the job is due. */
export type JobAddress = Omit<Address, 'account'> & Partial<Pick<Address, 'account'>>;

export interface JobPayload {
  readonly text: string;
  readonly profile: 'session' | 'task';
  /** The conversation that its runs belong to. Absent = one of its own, `job:<id>`. */
  readonly session?: string;
  /** Absent = no chat is told: the answer stands in the session alone. */
  readonly deliver?: JobAddress;
  /** Kept by the heartbeat: what it last asked about, and how often on that day. */
  readonly seen?: { readonly digest: string; readonly day: string; readonly runs: number };
}

/** Of a job without a further due time, whose last one was missed and made no run. */
export const SKIPPED = 'skipped as missed';

export interface Job {
  /** Eight hexadecimal digits, or `heartbeat`. */
  readonly id: string;
  readonly name: string;
  readonly schedule: Schedule;
  /** Name of the IANA database; read by `cron` alone. */
  readonly timezone: string;
  readonly payload: JobPayload;
  /** Of its creator, as it was when the job was made. */
  readonly authority: Authority;
  readonly taint: number;
  /** What becomes of times that are over before it is looked at: one run for all of them, or none. */
  readonly missed: 'once' | 'skip';
  readonly enabled: boolean;
  /** With `at`: the job is removed when it has fired. */
  readonly deleteAfterRun: boolean;
  /** Epoch ms. Absent = it will not fire by itself. */
  readonly nextDue?: number;
  /** The due time of its newest run. */
  readonly lastDue?: number;
  /** `running`, `ok`, `error: …`, or `SKIPPED`. Written by the commit that made it so. */
  readonly lastStatus?: string;
  readonly runCount: number;
  readonly createdAt: number;
}

/** What the operator is told about all jobs. */
export interface JobCounts {
  readonly enabled: number;
  readonly disabled: number;
  /** Enabled ones whose newest run failed. */
  readonly failing: number;
  readonly nextDue?: number;
}

/** Reads of the jobs; they are written as rows of a commit. */
export interface Jobs {
  /** Oldest first. */
  list(): Promise<readonly Job[]>;
  get(id: string): Promise<Job | undefined>;
  /** Enabled ones that are due at `now`, in the order in which they became due. */
  due(now: number, limit: number): Promise<readonly Job[]>;
  /** When the first one is due. */
  earliest(): Promise<number | undefined>;
  /** Whether a run of this due time was made, or without one of any, also when it is over. */
  fired(id: string, due?: number): Promise<boolean>;
  counts(): Promise<JobCounts>;
}

/** What a person asks for. */
export interface JobRequest {
  /** The same request has the same id: where there is such a job with this text already, it is the answer. */
  readonly id?: string;
  readonly name?: string;
  readonly text: string;
  /** `at`: epoch ms, or ISO 8601; without an offset it is a time of day in the time zone. */
  readonly schedule: { readonly at: number | string } | { readonly everyMs: number } | { readonly cron: string };
  /** Default: that of the job book. */
  readonly timezone?: string;
  readonly session?: string;
  readonly deliver?: JobAddress;
  /** Default `session`. */
  readonly profile?: JobPayload['profile'];
  /** Default `once`. */
  readonly missed?: Job['missed'];
  readonly deleteAfterRun?: boolean;
  readonly authority: Authority;
  readonly taint?: number;
  /** Jobs that this person may have, this one included. Default: as many as their role allows. */
  readonly most?: number;
}

/**
 * The jobs, for people. An owner sees and changes all of them, others their own. Every method rejects with a
 * sentence for the person who asked: GH1701 the schedule cannot be, GH1702 it is not allowed, GH1003 there is
 * no such job, or several fit.
 */
export interface JobBook {
  /** The clock that requests are read by: epoch ms, and the time zone of those that name none. */
  now(): { readonly at: number; readonly timezone: string };
  /**
   * Of a request with an id whose job has fired and is gone, no second one is made: it rejects with GH1701.
   */
  add(request: JobRequest): Promise<Job>;
  list(who: Authority): Promise<readonly Job[]>;
  /** `words`: the id, or a part of the name or of the text, in any case of letters. */
  remove(who: Authority, words: string): Promise<Job>;
  enable(who: Authority, id: string, enabled: boolean): Promise<Job>;
}

/** Id of the job that the daemon makes itself; `heartbeat` of the config says how often it is due. */
export const HEARTBEAT = 'heartbeat';

/** The principal of the person at the machine itself, at its terminal or on the command line. */
export const LOCAL_OPERATOR = 'cli:local';

/** What the session of a job begins with that belongs to no conversation. No chat has such a key. */
export const JOB_SESSIONS = 'job:';

/**
 * The session of a job's runs: the conversation that it belongs to, or one of its own; tasks have their own.
 */
export function jobSession({ id, payload }: Pick<Job, 'id' | 'payload'>): string {
  return payload.profile === 'task' ? `${JOB_SESSIONS}${id}` : (payload.session ?? `${JOB_SESSIONS}${id}`);
}

/** The same due time is the same run. */
export function jobRunKey(id: string, due: number): string {
  return `job/${id}/${due}`;
}
