const ISO = /^(\d{4})-(\d{2})-(\d{2})(?:[T ](\d{2}):(\d{2})(?::(\d{2})(?:\.\d{1,9})?)?(Z|[+-]\d{2}:?\d{2})?)?$/i;

/**
 * Epoch ms of a date of ISO 8601; undefined = it is none. Without an offset it is what a clock on the wall
 * shows in that time zone: of a time that comes twice the first, of one that is left out as if the clock had
 * not been changed yet.
 */
export function instantOf(text: string, timezone: string): number | undefined {
  const match = ISO.exec(text.trim());
  if (!match) return undefined;
  const [year = 0, month = 0, day = 0, hour = 0, minute = 0, second = 0] = match.slice(1, 7).map((part) => Number(part ?? 0));
  const wall = Date.UTC(year, month - 1, day, hour, minute, second);
  // The 31st of a shorter month, or hour 25, would otherwise become another time.
  const date = new Date(wall);
  if (date.getUTCMonth() !== month - 1 || date.getUTCDate() !== day || minute > 59 || second > 59) return undefined;
  const offset = match[7];
  if (offset !== undefined) return wall - offsetOf(offset);
  // The offsets before and after: of two that fit, the earlier time has the larger one.
  const [before, after] = [shownAt(wall - 86_400_000, timezone), shownAt(wall + 86_400_000, timezone)];
  const fitting = [before, after].map((each) => wall - each).filter((at) => at + shownAt(at, timezone) === wall);
  return fitting.length > 0 ? Math.min(...fitting) : wall - before;
}

/** The newest one and what it showed last are kept: every run asks for the date. */
let kept: { readonly timeZone: string; readonly format: Intl.DateTimeFormat; minute: number; text: string } | undefined;

/** `2026-12-24 18:00`, as a clock on the wall shows it there. Throws where there is no such time zone. */
export function wallTime(at: number, timeZone: string): string {
  if (kept?.timeZone !== timeZone) kept = { timeZone, format: formatOf(timeZone), minute: Number.NaN, text: '' };
  const minute = Math.floor(at / 60_000);
  if (kept.minute !== minute) Object.assign(kept, { minute, text: kept.format.format(at) });
  return kept.text;
}

function formatOf(timeZone: string): Intl.DateTimeFormat {
  return new Intl.DateTimeFormat('sv-SE', { dateStyle: 'short', timeStyle: 'short', timeZone });
}

/** Goes with the answer about a time that was asked for: only the clock that it is read by explains it. */
export function nowIn(timeZone: string, now: number): string {
  return `it is now ${wallTime(now, timeZone)} in ${timeZone}`;
}

function offsetOf(text: string): number {
  if (/^z$/i.test(text)) return 0;
  const [, sign, hours, minutes] = /^([+-])(\d{2}):?(\d{2})$/.exec(text) ?? [];
  return (sign === '-' ? -1 : 1) * (Number(hours) * 60 + Number(minutes)) * 60_000;
}

/** How far the zone is ahead of UTC at that instant, ms. */
function shownAt(at: number, timeZone: string): number {
  const parts = new Intl.DateTimeFormat('en-US', {
    ...{ timeZone, hourCycle: 'h23', year: 'numeric', month: 'numeric', day: 'numeric' },
    ...{ hour: 'numeric', minute: 'numeric', second: 'numeric' },
  }).formatToParts(at);
  const of = (type: Intl.DateTimeFormatPartTypes): number => Number(parts.find((part) => part.type === type)?.value ?? 0);
  return (
    Date.UTC(of('year'), of('month') - 1, of('day'), of('hour'), of('minute'), of('second')) - Math.floor(at / 1_000) * 1_000
  );
}

/** The day asked about last: every call of a model asks which day it is. Epoch ms, the end exclusive. */
let lastDay = { start: 0, end: 0 };

/** The last midnight at or before `at` (epoch ms) in the time zone of the process. */
export function startOfLocalDay(at: number): number {
  if (!(at >= lastDay.start && at < lastDay.end)) {
    const start = new Date(at).setHours(0, 0, 0, 0);
    // From within the next day: this one may have begun at one o'clock, because clocks were set forward.
    lastDay = { start, end: new Date(start + 30 * 3_600_000).setHours(0, 0, 0, 0) };
  }
  return lastDay.start;
}
