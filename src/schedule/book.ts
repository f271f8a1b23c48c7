import type { Authority } from '../core/authority.ts';
import { GatehouseError } from '../core/errors.ts';
import { HEARTBEAT, type Job, type JobBook, type JobRequest, SKIPPED } from '../core/job.ts';
import type { Journal } from '../core/journal.ts';
import type { Clock } from '../core/ports.ts';
import { nearest } from '../lib/edit-distance.ts';
import { visibleText } from '../lib/visible-text.ts';
import { nextDue, readSchedule } from './next.ts';

/**
 * Enough for a household's reminders. Each job is a paid run up to once a minute, so that more than this is
 * the owner's decision, who makes them in the command line.
 */
const MOST_OF_A_MEMBER = 20;
const LONGEST_TEXT = 8_000;
const LONGEST_NAME = 100;
/** Edits that meet a firing are made again on what it left. */
const TRIES = 5;
/** Of jobs in a hint. */
const MOST_LISTED = 5;

export interface BookOptions {
  readonly journal: Pick<Journal, 'commit' | 'jobs'>;
  readonly clock: Pick<Clock, 'now'>;
  /** Eight hexadecimal digits. */
  readonly newId: () => string;
  /** Of requests that name none. Default UTC. */
  readonly timezone?: string;
}

/** See `JobBook`. A change is made again where it met another one, so that none is lost. */
export class Book implements JobBook {
  readonly #options: BookOptions;

  constructor(options: BookOptions) {
    this.#options = options;
  }

  now(): { readonly at: number; readonly timezone: string } {
    const { clock, timezone = 'UTC' } = this.#options;
    return { at: clock.now(), timezone };
  }

  async add(asked: JobRequest): Promise<Job> {
    const { journal, newId } = this.#options;
    const request = { ...asked, timezone: asked.timezone ?? this.now().timezone };
    for (let n = 0; n < TRIES; n += 1) {
      const now = this.now().at;
      const before = request.id === undefined ? undefined : await journal.jobs.get(request.id);
      if (before?.payload.text === visibleText(request.text)) return before;
      // A time that counts from now would come a second time.
      if (request.id !== undefined && !before && (await journal.jobs.fired(request.id)))
        throw new GatehouseError('GH1701', 'this job was made before, and has fired', { hint: 'add another one' });
      const most = mostOf(request);
      await this.#assertRoom(request.authority, most);
      const job = await jobOf(request, before ? newId() : (request.id ?? newId()), now);
      // Where there is another job of this id, or others took the room meanwhile, nothing is written.
      if (await journal.commit([{ kind: 'job', job, ...(most === undefined ? {} : { most }) }])) return job;
    }
    throw met();
  }

  async list(who: Authority): Promise<readonly Job[]> {
    const all = await this.#options.journal.jobs.list();
    return all.filter((job) => isTheirs(job, who));
  }

  async remove(who: Authority, words: string): Promise<Job> {
    for (let n = 0; n < TRIES; n += 1) {
      const job = await this.#find(who, words);
      if (job.id === HEARTBEAT)
        throw new GatehouseError('GH1702', 'the heartbeat is part of the daemon', {
          hint: 'set heartbeat.every_minutes to 0 in the config',
        });
      if (await this.#options.journal.commit([{ kind: 'job', job: { gone: job.id }, was: job }])) return job;
    }
    throw met();
  }

  async enable(who: Authority, id: string, enabled: boolean): Promise<Job> {
    const { journal, clock } = this.#options;
    for (let n = 0; n < TRIES; n += 1) {
      const job = await this.#find(who, id);
      const next = enabled ? await nextDue(job, clock.now()) : undefined;
      if (enabled && next === undefined && job.id !== HEARTBEAT)
        throw new GatehouseError('GH1701', `job ${job.id} has no due time any more`, { hint: 'add it again with a new time' });
      const { nextDue: _before, lastStatus, ...rest } = job;
      // What a person switches off stays off, whatever the clock shows.
      const status = lastStatus === undefined || lastStatus === SKIPPED ? {} : { lastStatus };
      const changed: Job = {
        ...rest,
        ...status,
        enabled,
        ...(next === undefined || job.id === HEARTBEAT ? {} : { nextDue: next }),
      };
      if (await journal.commit([{ kind: 'job', job: changed, was: job }])) return changed;
    }
    throw met();
  }

  async #find(who: Authority, words: string): Promise<Job> {
    const theirs = await this.list(who);
    const exact = theirs.find(({ id }) => id === words);
    if (exact) return exact;
    const wanted = words.trim().toLowerCase();
    const fitting = theirs.filter(({ name, payload }) => `${name}\n${payload.text}`.toLowerCase().includes(wanted));
    const [only, ...others] = wanted === '' ? [] : fitting;
    if (!only) throw noJob(words, theirs);
    if (others.length === 0) return only;
    const list = fitting.slice(0, 10).map(({ id, name }) => `${id} (${name})`);
    const more = fitting.length > list.length ? ` and ${fitting.length - list.length} more` : '';
    throw new GatehouseError('GH1003', `${fitting.length} jobs fit: ${list.join(', ')}${more}`, { hint: 'name one by its id' });
  }

  async #assertRoom({ principal, role }: Authority, most: number | undefined): Promise<void> {
    if (most === undefined) return;
    const all = await this.#options.journal.jobs.list();
    if (all.filter(({ authority }) => authority.principal === principal).length < most) return;
    const hint = role === 'owner' ? 'remove some, or use `gatehouse cron add`' : 'remove one first';
    throw new GatehouseError('GH1702', `a person has at most ${most} jobs`, { hint });
  }
}

/** `jobs`: those that the caller may see. */
export function noJob(words: string, jobs: readonly Job[]): GatehouseError {
  const said = words.slice(0, LONGEST_NAME);
  const message = `there is no job ${said}; it may be over, or removed`;
  if (jobs.length === 0)
    return new GatehouseError('GH1003', message, { hint: 'there are no jobs: see `gatehouse cron add --help`' });
  const meant = nearest(
    said,
    jobs.flatMap(({ id, name }) => [id, name]),
  );
  const near = jobs.filter(({ id, name }) => id === meant || name === meant);
  const listed = (near.length > 0 ? near : jobs).slice(0, MOST_LISTED).map(({ id, name }) => `${id} (${name})`);
  const some = near.length > 0 ? `did you mean ${listed.join(', ')}?` : `there is ${listed.join(', ')}:`;
  return new GatehouseError('GH1003', message, { hint: `${some} \`gatehouse cron list --all\` shows all` });
}

/** A34: a guest makes none, a member a few. Undefined = any number. */
function mostOf({ authority: { role }, most }: JobRequest): number | undefined {
  if (role === 'guest') throw new GatehouseError('GH1702', 'guests have no jobs', { hint: 'ask the owner' });
  return role === 'owner' ? most : Math.min(MOST_OF_A_MEMBER, most ?? MOST_OF_A_MEMBER);
}

/**
 * Checked and complete. Rejects with GH1701 for a schedule that cannot be, and for a text that is too long.
 * `mayBeOver` as in `readSchedule`.
 */
export async function jobOf(request: JobRequest, id: string, now: number, mayBeOver = false): Promise<Job> {
  const { name, session, deliver, authority, taint = 0, missed = 'once', deleteAfterRun = false, profile = 'session' } = request;
  // A model may have copied them from what it read, and will read them again when the job is due (A32).
  const text = visibleText(request.text);
  if (text.trim() === '') throw new GatehouseError('GH1701', 'the job says nothing to do', { hint: 'give it a message' });
  if (text.length > LONGEST_TEXT)
    throw new GatehouseError('GH1701', `the message of a job has at most ${LONGEST_TEXT} characters`, {
      hint: 'put long instructions into a file of the workspace and name it',
    });
  const due = await readSchedule(request, now, mayBeOver);
  return {
    ...{ id, name: nameOf(name ?? text), ...due },
    payload: { text, profile, ...(session === undefined ? {} : { session }), ...(deliver ? { deliver } : {}) },
    ...{ authority, taint, missed, enabled: true, deleteAfterRun, runCount: 0, createdAt: now },
  };
}

function nameOf(text: string): string {
  return [...visibleText(text).replace(/\s+/g, ' ').trim()].slice(0, LONGEST_NAME).join('') || 'unnamed';
}

function isTheirs(job: Job, who: Authority): boolean {
  return who.role === 'owner' || job.authority.principal === who.principal;
}

function met(): GatehouseError {
  return new GatehouseError('GH1703', 'the job was changed by others all the time', { hint: 'try again' });
}
