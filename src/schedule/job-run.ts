// due job -> the run that it begins
import { laneKey } from '../core/ids.ts';
import { type Job, jobRunKey, jobSession } from '../core/job.ts';
import type { Address } from '../core/message.ts';
import type { NewRun } from '../core/new-run.ts';
import { nameInMark, words } from '../lib/marks.ts';

/**
 * A lane of its own, so that no message waits behind a job. Where it answers in a chat the lane is counted to
 * that chat, and `/stop` there ends it too; `#` is in no lane of a thread.
 */
export function jobLane(id: string, to: Address | undefined): string {
  if (!to) return `job/${id}`;
  const { channel, account, chatId } = to;
  return `${laneKey({ channel, account, chatId })}/#job:${id}`;
}

/**
 * Whether the newest run of a job failed, and said so. A run that a person stopped or that a limit cut short
 * did not fail, and a due time that made no run told no chat.
 */
export function hasFailed({ lastStatus = '' }: Pick<Job, 'lastStatus'>): boolean {
  return /^error: (?:failed:|gave up|too old)/.test(lastStatus);
}

const KEEP_DAYS = 30;

export interface Firing {
  readonly job: Job;
  readonly due: number;
  readonly to: Address | undefined;
  readonly text: string;
  /** Of one that is a task. Default 30. */
  readonly keepDays?: number;
}

export function runOf({ job, due, to, text, keepDays = KEEP_DAYS }: Firing): NewRun {
  const { id, payload, authority, taint } = job;
  const isTask = payload.profile === 'task';
  return {
    key: jobRunKey(id, due),
    source: { kind: 'job', job: id, due },
    profile: payload.profile,
    lane: jobLane(id, to),
    session: jobSession(job),
    ...(isTask && payload.session !== undefined ? { workspace: payload.session } : {}),
    prompt: {
      ...{ text, media: [], at: new Date(due).toISOString() },
      ...(hasFailed(job) ? { failsQuietly: true } : {}),
    },
    ...(to ? { replyTo: to } : {}),
    ...{ authority, taint },
    ...(isTask ? { record: { title: job.name, keepDays } } : {}),
  };
}

/** What the model reads. It must know that no person has just written, and that it may be silent. */
export function promptOf({ name, payload, timezone }: Job, due: number): string {
  const at = new Intl.DateTimeFormat('en-GB', { dateStyle: 'full', timeStyle: 'short', timeZone: timezone }).format(due);
  const head = `Scheduled job "${nameInMark(name)}", due ${at} (${timezone}). Answer only [SILENT] when there is nothing to tell.`;
  return `[${head}]\n\n${words(payload.text)}`;
}
