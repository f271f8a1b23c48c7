import { expect, it } from 'vitest';
import { SyncPace } from './sync-pace.ts';

function after(...ms: readonly number[]): SyncPace {
  const pace = new SyncPace();
  for (const each of ms) pace.besideLoop(each);
  return pace;
}

const times = (count: number, ms: number): number[] => Array.from({ length: count }, () => ms);

it('a disk is not waited for until 32 syncs were looked at, of which a quarter was quick', () => {
  expect(after().isQuick).toBe(false);
  expect(after(...times(31, 0.2)).isQuick).toBe(false);
  expect(after(...times(32, 0.2)).isQuick).toBe(true);
  expect(after(...times(24, 5), ...times(8, 0.2)).isQuick).toBe(true);
  expect(after(...times(25, 5), ...times(7, 0.2)).isQuick).toBe(false);
});

it('a slow disk is never waited for: earlier quick syncs count for nothing later', () => {
  expect(after(...times(7, 0.2), ...times(25, 30), ...times(7, 0.2), ...times(25, 30)).isQuick).toBe(false);
});

it('one slow sync in the loop, and the next 32 are beside it', () => {
  const pace = after(...times(32, 0.2));
  pace.inLoop(0.9);
  expect(pace.isQuick).toBe(true);
  pace.inLoop(30);
  expect(pace.isQuick).toBe(false);
  for (const ms of times(32, 0.2)) pace.besideLoop(ms);
  expect(pace.isQuick).toBe(true);
});

it('under load a quick disk stays quick until a sync takes a tenth of a second, and all are told of', () => {
  const pace = after(...times(32, 0.2));
  for (const ms of times(50, 20)) pace.underLoad(ms);
  expect([pace.isQuick, pace.typicalMs]).toEqual([true, 20]);
  pace.underLoad(100);
  expect(pace.isQuick).toBe(false);
});
