import { expect, test } from 'vitest';
import type { ChannelHost } from '../../../src/core/channel.ts';
import { MemoryLogger } from '../../../src/testing/fakes.ts';
import { JumpingClock } from '../../../src/testing/jobs.ts';
import { compareIds, idAt, laterId, timeOf } from '../wire/ids.ts';
import {
  advance,
  type Cursor,
  firstCursor,
  formatCursor,
  notAhead,
  parseCursor,
  withGap,
  withoutGap,
  withThread,
} from './cursor.ts';
import { Handover } from './handover.ts';

const NOW = Date.UTC(2026, 0, 1);
const chat = (n: number): string => String(10n ** 17n + BigInt(n));
const day = 24 * 3_600_000;

test('a cursor survives the journal', () => {
  const session = { id: 'abc', url: 'wss://gateway.example', seq: 42 };
  const cursor = { ...advance(firstCursor(NOW), chat(1), idAt(NOW), { isPrivate: true, oldest: idAt(NOW - day) }), session };
  expect(parseCursor(formatCursor(cursor))).toEqual(cursor);
});

test('a chat that could not be read is kept until it was, and one of an earlier version of the cursor has none', () => {
  let cursor = withGap(withGap(firstCursor(NOW), chat(1), idAt(NOW)), chat(2), idAt(NOW + 1));
  cursor = parseCursor(formatCursor(withGap(cursor, chat(1), idAt(NOW + 2)))) ?? firstCursor(0);
  expect([...cursor.gaps]).toEqual([
    [chat(2), idAt(NOW + 1)],
    [chat(1), idAt(NOW + 2)],
  ]);
  const mended = formatCursor(withoutGap(withoutGap(cursor, chat(1)), chat(2)));
  expect(mended).toBe(formatCursor(firstCursor(NOW)));
  expect(parseCursor(mended)?.gaps.size).toBe(0);
});

test.each([undefined, '', 'x', '{}', '[]', '{"since":5}', '{"since":"0; drop"}', 'null'])('%j is no cursor', (text) => {
  expect(parseCursor(text)).toBeUndefined();
});

test('what is wrong inside a cursor is left out', () => {
  const since = idAt(NOW);
  const text = JSON.stringify({
    since,
    seen: { '../x': since, [chat(1)]: 7 },
    gaps: { x: since, [chat(2)]: '' },
    joined: { x: since },
    privates: ['x'],
    threads: ['x', 7],
    session: { id: 'a', url: 'file:///', seq: 1 },
  });
  const empty = { seen: new Map(), privates: new Set(), gaps: new Map(), joined: new Map(), threads: new Set() };
  expect(parseCursor(text)).toEqual({ since, ...empty });
});

test('the newest message of a chat never goes back', () => {
  const options = { isPrivate: false, oldest: idAt(NOW - day) };
  const cursor = advance(advance(firstCursor(NOW), chat(1), idAt(NOW + 5), options), chat(1), idAt(NOW + 1), options);
  expect(cursor.seen.get(chat(1))).toBe(idAt(NOW + 5));
});

test('F22 a first start that lies ahead was told by a wrong clock, and hides nothing from now on', () => {
  const ahead = firstCursor(NOW + day);
  const options = { isPrivate: true, oldest: idAt(NOW - day) };
  const met = advance(ahead, chat(1), ahead.since, options);
  const known = advance(met, chat(2), idAt(NOW - 5), options);
  const cursor = notAhead(known, NOW);
  expect([cursor.since, cursor.seen.get(chat(1)), cursor.seen.get(chat(2))]).toEqual([idAt(NOW), idAt(NOW), idAt(NOW - 5)]);
  const near = firstCursor(NOW + 30_000);
  expect(notAhead(near, NOW)).toBe(near);
});

/** What reads and writes the cursor, with the clock that it goes by. */
function kept(before?: Cursor) {
  const clock = new JumpingClock(NOW);
  let stored = before && formatCursor(before);
  const host: ChannelHost = {
    cursor: async () => stored,
    receive: async (_batch, cursor) => {
      stored = cursor;
      return { kind: 'accepted' };
    },
    health: () => undefined,
    ended: () => undefined,
  };
  const signal = new AbortController().signal;
  const handover = new Handover({
    ...{ host, clock, signal, logger: new MemoryLogger(), channel: 'discord', account: 'bot', catchUpMs: day },
    ...{ random: () => 0.5, onTrouble: () => undefined },
  });
  return { clock, handover, stored: () => parseCursor(stored) };
}

test('F22 a first start that lies ahead is corrected by the first commit after the clock was', async () => {
  const { clock, handover, stored } = kept();
  clock.jump(day);
  handover.meet(chat(1));
  await handover.commit([], undefined);
  expect(stored()?.since).toBe(idAt(NOW + day));
  clock.jump(-day);
  await handover.commit([], undefined);
  const { since, seen } = stored() ?? firstCursor(0);
  expect([since, seen.get(chat(1))]).toEqual([idAt(NOW), idAt(NOW)]);
});

test.each([NOW, day])('F22 a clock that is %d ms behind for a moment leaves the cursor as it was', async (behind) => {
  const first = firstCursor(NOW - 3_600_000);
  const { clock, handover, stored } = kept({ ...first, seen: new Map([[chat(1), idAt(NOW - 60_000)]]) });
  clock.jump(-behind);
  await handover.cursor();
  clock.jump(behind);
  await handover.commit([], undefined);
  expect(stored()?.since).toBe(first.since);
  expect(stored()?.seen.size).toBe(1);
});

test('F22 a cursor that was written under a clock of 1970 can be read again', async () => {
  const { clock, handover, stored } = kept(firstCursor(NOW - 3_600_000));
  clock.jump(-NOW);
  await handover.commit([], undefined);
  expect(stored()).toBeDefined();
});

test('chats of servers that were silent for long are forgotten, private chats are not', () => {
  let cursor: Cursor = firstCursor(NOW);
  cursor = advance(cursor, chat(1), idAt(NOW), { isPrivate: false, oldest: idAt(NOW - day) });
  cursor = advance(cursor, chat(2), idAt(NOW), { isPrivate: true, oldest: idAt(NOW - day) });
  cursor = advance(cursor, chat(3), idAt(NOW + 3 * day), { isPrivate: false, oldest: idAt(NOW + 2 * day) });
  expect([...cursor.seen.keys()]).toEqual([chat(2), chat(3)]);
});

test('F46 a cursor stays small, however many chats there are', () => {
  const seen = new Map(Array.from({ length: 1_200 }, (_, n) => [chat(n), idAt(NOW + n)]));
  const privates = new Set([...seen.keys()].filter((_, n) => n % 2 === 0));
  let cursor: Cursor = { ...firstCursor(NOW), seen, privates };
  for (let n = 0; n < 1_200; n += 1) cursor = withGap(cursor, chat(n), idAt(NOW));
  const options = { oldest: idAt(NOW - day) };
  for (let n = 1_200; n < 1_300; n += 1) cursor = advance(cursor, chat(n), idAt(NOW + n), { ...options, isPrivate: n % 2 === 0 });
  expect(cursor.privates.size).toBeLessThanOrEqual(500);
  expect(cursor.seen.size).toBeLessThanOrEqual(1_000);
  expect(cursor.gaps.size).toBe(500);
  expect(formatCursor(cursor).length).toBeLessThan(90_000);
  expect(cursor.seen.has(chat(1_299))).toBe(true);
});

test('of the threads that we wrote in the latest hundred are kept, over a restart too', () => {
  let cursor = firstCursor(NOW);
  for (let n = 0; n < 120; n += 1) cursor = withThread(withThread(cursor, chat(0)), chat(n));
  const kept = parseCursor(formatCursor(cursor))?.threads ?? new Set();
  expect(kept.size).toBe(100);
  expect([kept.has(chat(0)), kept.has(chat(20)), kept.has(chat(119))]).toEqual([true, false, true]);
});

test('ids are times, and are compared as numbers', () => {
  expect(timeOf(idAt(NOW))).toBe(NOW);
  expect(timeOf('175928847299117063')).toBe(1_462_015_105_796); // the example of the API reference
  expect(compareIds('999999999999999999', '1000000000000000000')).toBeLessThan(0);
  expect(laterId('999999999999999999', '1000000000000000000')).toBe('1000000000000000000');
});
