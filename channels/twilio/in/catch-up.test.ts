import { expect, test } from 'vitest';
import { TestHost } from '../../../src/testing/channel-host.ts';
import { FakeClock, inbound, MemoryLogger } from '../../../src/testing/fakes.ts';
import { JumpingClock } from '../../../src/testing/jobs.ts';
import type { MessageList, MessageRecord } from '../wire/client.ts';
import { CatchUp } from './catch-up.ts';
import { advance, firstCursor, OVERLAP_MS, parseCursor, since } from './cursor.ts';
import { Intake } from './intake.ts';

const NUMBER = '+15005550006';
const NOW = Date.UTC(2026, 0, 1);
const PAGE = 100;

function record(n: number, at: number): MessageRecord {
  const sid = `SM${String(n).padStart(32, '0')}`;
  return { sid, from: '+14155550001', to: NUMBER, body: `m${n}`, direction: 'inbound', status: 'received', mediaCount: 0, at };
}

/** A reading of `all` (oldest first), a page at a time; the filter looks at nothing. */
function reading(all: readonly MessageRecord[], host: TestHost, accepted?: ReadonlySet<string>) {
  const newest = all.toReversed();
  let pages = 0;
  const page = (start: number): MessageList => {
    pages += 1;
    const more = start + PAGE < newest.length;
    const next = async () => page(start + PAGE);
    return { messages: newest.slice(start, start + PAGE), serverTime: NOW, ...(more && { next }) };
  };
  const signal = new AbortController().signal;
  const [clock, logger] = [new FakeClock(NOW), new MemoryLogger()];
  const intake = new Intake({ host, clock, logger, random: () => 0, onTrouble: () => undefined, signal });
  const catchUp = new CatchUp({
    client: { list: async () => page(0), media: async () => [] },
    intake: {
      resume: (stored) => intake.resume(stored),
      offer: (batch, cursor) => intake.offer(batch, cursor),
      accepted: (sid) => accepted?.has(sid) ?? intake.accepted(sid),
    },
    toInbound: (one) => inbound({ platformId: one.sid, text: one.body, timestamp: one.at ?? 0 }),
    ...{ host, clock, logger, signal, number: NUMBER },
  });
  return { run: () => catchUp.run(), pages: () => pages };
}

function hostAt(at: number, floor: number): TestHost {
  return new TestHost(JSON.stringify({ at, floor }));
}

test('more than can be held is read in rounds, each message once and in order', async () => {
  const all = Array.from({ length: 4_500 }, (_, n) => record(n, NOW - (4_500 - n) * 1_000));
  const host = hostAt(NOW - 4_501_000, 0);
  const { run, pages } = reading(all, host);
  await run();
  expect(host.accepted.map(({ text }) => text)).toEqual(all.map(({ body }) => body));
  expect(pages()).toBeLessThan(150);
  // The cursor of each batch covers what is in it and nothing that is not.
  for (const { messages, cursor } of host.batches) {
    const last = messages.at(-1);
    if (last && last.text !== 'm4499') expect(parseCursor(cursor ?? '')?.at).toBe(last.timestamp);
  }
});

test('more than can be held in one second ends all the same', async () => {
  const all = Array.from({ length: 5_000 }, (_, n) => record(n, NOW - 60_000));
  const host = hostAt(NOW - 60_000, NOW - 60_000);
  await reading(all, host).run();
  expect(host.accepted).toHaveLength(5_000);
});

test('a message that shows in the list later than its date says is not passed over', async () => {
  const late = record(1, NOW - OVERLAP_MS + 1_000);
  const old = record(0, NOW - OVERLAP_MS - 1_000);
  const host = hostAt(NOW, NOW - 3_600_000);
  await reading([old, late], host).run();
  expect(host.accepted.map(({ text }) => text)).toEqual(['m1']);
});

test('a quiet number costs a commit every few minutes, not at each reading', async () => {
  const host = new TestHost();
  const quiet = reading([], host);
  for (let n = 0; n < 10; n += 1) await quiet.run();
  expect(host.batches).toHaveLength(1);
  const behind = hostAt(NOW - OVERLAP_MS, NOW - OVERLAP_MS);
  await reading([], behind).run();
  expect(parseCursor((await behind.cursor()) ?? '')).toEqual({ at: NOW, floor: NOW - OVERLAP_MS });
});

test('what was accepted already is not offered again', async () => {
  const host = hostAt(NOW - 60_000, 0);
  const all = [record(0, NOW - 30_000), record(1, NOW - 20_000)];
  await reading(all, host, new Set([all[0]?.sid ?? ''])).run();
  expect(host.offered.map(({ text }) => text)).toEqual(['m1']);
});

test('what was accepted is known for an hour, also where the clock was set back meanwhile', async () => {
  const [clock, logger] = [new JumpingClock(NOW), new MemoryLogger()];
  const { signal } = new AbortController();
  const intake = new Intake({ host: new TestHost(), clock, logger, random: () => 0, onTrouble: () => undefined, signal });
  const accept = (platformId: string) => intake.offer([inbound({ platformId, timestamp: clock.now() })]);
  clock.jump(24 * 3_600_000);
  await accept('tomorrow');
  clock.jump(-24 * 3_600_000);
  await accept('today');
  await clock.advance(50 * 60_000);
  await accept('later');
  expect(['tomorrow', 'today'].map((sid) => intake.accepted(sid))).toEqual([true, true]);
  await clock.advance(10 * 60_000);
  await accept('at last');
  expect(['tomorrow', 'today', 'later'].map((sid) => intake.accepted(sid))).toEqual([false, false, true]);
});

test('a cursor never goes back, begins on a whole second, and anything else is no cursor', () => {
  const first = firstCursor(NOW + 789);
  expect(first).toEqual({ at: NOW, floor: NOW });
  expect(since(first)).toBe(NOW);
  expect(advance(first, NOW - 5_000).at).toBe(NOW);
  expect(since(advance(first, NOW + 2 * OVERLAP_MS))).toBe(NOW + OVERLAP_MS);
  expect(parseCursor(JSON.stringify(first))).toEqual(first);
  for (const text of ['', '42', 'null', '{}', '{"at":1}', '{"at":"1","floor":1}', 'x']) expect(parseCursor(text)).toBeUndefined();
});
