// cron.json of spec E1 <-> jobs
import { z } from 'zod';
import type { Authority } from '../core/authority.ts';
import { GatehouseError } from '../core/errors.ts';
import { HEARTBEAT, type Job, type JobAddress, type JobRequest, LOCAL_OPERATOR } from '../core/job.ts';
import { visibleText } from '../lib/visible-text.ts';
import { jobOf } from './book.ts';
import { asOurs, recordOf } from './foreign-file.ts';
import { FLOOR_MS } from './next.ts';

/** Of the person at the machine: what they bring from a file is their own. */
export const OPERATOR: Authority = { principal: LOCAL_OPERATOR, role: 'owner', mode: 'guarded', policies: [] };

const ms = z.int().min(0).max(8.64e15);
const authority = z.object({
  principal: z.string().min(1).max(300),
  role: z.enum(['owner', 'member', 'guest']),
  mode: z.enum(['read-only', 'guarded', 'workspace', 'full']),
  policies: z.array(z.object({ allow: z.array(z.string()), deny: z.array(z.string()) })),
  home: z.string().exactOptional(),
});

/**
 * The two shapes that programs have written: `{kind: "Every", every_ms}` and `{"Every": {"seconds"}}`, and
 * those between.
 */
const schedule = z
  .preprocess(
    (value) => {
      const [first, ...more] = typeof value === 'object' && value !== null ? Object.entries(value) : [];
      if (!first || more.length > 0 || typeof first[1] !== 'object') return value;
      return { kind: first[0], ...first[1] };
    },
    // Strict: what is left out here would fire at another time.
    z.strictObject({
      kind: z.string().transform((kind) => kind.toLowerCase()),
      at_ms: ms.optional(),
      timestamp_ms: ms.optional(),
      every_ms: ms.optional(),
      seconds: z.number().min(0).optional(),
      expr: z.string().optional(),
    }),
  )
  .transform((found, context): JobRequest['schedule'] => {
    const at = found.at_ms ?? found.timestamp_ms;
    const everyMs = found.every_ms ?? (found.seconds === undefined ? undefined : Math.round(found.seconds * 1_000));
    if (found.kind === 'at' && at !== undefined) return { at };
    if (found.kind === 'every' && everyMs !== undefined) return { everyMs };
    if (found.kind === 'cron' && found.expr !== undefined) return { cron: found.expr };
    context.addIssue('must be At with at_ms, Every with every_ms, or Cron with expr');
    return z.NEVER;
  });

const entry = z.object({
  id: z.string().optional(),
  name: z.string().default('unnamed'),
  enabled: z.boolean().default(true),
  schedule,
  payload: z.object({
    message: z.string(),
    deliver: z.boolean().default(false),
    channel: z.string().nullish(),
    chat_id: z.string().nullish(),
    thread_id: z.string().nullish(),
    account: z.string().nullish(),
    is_group: z.boolean().nullish(),
    reply_context: z.record(z.string(), z.json()).nullish(),
    session: z.string().nullish(),
    /** Each run is a task. Files of earlier versions do not say it. */
    task: z.boolean().default(false),
  }),
  state: z
    .object({ next_run_at_ms: ms.nullish(), last_run_at_ms: ms.nullish(), last_status: z.string().max(500).nullish() })
    .prefault({}),
  created_at_ms: ms.nullish(),
  delete_after_run: z.boolean().default(false),
  timezone: z.string().nullish(),
  run_count: z.int().min(0).default(0),
  missed: z.enum(['once', 'skip']).default('once'),
  authority: authority.optional(),
  taint: z.int().min(0).default(0),
  /** An interval is counted from then. */
  anchor_ms: ms.nullish(),
});
const file = z.object({ version: z.literal(1).default(1), jobs: z.array(z.unknown()) });
type Entry = z.output<typeof entry>;

/**
 * One entry of a file: a job with what of it is not as the file says, one that is there already, or why it is
 * none.
 */
export type Imported =
  | { readonly kind: 'job'; readonly job: Job; readonly notes: readonly string[] }
  /** `name`: its id. */
  | { readonly kind: 'known'; readonly name: string }
  | { readonly kind: 'refused'; readonly name: string; readonly reason: string };

/**
 * The jobs of a file. Rejects with GH1701 where it is none at all; an entry that cannot be is told with its
 * reason, and costs the others nothing. `fallback`: where an answer goes that is to be delivered and does not
 * say where to. `there`: what the jobs there are say, by their ids.
 */
export async function readJobs(
  text: string,
  options: {
    readonly now: number;
    readonly newId: () => string;
    readonly fallback: JobAddress | undefined;
    readonly there: ReadonlyMap<string, string>;
  },
): Promise<readonly Imported[]> {
  let parsed: unknown;
  try {
    parsed = JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch (error) {
    throw new GatehouseError('GH1701', 'the file is not JSON', { hint: 'name a file of `gatehouse cron export`', cause: error });
  }
  const found = file.safeParse(parsed);
  if (!found.success)
    throw new GatehouseError('GH1701', 'the file holds no list of jobs', { hint: 'it has {"version": 1, "jobs": […]}' });
  return await Promise.all(found.data.jobs.map((each, n) => readEntry(each, n, options)));
}

async function readEntry(value: unknown, n: number, options: Parameters<typeof readJobs>[1]): Promise<Imported> {
  const { entry: usual, left } = asOurs(value, options.now);
  const read = entry.safeParse(usual);
  if (!read.success) {
    const reason = read.error.issues.map(issueText).join('; ');
    return { kind: 'refused', name: `entry ${n + 1}`, reason };
  }
  const { name, payload } = read.data;
  const id = ownId(read.data) ?? '';
  // It is left alone, also where it could not be made anew.
  if (options.there.has(id)) return metJob(id, options.there.get(id), payload.message);
  try {
    const job = await importedJob(read.data, options);
    return { kind: 'job', job, notes: notesOf(usual, left, payload.deliver && !job.payload.deliver) };
  } catch (error) {
    if (!(error instanceof GatehouseError)) throw error;
    return { kind: 'refused', name: `${name} (${payload.message.slice(0, 40)})`, reason: error.message };
  }
}

function issueText({ path, message }: z.core.$ZodIssue): string {
  const at = path.join('.');
  return `${at === '' ? '' : `${at}: `}${message.replace(/^Invalid input: /, '')}`;
}

/** What an export has in a payload; other keys change nothing here, and are named. */
const PAYLOAD = [
  ...['message', 'deliver', 'channel', 'chat_id', 'thread_id', 'account', 'is_group', 'reply_context'],
  ...['session', 'task', 'kind'],
];

function notesOf(usual: unknown, left: readonly string[], isUndelivered: boolean): readonly string[] {
  const payload = recordOf(recordOf(usual)['payload']);
  const unknown = [...left, ...Object.keys(payload).flatMap((key) => (PAYLOAD.includes(key) ? [] : [`payload.${key}`]))];
  return [
    ...(isUndelivered ? ['it asks for delivery and names no chat: its answers go to no chat'] : []),
    ...(unknown.length > 0 ? [`left out: ${unknown.join(', ')}`] : []),
  ];
}

/** Undefined = it is given one. */
function ownId({ id }: Entry): string | undefined {
  return id !== undefined && /^[\w-]{1,64}$/.test(id) && id !== HEARTBEAT ? id : undefined;
}

/** What becomes of an entry whose id a job has that says `text`. */
export function metJob(id: string, text: string | undefined, message: string): Exclude<Imported, { kind: 'job' }> {
  if (visibleText(text ?? '') === visibleText(message)) return { kind: 'known', name: id };
  return { kind: 'refused', name: id, reason: 'another job has this id' };
}

async function importedJob(from: Entry, { now, newId, fallback }: Parameters<typeof readJobs>[1]): Promise<Job> {
  const { payload, state } = from;
  const deliver = payload.deliver ? (addressOf(payload) ?? fallback) : undefined;
  const job = await jobOf(
    {
      ...{ name: from.name, text: payload.message, schedule: from.schedule, missed: from.missed, taint: from.taint },
      ...{ deleteAfterRun: from.delete_after_run, authority: from.authority ?? OPERATOR },
      ...(from.timezone ? { timezone: from.timezone } : {}),
      ...(payload.session ? { session: payload.session } : {}),
      ...(payload.task ? { profile: 'task' as const } : {}),
      ...(deliver ? { deliver } : {}),
    },
    ownId(from) ?? newId(),
    now,
    // A one-time job whose time has passed stays disabled if it was disabled in the export; if it was still
    // open, it runs right after the import.
    !from.enabled || typeof state.next_run_at_ms === 'number',
  );
  const due = state.next_run_at_ms ?? anchoredDue(job.schedule, from.anchor_ms, now) ?? job.nextDue ?? now;
  const createdAt = from.created_at_ms ?? now;
  const latest = state.next_run_at_ms ?? Math.max(createdAt, from.anchor_ms ?? 0);
  const { nextDue: _computed, ...rest } = job;
  return {
    ...rest,
    ...(job.schedule.kind === 'every' ? { schedule: countedTo(due, job.schedule, latest) } : {}),
    enabled: from.enabled,
    ...(from.enabled ? { nextDue: due } : {}),
    ...(state.last_run_at_ms ? { lastDue: state.last_run_at_ms } : {}),
    ...(state.last_status ? { lastStatus: state.last_status } : {}),
    runCount: from.run_count,
    createdAt,
  };
}

type Every = Extract<Job['schedule'], { kind: 'every' }>;

/**
 * What it was due next, it stays: the interval is counted to there, from no later than `latest`. What is
 * counted from later than the job was made begins only then (`nextDue`), and only the file can say that.
 */
function countedTo(due: number, schedule: Every, latest: number): Every {
  const ms = Math.max(schedule.ms, FLOOR_MS);
  return { ...schedule, from: due - Math.max(1, Math.ceil((due - latest) / ms)) * ms };
}

/** Undefined where the entry names no chat. */
function addressOf(from: Entry['payload']): JobAddress | undefined {
  const { channel, chat_id: chatId, thread_id: threadId, account, is_group: isGroup, reply_context: replyContext } = from;
  if (!channel || !chatId) return undefined;
  return {
    ...{ channel, chatId },
    ...(threadId ? { threadId } : {}),
    ...(account ? { account } : {}),
    ...(typeof isGroup === 'boolean' ? { isGroup } : {}),
    ...(replyContext ? { replyContext } : {}),
  };
}

function anchoredDue(schedule: Job['schedule'], anchor: number | null | undefined, now: number): number | undefined {
  if (schedule.kind !== 'every' || typeof anchor !== 'number') return undefined;
  return now < anchor ? anchor : anchor + (Math.floor((now - anchor) / schedule.ms) + 1) * schedule.ms;
}

/** The heartbeat is the daemon's own and is left out. */
export function writeJobs(jobs: readonly Job[]): Readonly<Record<string, unknown>> {
  return { version: 1, jobs: jobs.filter(({ id }) => id !== HEARTBEAT).map(toEntry) };
}

function toEntry(job: Job): Record<string, unknown> {
  const { id, name, enabled, timezone, missed, authority: who, taint } = job;
  const { deliver, text, session, profile } = job.payload;
  return {
    ...{ id, name, enabled, schedule: toSchedule(job.schedule) },
    payload: {
      ...{ message: text, deliver: deliver !== undefined },
      // What is undefined is in no file.
      ...(deliver ? { channel: deliver.channel, chat_id: deliver.chatId, thread_id: deliver.threadId } : {}),
      ...(deliver ? { account: deliver.account, is_group: deliver.isGroup, reply_context: deliver.replyContext } : {}),
      session,
      ...(profile === 'task' ? { task: true } : {}),
    },
    state: {
      ...(job.nextDue === undefined ? {} : { next_run_at_ms: job.nextDue }),
      ...(job.lastDue === undefined ? {} : { last_run_at_ms: job.lastDue }),
      ...(job.lastStatus === undefined ? {} : { last_status: job.lastStatus }),
    },
    ...{ created_at_ms: job.createdAt, delete_after_run: job.deleteAfterRun, timezone, run_count: job.runCount },
    ...{ missed, authority: who, taint },
  };
}

function toSchedule(from: Job['schedule']): Record<string, unknown> {
  switch (from.kind) {
    case 'at':
      return { kind: 'At', at_ms: from.at };
    case 'every':
      return { kind: 'Every', every_ms: from.ms };
    case 'cron':
      return { kind: 'Cron', expr: from.expr };
  }
}
