import { z } from 'zod';
import { PRIVATE } from '../core/authority.ts';
import { isGatehouseError } from '../core/errors.ts';
import { shortHash } from '../core/ids.ts';
import type { Job, JobBook, JobRequest } from '../core/job.ts';
import type { RunScope, ToolResult } from '../core/tool.ts';
import { nowIn, wallTime } from '../lib/wall-time.ts';
import { defineBoundTool, ToolFailure } from './define.ts';

/** A listing is for finding a job, and each line is paid for. */
const MAX_LISTED = 50;
/**
 * Jobs that are made on one person's account here. A model adds them without being asked twice, and one that
 * a job began adds them at each due time: each would be a paid run a minute.
 */
const MOST_JOBS = 100;

const schema = z.strictObject({
  action: z.enum(['add', 'list', 'remove', 'enable', 'disable']),
  message: z.string().optional().describe('What to do at that time, in full: it is all you will be given'),
  name: z.string().optional(),
  at: z.string().optional().describe('Once, as 2026-10-04T08:00: what a clock shows in timezone'),
  in_seconds: z.number().optional().describe('Once, so long from now'),
  every_seconds: z.number().optional().describe('60 or more'),
  cron: z.string().optional().describe('minute hour day month weekday'),
  as_task: z.boolean().optional().describe('Work that takes many steps: each run is a task of its own'),
  timezone: z.string().optional().describe('As Europe/Berlin. Default: the zone that your current date is given in'),
  job_id: z.string().optional().describe('Also a part of its name, for remove'),
});

/**
 * What it makes answers in the chat it was called in. Members have it where the config names it; guests have
 * no jobs.
 */
export const cron = defineBoundTool({
  name: 'cron',
  description:
    'Jobs: reminders and work for you at set times, answered in this chat. add takes message and one of at, in_seconds, every_seconds, cron.',
  schema,
  tags: ['schedule'],
  effect: 'outside',
  act: (args) => (isListing(args) ? 'none' : 'job'),
  // A call has one job, by its id; the other actions change nothing when they are repeated.
  idempotent: true,
  bind: ({ jobs, authority, origin, session, taint = 0 }) =>
    jobs && origin && authority.role !== 'guest' ? { jobs, authority, origin, session, taint } : undefined,
  async run(args, { idempotencyKey, taint = 0 }, scope) {
    try {
      return await act(args, idempotencyKey, { ...scope, taint: scope.taint | taint });
    } catch (error) {
      const isMeant = isGatehouseError(error) && ['GH1003', 'GH1701', 'GH1702', 'GH1703'].includes(error.code);
      throw isMeant ? new ToolFailure(`${error.message}; ${error.hint}`) : error;
    }
  },
});

/** Of arguments that may be anything. */
function isListing(args: unknown): boolean {
  return typeof args === 'object' && args !== null && 'action' in args && args.action === 'list';
}

type Args = z.output<typeof schema>;
type Scope = { readonly jobs: JobBook; readonly taint: number; readonly origin: NonNullable<RunScope['origin']> } & Pick<
  RunScope,
  'authority' | 'session'
>;

async function act(args: Args, key: string, scope: Scope): Promise<Told> {
  const { jobs, authority, origin, session, taint } = scope;
  switch (args.action) {
    case 'add': {
      const { message: text, name, timezone, as_task: asTask = false } = args;
      if (text === undefined) throw new ToolFailure('add needs a message');
      const schedule = scheduleOf(args, jobs.now().at);
      const id = shortHash(key, 8);
      const job = await jobs.add({
        ...{ id, text, schedule, authority, session, taint, deliver: origin, most: MOST_JOBS },
        // A job for one time has done its work when it has fired.
        ...('at' in schedule ? { deleteAfterRun: true } : {}),
        ...(asTask ? { profile: 'task' as const } : {}),
        ...(name === undefined ? {} : { name }),
        ...(timezone === undefined ? {} : { timezone }),
      });
      return { output: addedText(job, jobs.now().at) };
    }
    case 'list': {
      const all = await jobs.list(authority);
      if (all.length === 0) return { output: 'There are no jobs.' };
      const more = all.length > MAX_LISTED ? [`[${all.length - MAX_LISTED} more]`] : [];
      const shown = all.slice(0, MAX_LISTED);
      return { output: [...shown.map(lineOf), ...more].join('\n'), ...broughtBy(shown, scope) };
    }
    case 'remove':
      return await toldOf(jobs.remove(authority, idOf(args)), scope, 'Removed: ');
    case 'enable':
    case 'disable':
      return await toldOf(jobs.enable(authority, idOf(args), args.action === 'enable'), scope);
  }
}

type Told = Pick<ToolResult, 'output' | 'taint'>;

/**
 * Their words may be those of strangers, whom another conversation had read when they were made. Jobs of
 * another conversation or person are private here whatever it had read.
 */
function broughtBy(jobs: readonly Job[], { session, authority }: Scope): Pick<ToolResult, 'taint'> {
  const isOwn = (job: Job): boolean => job.payload.session === session && job.authority.principal === authority.principal;
  const taint = jobs.reduce((sum, job) => sum | job.taint | (isOwn(job) ? 0 : PRIVATE), 0);
  return taint === 0 ? {} : { taint };
}

async function toldOf(change: Promise<Job>, scope: Scope, before = ''): Promise<Told> {
  try {
    const job = await change;
    return { output: `${before}${lineOf(job)}`, ...broughtBy([job], scope) };
  } catch (error) {
    if (!isGatehouseError(error) || error.code !== 'GH1003') throw error;
    // It names the jobs that fit, and that none does tells of all of them.
    const { taint } = broughtBy(await scope.jobs.list(scope.authority), scope);
    throw new ToolFailure(`${error.message}; ${error.hint}`, taint);
  }
}

/** Of several, the first one counts (spec E2). */
function scheduleOf({ every_seconds: seconds, cron: expr, in_seconds: wait, at }: Args, now: number): JobRequest['schedule'] {
  if (seconds !== undefined) return { everyMs: Math.round(seconds * 1_000) };
  if (expr !== undefined) return { cron: expr };
  if (wait !== undefined) return { at: now + Math.round(wait * 1_000) };
  if (at !== undefined) return { at };
  throw new ToolFailure('add needs one of at, in_seconds, every_seconds and cron');
}

/** With the time that it is, so that the model sees a mistake, and tells people when the job comes. */
function addedText(job: Job, now: number): string {
  const { nextDue, timezone } = job;
  const then = nextDue === undefined ? '' : `; due ${wallTime(nextDue, timezone)} ${timezone}`;
  return `Added: ${lineOf(job)}; ${nowIn(timezone, now)}${then}`;
}

function idOf({ job_id: id }: Args): string {
  if (id === undefined) throw new ToolFailure('say which job, by job_id');
  return id;
}

function lineOf({ id, name, schedule, timezone, enabled, nextDue, lastStatus }: Job): string {
  const when = {
    at: () => 'once',
    every: () => `every ${'ms' in schedule ? schedule.ms / 1_000 : 0} s`,
    cron: () => `${'expr' in schedule ? schedule.expr : ''} (${timezone})`,
  }[schedule.kind]();
  const next = nextDue === undefined ? '' : `, next ${new Date(nextDue).toISOString()}`;
  return `${id} ${JSON.stringify(name)} ${when}${next}${enabled ? '' : ', disabled'}${lastStatus ? `, last: ${lastStatus}` : ''}`;
}
