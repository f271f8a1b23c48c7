import { describe, expect, test } from 'vitest';
import { GatehouseError } from '../core/errors.ts';
import type { Job, JobRequest } from '../core/job.ts';
import { importOf, withoutDescriptors } from '../testing/without-descriptors.ts';
import { nextDue, ownTimezone, readSchedule } from './next.ts';

const NOW = Date.UTC(2026, 9, 2, 12);

async function dues(schedule: Job['schedule'], timezone: string, from: string, count: number): Promise<string[]> {
  const found: string[] = [];
  let after = Date.parse(from);
  for (let n = 0; n < count; n += 1) {
    const due = await nextDue({ schedule, timezone }, after);
    if (due === undefined) break;
    found.push(new Date(due).toISOString().replace(':00.000Z', 'Z'));
    after = due;
  }
  return found;
}

const cron = (expr: string) => ({ kind: 'cron', expr }) as const;

test('a time is due once, and an interval keeps its grid however late it is looked at', async () => {
  expect(await nextDue({ schedule: { kind: 'at', at: 500 }, timezone: 'UTC' }, 499)).toBe(500);
  expect(await nextDue({ schedule: { kind: 'at', at: 500 }, timezone: 'UTC' }, 500)).toBeUndefined();
  const every = { schedule: { kind: 'every', ms: 60_000, from: 5 }, timezone: 'UTC' } as const;
  expect(await nextDue(every, 5)).toBe(60_005);
  expect(await nextDue(every, 60_004)).toBe(60_005);
  expect(await nextDue(every, 60_005)).toBe(120_005);
  expect(await nextDue(every, 999_999)).toBe(1_020_005);
  expect(await nextDue(every, -200_000)).toBe(-179_995);
});

// docs/schedules.md promises these.
describe('where the clocks change', () => {
  test.each([
    // In Berlin 02:00–03:00 is missing on 29 March 2026 and comes twice on 25 October.
    ['30 2 * * *', 'Europe/Berlin', '2026-03-28T12:00Z', ['2026-03-29T01:00Z', '2026-03-30T00:30Z']],
    ['30 2 * * *', 'Europe/Berlin', '2026-10-24T12:00Z', ['2026-10-25T00:30Z', '2026-10-26T01:30Z']],
    ['15,45 2 * * *', 'Europe/Berlin', '2026-03-28T12:00Z', ['2026-03-30T00:15Z', '2026-03-30T00:45Z']],
    [
      '15,45 2 * * *',
      'Europe/Berlin',
      '2026-10-24T12:00Z',
      ['2026-10-25T00:15Z', '2026-10-25T00:45Z', '2026-10-25T01:15Z', '2026-10-25T01:45Z', '2026-10-26T01:15Z'],
    ],
    ['30 * * * *', 'Europe/Berlin', '2026-03-29T00:00Z', ['2026-03-29T00:30Z', '2026-03-29T01:30Z', '2026-03-29T02:30Z']],
    ['30 * * * *', 'Europe/Berlin', '2026-10-25T00:00Z', ['2026-10-25T00:30Z', '2026-10-25T01:30Z', '2026-10-25T02:30Z']],
    // In Sydney 02:00–03:00 is missing on 4 October 2026.
    ['0 2 * * *', 'Australia/Sydney', '2026-10-03T12:00Z', ['2026-10-03T16:00Z', '2026-10-04T15:00Z']],
    ['0 3 * * *', 'Australia/Sydney', '2026-10-03T12:00Z', ['2026-10-03T16:00Z', '2026-10-04T16:00Z']],
    ['*/20 2 * * *', 'Australia/Sydney', '2026-10-03T12:00Z', ['2026-10-04T15:00Z', '2026-10-04T15:20Z']],
  ])('%s in %s after %s', async (expr, timezone, from, expected) => {
    expect(await dues(cron(expr), timezone, from, expected.length)).toEqual(expected);
  });
});

test('six fields begin with the second, seven end with the year', async () => {
  const read = async (text: string) => (await readSchedule({ schedule: { cron: text } }, NOW)).nextDue;
  expect(await read('  5   8 * * * ')).toBe(Date.UTC(2026, 9, 3, 8, 5));
  expect(await read('30 5 8 * * *')).toBe(Date.UTC(2026, 9, 3, 8, 5, 30));
  expect(await read('0 5 8 1 1 * 2031')).toBe(Date.UTC(2031, 0, 1, 8, 5));
});

test.each([
  ['0 10 * * ? *', 'year comes last'],
  ['0 10 ? * 2-6 2026', 'year comes last'],
  ['cron(0 10 * * ? *)', 'no name around it'],
  ['rate(5 minutes)', 'no name around it'],
  ['0 10 * * mox', /cannot be read: (?!CronPattern)/],
])('the expression %j is refused', async (text, why) => {
  await expect(readSchedule({ schedule: { cron: text } }, NOW)).rejects.toThrow(why);
});

test.each([
  ['Europe/Berlin', '2026-10-02 14:00'],
  ['Asia/Kolkata', '2026-10-02 17:30'],
])('a time that is refused in %s is answered with the time that it is there', async (timezone, there) => {
  const refusal = async (schedule: JobRequest['schedule']): Promise<string> => {
    const error = await readSchedule({ schedule, timezone }, NOW).catch((reason: unknown) => reason);
    if (!(error instanceof GatehouseError)) throw new Error('it was taken');
    return `${error.message}; ${error.hint}`;
  };
  for (const schedule of [{ at: '2026-10-02T09:00' }, { at: 'at six' }, { cron: '0 0 0 1 1 * 2020' }])
    expect(await refusal(schedule)).toContain(`it is now ${there} in ${timezone}`);
});

test('the zone of this process is one that a job may have', async () => {
  const timezone = ownTimezone();
  expect(await readSchedule({ schedule: { cron: '0 8 * * *' }, timezone }, NOW)).toMatchObject({ timezone });
});

describe('what is refused, with the reason', () => {
  const every = (everyMs: number): JobRequest['schedule'] => ({ everyMs });
  const asked = (text: string): JobRequest['schedule'] => ({ cron: text });
  test.each([
    ['A34 every second', every(1_000), 'UTC', 'once a minute'],
    ['A34 just under a minute', every(59_999), 'UTC', 'once a minute'],
    ['no number', every(Number.NaN), 'UTC', 'interval'],
    ['a century', every(4e12), 'UTC', 'interval'],
    ['A34 each second', asked('* * * * * *'), 'UTC', 'once a minute'],
    ['A34 two seconds of a minute', asked('0,30 * * * * *'), 'UTC', 'once a minute'],
    ['A34 every ten seconds', asked('*/10 * * * * *'), 'UTC', 'once a minute'],
    ['A34 two seconds of one day of the year', asked('0-1 0 0 1 1 *'), 'UTC', 'once a minute'],
    ['four fields', asked('* * * *'), 'UTC', 'five fields'],
    ['a nickname without a time', asked('@reboot'), 'UTC', '@reboot is no time'],
    ['a zone within', asked('CRON_TZ=Europe/Berlin 0 8 * * *'), 'UTC', 'no time zone in it'],
    ['weekdays of Quartz', asked('0 0 8 ? * 2-6'), 'UTC', 'numbers of weekdays'],
    ['a date', asked('2027-01-01T00:00:00'), 'UTC', 'five fields'],
    ['minute 61', asked('61 * * * *'), 'UTC', 'cannot be read'],
    ['words', asked('a b c d e'), 'UTC', 'cannot be read'],
    ['30 February', asked('0 0 30 2 *'), 'UTC', 'never fires'],
    ['a past year', asked('0 0 0 1 1 * 2020'), 'UTC', 'never fires'],
    ['too long', asked(`${'1,'.repeat(150)}1 * * * *`), 'UTC', '200 characters'],
    ['A34 no such zone', asked('0 8 * * *'), 'Mars/Base', 'no time zone'],
    ['A34 an offset', asked('0 8 * * *'), '+02:00', 'time zone'],
    ['no zone', asked('0 8 * * *'), '', 'time zone'],
    ['A34 a path', asked('0 8 * * *'), '../etc/passwd', 'time zone'],
    ['the past', { at: NOW - 1 }, 'UTC', 'past'],
    ['no time', { at: Number.NaN }, 'UTC', 'cannot be read'],
    ['far future', { at: 1e16 }, 'UTC', 'cannot be read'],
  ])('%s', async (_title, schedule, timezone, words) => {
    await expect(readSchedule({ schedule, timezone }, NOW)).rejects.toMatchObject({
      code: 'GH1701',
      message: expect.stringContaining(words),
    });
  });
});

test.each([
  ['@daily', '0 0 * * *'],
  ['@Hourly', '0 * * * *'],
  ['@weekly', '0 0 * * 0'],
])('%s is %s', async (nickname, expr) => {
  const { schedule } = await readSchedule({ schedule: { cron: nickname } }, 0);
  expect(schedule).toEqual({ kind: 'cron', expr });
});

test('while croner cannot be read no expression is refused as wrong, and the next one is read', () => {
  const script = `
    const request = { schedule: { cron: '0 9 * * *' }, timezone: 'UTC' };
    const once = () => readSchedule(request, 0).then(({ nextDue }) => nextDue, ({ code }) => code);
    const first = await once();
    free();
    console.log(first, await once());`;
  expect(withoutDescriptors(importOf('readSchedule', './next.ts', import.meta.url), script)).toBe('GH1703 32400000');
});
