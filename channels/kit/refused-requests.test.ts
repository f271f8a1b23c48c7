import { expect, test } from 'vitest';
import { FakeClock, MemoryLogger } from '../../src/testing/fakes.ts';
import { RefusedRequests } from './refused-requests.ts';

test('a flood of refused requests is a line a minute, with how many there were', async () => {
  const [clock, logger] = [new FakeClock(), new MemoryLogger()];
  const refused = new RefusedRequests({ event: 'x.refused', clock, logger });
  refused.note('no signature');
  for (let n = 0; n < 10_000; n += 1) refused.note('wrong signature');
  await clock.advance(60_000);
  refused.note('no signature', { at: 'y' });
  expect(logger.lines).toMatchObject([
    { event: 'x.refused', data: { reason: 'no signature', count: 1 } },
    { event: 'x.refused', data: { reason: 'no signature', count: 10_001, at: 'y' } },
  ]);
});
