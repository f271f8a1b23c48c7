import { randomBytes } from 'node:crypto';
import { GatehouseError } from '../../core/errors.ts';
import { HEARTBEAT, type Job, type JobAddress, type JobRequest } from '../../core/job.ts';
import { printable } from '../../lib/printable.ts';
import { wallTime } from '../../lib/wall-time.ts';
import { Book, noJob } from '../../schedule/book.ts';
import { OPERATOR } from '../../schedule/file.ts';
import { auditedJobs } from '../audited-jobs.ts';
import { type Command, type CommandContext, dataDirOf, readConfig } from '../context.ts';
import { askDaemon, notRunning } from '../daemon-status.ts';
import type { OpenJournal } from '../deps.ts';
import { EXIT } from '../exit-codes.ts';
import { formatLength, formatRelative, isoTime } from '../format-time.ts';
import { formatTable } from '../output.ts';
import { openOrMake, withJournal } from '../read-journal.ts';

/** Jobs as the operator sees and changes them. A running daemon notices within a second. */
export const cronList: Command<{ readonly all?: boolean }> = async (context, { all = false }) => {
  const { deps, out } = context;
  const jobs = (await withJournal(context, ({ journal }) => journal.jobs.list())) ?? [];
  const shown = all || out.json ? jobs : jobs.filter(({ enabled }) => enabled);
  out.document({ jobs: jobs.map(jobDocument) });
  const now = deps.clock.now();
  if (shown.length === 0) out.data('no jobs');
  else
    out.data(
      formatTable([['ID', 'NAME', 'WHEN', 'NEXT (UTC)', 'LAST', 'RUNS', 'WHOSE', 'TO'], ...shown.map((job) => cells(job, now))]),
    );
  const hidden = jobs.length - shown.length;
  if (hidden > 0) out.say(`→ ${hidden} disabled, shown by --all`);
  return EXIT.ok;
};

export interface CronAddOptions {
  readonly message: string;
  readonly name?: string;
  readonly every?: string;
  readonly cron?: string;
  readonly at?: string;
  readonly tz?: string;
  readonly channel?: string;
  readonly to?: string;
  readonly missed?: Job['missed'];
  readonly task?: boolean;
}

export const cronAdd: Command<CronAddOptions> = async (context, options) => {
  const { deps, out } = context;
  const schedule = scheduleOf(options);
  const { message: text, name, tz, missed, task = false } = options;
  const deliver = await deliverTo(context, options);
  await using opened = await openOrMake(context);
  const job = await bookOn(opened, context).add({
    ...{ text, schedule, authority: OPERATOR },
    ...('at' in schedule ? { deleteAfterRun: true } : {}),
    ...(task ? { profile: 'task' as const } : {}),
    ...(name === undefined ? {} : { name }),
    ...(tz === undefined ? {} : { timezone: tz }),
    ...(missed === undefined ? {} : { missed }),
    ...(deliver ? { deliver } : {}),
  });
  out.document({ job: jobDocument(job) });
  out.data(`${out.mark('ok')} ${job.id}  ${printable(job.name)}  ${whenText(job)}, ${nextText(job, deps.clock.now())}`);
  if (!deliver) out.say(`${out.mark('warn', 'stderr')} its answers go to no chat: name --channel and --to, or set gateway.owner`);
  if ((await askDaemon(dataDirOf(context))).kind === 'down')
    out.say(`${out.mark('warn', 'stderr')} no daemon is running: the job fires once you start \`gatehouse gateway\``);
  return EXIT.ok;
};

export const cronRemove: Command<{ readonly job: string }> = (context, { job: words }) =>
  change(context, words, 'removed', (book) => book.remove(OPERATOR, words));

export const cronEnable: Command<{ readonly job: string; readonly disable?: boolean }> = (
  context,
  { job: id, disable = false },
) => change(context, id, disable ? 'disabled' : 'enabled', (book) => book.enable(OPERATOR, id, !disable));

/** Makes a job due now. The daemon runs it: a run belongs to its lane, its session and its channel. */
export const cronRun: Command<{ readonly job: string }> = async (context, { job: id }) => {
  const { deps, out } = context;
  const daemon = await askDaemon(dataDirOf(context));
  if (daemon.kind === 'down') {
    const { message, hint } = notRunning(daemon);
    throw new GatehouseError('GH1002', message, { hint });
  }
  const done = await withJournal(context, async ({ journal }) => {
    const was = await journal.jobs.get(id);
    if (!was) throw noJob(id, await journal.jobs.list());
    if (!was.enabled || was.id === HEARTBEAT)
      throw new GatehouseError('GH1702', `job ${id} ${was.enabled ? 'runs by its file alone' : 'is disabled'}`, {
        hint: was.enabled ? 'change HEARTBEAT.md' : `gatehouse cron enable ${id}`,
      });
    // Where it fires in this very moment, it runs anyway.
    await journal.commit([{ kind: 'job', job: { ...was, nextDue: deps.clock.now() }, was }]);
    return was;
  });
  if (!done) throw noJob(id, []);
  out.document({ id: done.id });
  out.data(`${out.mark('ok')} ${printable(done.id)} ${printable(done.name)} is due now`);
  return EXIT.ok;
};

async function change(context: CommandContext, id: string, past: string, make: (book: Book) => Promise<Job>): Promise<number> {
  const { out, deps } = context;
  const job = await withJournal(context, (opened) => make(bookOn(opened, context)));
  if (!job) throw noJob(id, []);
  out.document({ job: jobDocument(job) });
  const next = past === 'enabled' ? `, ${nextText(job, deps.clock.now())}` : '';
  out.data(`${out.mark('ok')} ${printable(job.id)} ${printable(job.name)} ${past}${next}`);
  return EXIT.ok;
}

export const newJobId = (): string => randomBytes(4).toString('hex');

function bookOn({ journal }: OpenJournal, { deps }: CommandContext): Book {
  return new Book({ journal: auditedJobs(journal), clock: deps.clock, newId: newJobId });
}

function scheduleOf({ every, cron, at }: CronAddOptions): JobRequest['schedule'] {
  const given = [every, cron, at].filter((each) => each !== undefined);
  if (given.length !== 1)
    throw new GatehouseError('GH1001', 'name one of --at, --every and --cron', { hint: 'such as --cron "0 8 * * 1-5"' });
  if (cron !== undefined) return { cron };
  if (at !== undefined) return { at };
  const everyMs = lengthOf(every ?? '');
  if (everyMs !== undefined) return { everyMs };
  throw new GatehouseError('GH1001', '--every is no length of time', { hint: 'write seconds, or 90s, 10m, 1h30m, 1d, 2w' });
}

const SECONDS: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3_600, d: 86_400, w: 604_800 };

/** ms of seconds, or of numbers with their units one after another. */
function lengthOf(text: string): number | undefined {
  if (!/^(?:\d{1,9}|(?:\d{1,9}[smhdw])+)$/.test(text)) return undefined;
  const parts = [...text.matchAll(/(\d+)([smhdw]?)/g)];
  return parts.reduce((sum, [, count, unit = '']) => sum + Number(count) * (SECONDS[unit] ?? 1) * 1_000, 0);
}

/** Undefined = the answers stay in the record. */
async function deliverTo(context: CommandContext, { channel, to }: CronAddOptions): Promise<JobAddress | undefined> {
  if ((channel === undefined) !== (to === undefined))
    throw new GatehouseError('GH1001', 'name --channel and --to together', { hint: '--to is the id of the chat there' });
  const fallback = await ownerChat(context);
  if (channel === undefined || to === undefined) return fallback.chat;
  if (!fallback.channels.includes(channel))
    throw new GatehouseError('GH1003', `there is no channel ${channel}`, {
      hint: `in the config: ${fallback.channels.join(', ')}`,
    });
  return { channel, chatId: to };
}

/** Where answers go that are told no other place, and the channels there are. */
export async function ownerChat(
  context: CommandContext,
): Promise<{ readonly chat: JobAddress | undefined; readonly channels: readonly string[] }> {
  const { gateway } = (await readConfig(context)).config;
  const [chat] = gateway.owner.map((each) => ({ channel: each.channel, chatId: each.chat_id }));
  return { chat, channels: gateway.channels.map(({ name, type }) => name ?? type) };
}

function cells(job: Job, now: number): string[] {
  const { deliver } = job.payload;
  const to = deliver ? `${deliver.channel} ${deliver.chatId}` : '-';
  const last = job.lastStatus ?? '-';
  const next = job.enabled ? nextText(job, now).replace(/^next /, '') : 'disabled';
  return [job.id, job.name.slice(0, 40), whenText(job), next, last, String(job.runCount), job.authority.principal, to].map(
    printable,
  );
}

function whenText({ schedule, timezone }: Job): string {
  switch (schedule.kind) {
    case 'at':
      return `once, ${wallTime(schedule.at, timezone)} ${timezone}`;
    case 'every':
      return `every ${formatLength(schedule.ms)}`;
    case 'cron':
      return `${schedule.expr} (${timezone})`;
  }
}

function nextText({ nextDue }: Job, now: number): string {
  return nextDue === undefined ? '-' : `next ${isoTime(nextDue)} (${formatRelative(nextDue, now)})`;
}

function jobDocument(job: Job): Record<string, unknown> {
  const { nextDue, lastDue, createdAt, authority, ...rest } = job;
  return {
    ...rest,
    ...{ principal: authority.principal, role: authority.role, createdAt: isoTime(createdAt) },
    nextDue: nextDue === undefined ? null : isoTime(nextDue),
    lastDue: lastDue === undefined ? null : isoTime(lastDue),
  };
}
