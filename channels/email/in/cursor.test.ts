import { expect, test } from 'vitest';
import { advance, counts, firstCursor, parseCursor, renewed, rescanCursor } from './cursor.ts';

const DAY = 24 * 3_600_000;
const START = 1_700_000_000_000;

test('the first start begins behind the newest mail', () => {
  expect(firstCursor({ uidValidity: '9', uidNext: 31 }, START)).toEqual({ uidvalidity: '9', uid: 30, at: START, floor: START });
});

test('a cursor survives being stored, and anything else is no cursor', () => {
  const rescan = rescanCursor(
    firstCursor({ uidValidity: '9', uidNext: 31 }, START),
    { uidValidity: '10', uidNext: 5 },
    START + 9 * DAY,
  );
  expect(parseCursor(JSON.stringify(rescan))).toEqual(rescan);
  for (const text of ['', '42', 'null', '{}', '{"uidvalidity":9,"uid":1}', 'x']) expect(parseCursor(text)).toBeUndefined();
});

test('a rescan looks a day behind the last cursor, never before the first start, and keeps its date until it is through', () => {
  const before = { ...firstCursor({ uidValidity: '9', uidNext: 31 }, START), at: START + 5 * DAY };
  const rescan = rescanCursor(before, { uidValidity: '10', uidNext: 5 }, START + 6 * DAY);
  expect(rescan.rescan).toEqual({ below: 5, since: START + 4 * DAY });
  expect(counts(rescan, 1, START + 3 * DAY)).toBe(false);
  expect(counts(rescan, 1, START + 4 * DAY)).toBe(true);
  expect(counts(rescan, 5, START)).toBe(true);
  const middle = advance(rescan, 2, START + 6 * DAY);
  expect(middle.rescan).toEqual(rescan.rescan);
  expect(rescanCursor(middle, { uidValidity: '11', uidNext: 9 }, START + 7 * DAY).rescan?.since).toBe(START + 3 * DAY);
  expect(advance(middle, 4, START + 6 * DAY)).not.toHaveProperty('rescan');
  expect(rescanCursor({ ...before, at: START }, { uidValidity: '10', uidNext: 5 }, START).rescan?.since).toBe(START);
});

test('in a rescan a mail counts only if it was also written since, where it says when', () => {
  const before = { ...firstCursor({ uidValidity: '9', uidNext: 31 }, START), at: START + 5 * DAY };
  const rescan = rescanCursor(before, { uidValidity: '10', uidNext: 5 }, START + 6 * DAY);
  const migrated = START + 6 * DAY;
  expect(counts(rescan, 1, migrated, START - 900 * DAY)).toBe(false);
  expect(counts(rescan, 1, migrated, START + 4 * DAY)).toBe(true);
  expect(counts(rescan, 1, migrated)).toBe(true);
  expect(counts(rescan, 5, migrated, START - 900 * DAY)).toBe(true);
});

test('the cursor of a quiet mailbox is renewed, so that a rescan never begins before what is known to be handled', () => {
  const cursor = firstCursor({ uidValidity: '9', uidNext: 31 }, START);
  expect(renewed(cursor, START + DAY / 4)).toBeUndefined();
  expect(renewed(cursor, START + DAY)).toEqual({ ...cursor, at: START + DAY });
});
