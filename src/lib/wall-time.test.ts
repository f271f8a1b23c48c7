import { expect, onTestFinished, test } from 'vitest';
import { instantOf, startOfLocalDay, wallTime } from './wall-time.ts';

const at = (text: string, zone = 'Europe/Berlin'): string | undefined => {
  const found = instantOf(text, zone);
  return found === undefined ? undefined : new Date(found).toISOString();
};

test.each([
  ['2026-10-04T08:00', '2026-10-04T06:00:00.000Z'],
  ['2026-12-04 08:00:30', '2026-12-04T07:00:30.000Z'],
  ['2026-10-04', '2026-10-03T22:00:00.000Z'],
  ['2026-10-04T08:00Z', '2026-10-04T08:00:00.000Z'],
  ['2026-10-04T08:00-05:30', '2026-10-04T13:30:00.000Z'],
  ['2026-10-25T02:30', '2026-10-25T00:30:00.000Z'],
  ['2026-03-29T02:30', '2026-03-29T01:30:00.000Z'],
])('%s in Berlin is %s', (text, expected) => {
  expect(at(text)).toBe(expected);
});

test('the day on which Sydney sets its clocks', () => {
  expect(at('2026-10-04T01:59', 'Australia/Sydney')).toBe('2026-10-03T15:59:00.000Z');
  expect(at('2026-10-04T03:00', 'Australia/Sydney')).toBe('2026-10-03T16:00:00.000Z');
});

test.each(['', 'tomorrow', '2026-02-30', '2026-10-04T25:00', '2026-10-04T08:61', '2026-13-01', '1e9'])(
  '%j is no time',
  (text) => {
    expect(at(text)).toBeUndefined();
  },
);

test('a clock on the wall shows the time of its own zone', () => {
  const noon = Date.UTC(2026, 6, 1, 12);
  const shown = ['Europe/Berlin', 'Asia/Kolkata', 'Europe/Berlin', 'UTC'].map((zone) => wallTime(noon, zone));
  expect(shown).toEqual(['2026-07-01 14:00', '2026-07-01 17:30', '2026-07-01 14:00', '2026-07-01 12:00']);
  expect(() => wallTime(noon, 'Mars/Base')).toThrow(RangeError);
  expect(wallTime(noon, 'UTC')).toBe('2026-07-01 12:00');
});

test('a day begins at its midnight, whichever day was asked about before', () => {
  const first = Date.UTC(2026, 0, 1, 0, 30);
  // Jumps to and fro over two years, hours apart within a day too.
  for (let n = 0; n < 4_000; n += 1) {
    const at = first + ((n * 7_919) % 17_520) * 3_600_000;
    expect(startOfLocalDay(at)).toBe(new Date(at).setHours(0, 0, 0, 0));
    expect(startOfLocalDay(at + 1)).toBe(new Date(at + 1).setHours(0, 0, 0, 0));
  }
  expect(startOfLocalDay(Number.NaN)).toBeNaN();
});

test('the day after one that began at one o’clock begins at its midnight', () => {
  const before = process.env['TZ'];
  process.env['TZ'] = 'America/Santiago';
  onTestFinished(() => {
    if (before === undefined) delete process.env['TZ'];
    else process.env['TZ'] = before;
  });
  const at = (day: number, hours: number, minutes = 0) => new Date(2026, 8, day, hours, minutes).getTime();
  expect(startOfLocalDay(at(6, 12))).toBe(at(6, 1));
  expect(startOfLocalDay(at(7, 0, 30))).toBe(at(7, 0));
  expect(startOfLocalDay(at(8, 0))).toBe(at(8, 0));
});

test('the time of each minute is its own, in any order of asking', () => {
  const at = Date.UTC(2026, 5, 1, 12, 0);
  const asked = [at, at + 59_999, at + 60_000, at - 1, at].map((one) => wallTime(one, 'UTC'));
  expect(asked).toEqual(['12:00', '12:00', '12:01', '11:59', '12:00'].map((time) => `2026-06-01 ${time}`));
});
