// Ten slow threads of one person beside quick traffic, on virtual time: what the others wait for a permit.
import { expect, test } from 'vitest';
import { TurnPermits, turnsOfPerson } from './turn-permits.ts';

const TICK_MS = 10;
const TURN_MS = 200;
const SLOW_MS = 30_000;
/** Each channel: one message in this time, of twenty people in turn. */
const GAP_MS = 500;
const RUN_MS = 60_000;

/** From asking to the end of the turn, of everyone but the slow person. The 95th percentile, in ms. */
async function p95(channels: number, slow: number, ofPerson?: number): Promise<number> {
  let now = 0;
  const ends: { readonly at: number; readonly end: () => void }[] = [];
  const clock = { monotonic: () => now, sleep: () => new Promise<void>(() => undefined) };
  const permits = new TurnPermits({ total: 10, channels, ofPerson, clock });
  const turn = (ms: number) => () => new Promise<void>((end) => void ends.push({ at: now + ms, end }));
  for (let n = 0; n < slow; n += 1) void permits.run({ channel: 'c0', senderId: 'slow', role: 'member' }, turn(SLOW_MS));
  const took: number[] = [];
  let count = 0;
  for (; now < RUN_MS; now += TICK_MS) {
    for (let c = 0; c < channels; c += 1) {
      const isDue = now >= c * 50 && (now - c * 50) % GAP_MS === 0;
      if (!isDue) continue;
      const asked = now;
      count += 1;
      const of = { channel: `c${c}`, senderId: `p${count % 20}`, role: 'member' } as const;
      void permits.run(of, turn(TURN_MS)).then(() => took.push(now - asked));
    }
    await new Promise((resolve) => setImmediate(resolve));
    for (const due of ends.filter(({ at }) => at <= now)) {
      ends.splice(ends.indexOf(due), 1);
      due.end();
    }
    await new Promise((resolve) => setImmediate(resolve));
  }
  return took.toSorted((a, b) => a - b)[Math.ceil(took.length * 0.95) - 1] ?? Number.NaN;
}

test.each([1, 2, 3, 4, 5, 6, 7, 8, 9])('on %i channels no other person notices ten slow threads of one', async (channels) => {
  expect((await p95(channels, 10)) / (await p95(channels, 0))).toBeLessThanOrEqual(1.2);
});

test('without the limit they do', async () => {
  for (const channels of [2, 3, 5, 9]) expect((await p95(channels, 10, 10)) / (await p95(channels, 0))).toBeGreaterThan(10);
});

test('a person has a third of the permits, and fewer where many channels share them', () => {
  const most = [1, 2, 3, 4, 5, 6, 7, 8, 9].map((channels) => turnsOfPerson({ total: 10, channels }));
  expect(most).toEqual([3, 3, 3, 3, 1, 2, 2, 2, 1]);
  expect([1, 2, 3, 30].map((total) => turnsOfPerson({ total, channels: 1 }))).toEqual([1, 1, 1, 10]);
});
