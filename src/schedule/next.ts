// schedule + time zone + a point in time -> the next due time
import { errorText, GatehouseError, isGatehouseError } from '../core/errors.ts';
import type { Job, JobRequest, Schedule } from '../core/job.ts';
import { instantOf, nowIn } from '../lib/wall-time.ts';
import { nextOf } from './cron.ts';

/**
 * A job may be due once a minute, not more often: the ticker looks every minute at the latest, a run is a
 * paid call of a model, and a job a second would be a flood that its author does not even have to send (A34).
 */
export const FLOOR_MS = 60_000;
/** Longer ones are mistakes in the unit. */
const LONGEST_EVERY_MS = 10 * 366 * 86_400_000;
const LATEST_AT = Date.UTC(2200, 0, 1);
/** Croner reads character by character; no expression of people comes near it. */
const LONGEST_EXPR = 200;

type Timing = Pick<Job, 'schedule' | 'timezone'>;

/**
 * Strictly after `after`, epoch ms; undefined = never again. A function of its arguments: nothing is
 * remembered. An interval whose `from` is later than `createdAt` was imported and is not due before `from`.
 * Our own have both alike: a `from` in the future means that the clock was ahead, and is ignored (F22).
 */
export async function nextDue(
  { schedule, timezone, createdAt = Number.POSITIVE_INFINITY }: Timing & Partial<Pick<Job, 'createdAt'>>,
  after: number,
): Promise<number | undefined> {
  switch (schedule.kind) {
    case 'at':
      return schedule.at > after ? schedule.at : undefined;
    case 'every':
      return dueAfter(schedule, schedule.from > createdAt ? Math.max(after, schedule.from) : after);
    case 'cron':
      return await nextOf(schedule.expr, timezone, after);
  }
}

function dueAfter({ ms, from }: Extract<Schedule, { kind: 'every' }>, after: number): number {
  return from + (Math.floor((after - from) / ms) + 1) * ms;
}

/**
 * The schedule that is asked for and its first due time. Rejects with GH1701 for one that cannot be, and as
 * `nextOf` with GH1703. With `mayBeOver` it may have no due time any more.
 */
export async function readSchedule(
  { schedule: asked, timezone = 'UTC' }: Pick<JobRequest, 'schedule' | 'timezone'>,
  now: number,
  mayBeOver = false,
): Promise<Timing & { readonly nextDue?: number }> {
  assertTimezone(timezone);
  const schedule = scheduleOf(asked, timezone, now);
  let due: number | undefined;
  try {
    due = await nextDue({ schedule, timezone }, now);
  } catch (error) {
    if (isGatehouseError(error)) throw error;
    throw refused(`the expression cannot be read: ${errorText(error).replace(/^CronPattern: /, '')}`, { cause: error });
  }
  if (due === undefined) {
    if (mayBeOver) return { schedule, timezone };
    if (schedule.kind !== 'at') throw refused(`the expression never fires; ${nowIn(timezone, now)}`);
    throw refused(`the time lies in the past; ${nowIn(timezone, now)}`, { hint: 'name a later one' });
  }
  return { schedule, timezone, nextDue: due };
}

function scheduleOf(asked: JobRequest['schedule'], timezone: string, now: number): Schedule {
  if ('at' in asked) {
    const at = typeof asked.at === 'string' ? instantOf(asked.at, timezone) : asked.at;
    if (at === undefined || !Number.isSafeInteger(at) || at > LATEST_AT)
      throw refused('the time cannot be read', {
        hint: `write it like 2026-10-04T08:00, or with an offset: …T08:00+02:00; ${nowIn(timezone, now)}`,
      });
    return { kind: 'at', at };
  }
  if ('everyMs' in asked) {
    const { everyMs: ms } = asked;
    if (!Number.isSafeInteger(ms) || ms > LONGEST_EVERY_MS) throw refused('the interval cannot be read');
    if (ms < FLOOR_MS) throw refused('a job fires once a minute at most', { hint: 'ask for 60 seconds or more' });
    return { kind: 'every', ms, from: now };
  }
  return { kind: 'cron', expr: expressionOf(asked.cron) };
}

/** What `man 5 crontab` calls nicknames. */
const NICKNAMES: Readonly<Record<string, string>> = {
  ...{ '@yearly': '0 0 1 1 *', '@annually': '0 0 1 1 *', '@monthly': '0 0 1 * *', '@weekly': '0 0 * * 0' },
  ...{ '@daily': '0 0 * * *', '@midnight': '0 0 * * *', '@hourly': '0 * * * *' },
};

/**
 * Without what only some programs read, or read otherwise: a time zone, `?` beside numbers of weekdays, more
 * than one space.
 */
function expressionOf(text: string): string {
  if (text.length > LONGEST_EXPR) throw refused(`an expression has at most ${LONGEST_EXPR} characters`);
  const nickname = NICKNAMES[text.trim().toLowerCase()];
  if (nickname !== undefined) return nickname;
  if (text.trim().startsWith('@'))
    throw refused(`${text.trim().split(/\s/)[0]} is no time`, {
      hint: `there are ${Object.keys(NICKNAMES).join(', ')}; for an interval ask for one, such as --every 5m`,
    });
  if (/^\s*(?:CRON_)?TZ=/i.test(text))
    throw refused('an expression has no time zone in it', { hint: 'name the zone beside it: --tz Europe/Berlin' });
  if (/^\s*(?:cron|rate)\s*\(/i.test(text))
    throw refused('an expression has no name around it', {
      hint: 'write its five fields alone; for an interval ask for one, such as --every 5m',
    });
  const fields = text.trim().split(/\s+/);
  if (fields.length < 5 || fields.length > 7)
    throw refused('an expression has five fields: minute, hour, day of the month, month, day of the week', {
      hint: 'six with the second first, seven with the year last; "0 8 * * 1-5" is eight on working days',
    });
  // Of Quartz the third is the hour and the fifth the month, where no `?` may be: this one begins with the
  // minute.
  if (fields.length === 6 && (fields[2] === '?' || fields[4] === '?'))
    throw refused('with `?` there the year comes last, and this program would read the minute as a second', {
      hint: 'leave the year out, write the days of the week by their names, such as MON-FRI, and * for ?',
    });
  // Quartz and AWS count weekdays from Sunday = 1, cron from Sunday = 0.
  if (fields.includes('?') && /\d/.test(fields[fields.length === 5 ? 4 : 5] ?? ''))
    throw refused('with `?` it is not known from which day the numbers of weekdays count', {
      hint: 'write the days by their names, such as MON-FRI, and * for ?',
    });
  // One second of a minute and not two: what is left is at least a minute apart, whatever the other fields
  // say.
  if (fields.length > 5 && !/^\d{1,2}$/.test(fields[0] ?? ''))
    throw refused('a job fires once a minute at most', { hint: 'the field of the seconds is one number, such as 0' });
  return fields.join(' ');
}

/** The time zone of this process: `TZ`, else the system's. UTC where that has no name that a job may have. */
export function ownTimezone(): string {
  // Undefined where `TZ` is none of the database, whatever its type says.
  const { timeZone = '' } = new Intl.DateTimeFormat().resolvedOptions() as { readonly timeZone?: string };
  try {
    assertTimezone(timeZone);
    return timeZone;
  } catch {
    return 'UTC';
  }
}

/** Names of the IANA database only: a fixed offset is no place, and knows no summer time. */
function assertTimezone(name: string): void {
  const hint = 'name one of the IANA database, such as Europe/Berlin or UTC';
  if (!/^[A-Za-z][\w+/-]{0,63}$/.test(name)) throw refused('the time zone cannot be read', { hint });
  try {
    new Intl.DateTimeFormat('en', { timeZone: name });
  } catch (error) {
    throw refused(`there is no time zone ${name}`, { hint, cause: error });
  }
}

function refused(message: string, options: { readonly hint?: string; readonly cause?: unknown } = {}): GatehouseError {
  return new GatehouseError('GH1701', message, options);
}
