// the same schedule, asked of systemd-analyze calendar
import { spawnSync } from 'node:child_process';
import type { Job } from '../../core/job.ts';
import { duesOf } from './judge.ts';

export interface Compared {
  readonly jobs: number;
  readonly times: number;
  readonly wrong: readonly string[];
}

/** Local hours on these days are missing or come twice; there docs/schedules.md says what holds. */
const CHANGES: Readonly<Record<string, { readonly from: number; readonly to: number }>> = {
  'Australia/Sydney': { from: Date.UTC(2026, 9, 3, 15), to: Date.UTC(2026, 9, 3, 18) },
  'Europe/Berlin': { from: Date.UTC(2026, 9, 24, 23), to: Date.UTC(2026, 9, 25, 2) },
};
const WEEKDAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'];

/** Undefined = systemd is not installed here. */
export function compareWithSystemd(
  jobs: readonly Pick<Job, 'id' | 'schedule' | 'timezone'>[],
  span: { readonly from: number; readonly to: number },
): Compared | undefined {
  const wrong: string[] = [];
  let [compared, times] = [0, 0];
  for (const job of jobs) {
    if (job.schedule.kind !== 'cron') continue;
    const change = CHANGES[job.timezone];
    const isPlain = (at: number): boolean => !change || at < change.from || at > change.to;
    const ours = duesOf(job, span.from, span.to).filter(isPlain);
    const theirs = ask(`${toCalendar(job.schedule.expr)} ${job.timezone}`, span.from)?.filter(
      (at) => at <= span.to && isPlain(at),
    );
    if (!theirs) return undefined;
    compared += 1;
    times += ours.length;
    if (ours.join() !== theirs.join())
      wrong.push(`${job.schedule.expr} in ${job.timezone}: ${ours.length} due times, systemd has ${theirs.length}`);
  }
  return { jobs: compared, times, wrong };
}

/** Only what `makeJobs` makes. */
function toCalendar(expr: string): string {
  const fields = expr.split(' ');
  const [second = '0', minute = '', hour = '', , , days = '*'] = fields.length === 6 ? fields : ['0', ...fields];
  const name = (day: string): string => WEEKDAYS[Number(day)] ?? '';
  const weekday = days === '*' ? '' : `${days.split('-').map(name).join('..')} `;
  return `${weekday}*-*-* ${hour.replace(/^\*\//, '0/')}:${minute}:${second}`;
}

function ask(calendar: string, from: number): readonly number[] | undefined {
  const argv = ['calendar', '--iterations=100', `--base-time=@${from / 1_000}`, calendar];
  const { status, stdout } = spawnSync('systemd-analyze', argv, {
    encoding: 'utf8',
    env: { ...process.env, TZ: 'UTC', LC_ALL: 'C' },
  });
  if (status !== 0) return undefined;
  const found = stdout.matchAll(/(?:Next elapse|Iter\. #\d+): \w{3} (\d{4}-\d{2}-\d{2}) (\d{2}:\d{2}:\d{2}) UTC/g);
  return [...found].map(([, day, time]) => Date.parse(`${day}T${time}Z`));
}
