import { expect, test } from 'vitest';
import type { Profile } from '../core/new-run.ts';
import { FakeClock } from '../testing/fakes.ts';
import { Suspects } from './suspects.ts';

/** After a crash at which these were under way. Turns end when they are told to. */
function setUp() {
  const clock = new FakeClock();
  const suspects = new Suspects(clock);
  const running: number[] = [];
  const ends = new Map<number, () => void>();
  const begin = (seq: number, profile: Profile, attempts: number): void => {
    const turn = (): Promise<void> => {
      running.push(seq);
      return new Promise((resolve) => ends.set(seq, resolve));
    };
    void suspects.run({ profile, attempts }, turn);
  };
  const task = (seq: number): void => begin(seq, 'task', 1);
  return { clock, running, begin, task, end: (seq: number) => ends.get(seq)?.() };
}

test('tasks share five minutes, one after the other, and each has ten seconds at least', async () => {
  const at = setUp();
  for (let seq = 1; seq <= 20; seq += 1) at.task(seq);
  await at.clock.advance(14_999);
  expect(at.running).toEqual([1]);
  await at.clock.advance(1);
  expect(at.running).toEqual([1, 2]);
  await at.clock.advance(270_000);
  expect(at.running).toHaveLength(20);
  const many = setUp();
  for (let seq = 1; seq <= 60; seq += 1) many.task(seq);
  await many.clock.advance(9_999);
  expect(many.running).toEqual([1]);
  await many.clock.advance(1);
  expect(many.running).toEqual([1, 2]);
});

test('a task that ends or parks makes room at once', async () => {
  const at = setUp();
  for (const seq of [1, 2, 3]) at.task(seq);
  await at.clock.advance(0);
  expect(at.running).toEqual([1]);
  at.end(1);
  await at.clock.advance(0);
  expect(at.running).toEqual([1, 2]);
});

test('a conversation waits for none but the task that runs, and for that ten seconds at most', async () => {
  const at = setUp();
  at.task(1);
  at.task(2);
  at.begin(3, 'session', 1);
  await at.clock.advance(0);
  expect(at.running).toEqual([3, 1]);
  at.begin(4, 'session', 2);
  await at.clock.advance(10_000);
  expect(at.running).toEqual([3, 1, 4]);
  await at.clock.advance(600_000);
  expect(at.running).toEqual([3, 1, 4]);
  at.end(4);
  await at.clock.advance(0);
  expect(at.running).toEqual([3, 1, 4, 2]);
});
