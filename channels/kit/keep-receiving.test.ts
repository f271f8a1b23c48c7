import { expect, test } from 'vitest';
import { FakeClock, MemoryLogger } from '../../src/testing/fakes.ts';
import { degraded } from './diagnosis.ts';
import { keepReceiving } from './keep-receiving.ts';

test('each end is told with its diagnosis, and the next try waits as long as that asks for', async () => {
  const [clock, logger, stop] = [new FakeClock(), new MemoryLogger(), new AbortController()];
  const told: unknown[] = [];
  let runs = 0;
  let settled = 0;
  const receiving = keepReceiving({
    run: async () => {
      runs += 1;
      throw new Error('no route');
    },
    judge: (error) => degraded(`GH1502: ${(error as Error).message}`, 60_000),
    health: (...health) => told.push(health),
    event: 'x.failed',
    settled: () => {
      settled += 1;
    },
    ...{ clock, logger, random: () => 1, signal: stop.signal },
  });
  await clock.advance(30_000);
  expect([runs, settled, told]).toEqual([1, 1, [['degraded', 'GH1502: no route']]]);
  expect(logger.lines.map(({ event, data }) => [event, data['detail']])).toEqual([['x.failed', 'GH1502: no route']]);
  await clock.advance(40_000);
  expect(runs).toBe(2);
  stop.abort(new Error('stopped'));
  await receiving;
});
