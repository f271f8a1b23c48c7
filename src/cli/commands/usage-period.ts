import { GatehouseError } from '../../core/errors.ts';
import { startOfLocalDay } from '../../lib/wall-time.ts';

/** Epoch ms; `until` is exclusive. */
export interface Period {
  readonly since: number;
  readonly until: number;
}

/** Longer than any day with a change to winter time, shorter than two days. */
const INTO_NEXT_DAY_MS = 30 * 3_600_000;

export interface PeriodOptions {
  /** First day. Absent = `defaultSince`. */
  readonly since?: string;
  readonly defaultSince: string;
  /** Last day. Absent = today. */
  readonly until?: string;
}

/**
 * Whole days of this machine's time zone. `7d` is today and the six days before. Throws GH1001 for what is
 * neither a date nor a number of days, and for a period that ends before it begins.
 */
export function parsePeriod(options: PeriodOptions, now: number): Period {
  const lastDay = options.until === undefined ? startOfLocalDay(now) : startOfDate(options.until, '--until', now);
  const until = startOfLocalDay(lastDay + INTO_NEXT_DAY_MS);
  const first = options.since ?? options.defaultSince;
  const days = /^(\d{1,5})d$/.exec(first)?.[1];
  const since = days === undefined ? startOfDate(first, '--since', now) : daysBefore(now, Math.max(1, Number(days)) - 1);
  if (since >= until) throw endsBefore(options);
  return { since, until };
}

/**
 * Epoch ms of a `--since` that may also be some minutes or hours ago (`30m`, `12h`); else the first day, as
 * `parsePeriod`. Throws GH1001 as that does.
 */
export function parseSince(text: string, now: number): number {
  const since = parseTime('--since', text, now);
  if (since > now) throw endsBefore({ since: text, defaultSince: text });
  return since;
}

/** As `parseSince`, for an option of another name, which may also be a day to come. */
export function parseTime(option: string, text: string, now: number): number {
  const [, count, unit] = /^(\d{1,5})([mh])$/.exec(text) ?? [];
  if (count !== undefined) return now - Number(count) * (unit === 'h' ? 3_600_000 : 60_000);
  const days = /^(\d{1,5})d$/.exec(text)?.[1];
  if (days !== undefined) return daysBefore(now, Math.max(1, Number(days)) - 1);
  if (/^(?:\d{4}-\d{2}-\d{2}|today|yesterday)$/.test(text)) return startOfDate(text, option, now);
  throw new GatehouseError('GH1001', `${option} ${JSON.stringify(text)} is no time`, {
    hint: 'write how long ago, like 30m, 12h or 7d, yesterday, or a date like 2026-01-31',
  });
}

function endsBefore({ since, defaultSince, until }: PeriodOptions): GatehouseError {
  if (until === undefined)
    return new GatehouseError('GH1001', '--since lies in the future', { hint: 'name today or an earlier day' });
  if (since === undefined) {
    const message = `the default --since (${defaultSince}) is later than --until`;
    return new GatehouseError('GH1001', message, { hint: 'name --since too' });
  }
  return new GatehouseError('GH1001', '--until is before --since', { hint: 'name the earlier day with --since' });
}

/** By the calendar: a day may have 23 or 25 hours. */
function daysBefore(now: number, days: number): number {
  const date = new Date(startOfLocalDay(now));
  return date.setDate(date.getDate() - days);
}

function startOfDate(text: string, option: string, now: number): number {
  if (text === 'today' || text === 'yesterday') return daysBefore(now, text === 'today' ? 0 : 1);
  const [, year, month, day] = (/^(\d{4})-(\d{2})-(\d{2})$/.exec(text) ?? []).map(Number);
  if (year !== undefined && month !== undefined && day !== undefined) {
    const date = new Date(year, month - 1, day);
    // The 31st of a shorter month would otherwise become a day of the next one.
    if (date.getMonth() === month - 1 && date.getDate() === day) return date.getTime();
  }
  throw new GatehouseError('GH1001', `${option} ${JSON.stringify(text)} is not a day`, {
    hint: 'write a date like 2026-01-31, today or yesterday, or for --since a number of days like 7d',
  });
}
