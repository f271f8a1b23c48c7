import { expect, test } from 'vitest';
import { TestHost } from '../../src/testing/channel-host.ts';
import { FakeClock, inbound } from '../../src/testing/fakes.ts';
import { offer } from './offer.ts';

function options(host: TestHost, clock: FakeClock, signal = new AbortController().signal) {
  const [waits, fulls]: [number[], number[]] = [[], []];
  return {
    host,
    clock,
    random: () => 1,
    signal,
    onRejected: (_: unknown, waitMs: number) => waits.push(waitMs),
    onFull: () => fulls.push(clock.now()),
    waits,
    fulls,
  };
}

test('a busy receipt is obeyed to the millisecond and the same batch is offered again', async () => {
  const [host, clock, batch] = [new TestHost(), new FakeClock(), [inbound()]];
  host.next.push({ kind: 'busy', retryAfterMs: 700 });
  const offered = offer(batch, '5', options(host, clock));
  await clock.advance(699);
  expect(host.batches).toHaveLength(1);
  await clock.advance(1);
  await offered;
  expect(host.batches.map(({ messages, cursor }) => [messages, cursor])).toEqual([
    [batch, '5'],
    [batch, '5'],
  ]);
});

test('a gateway without room is said to be full after five seconds, not for a busy moment', async () => {
  const [host, clock] = [new TestHost(), new FakeClock()];
  for (let index = 0; index < 8; index += 1) host.next.push({ kind: 'busy', retryAfterMs: 1_000 });
  const used = options(host, clock);
  const start = clock.now();
  const offered = offer([inbound()], undefined, used);
  await clock.advance(4_999);
  expect(used.fulls).toEqual([]);
  await clock.advance(3_001);
  await offered;
  expect(used.fulls.map((at) => at - start)).toEqual([5_000, 6_000, 7_000]);
});

test('rejections back off up to the cap, and nothing ends the attempts but success', async () => {
  const [host, clock] = [new TestHost(), new FakeClock()];
  for (let index = 0; index < 9; index += 1) host.next.push(new Error('disk full'));
  const used = options(host, clock);
  const offered = offer([inbound()], undefined, used);
  await clock.advance(600_000);
  await offered;
  expect(used.waits).toEqual([1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000, 60_000]);
  expect(host.accepted).toHaveLength(1);
});

test('an abort ends the wait with its reason', async () => {
  const [host, clock, abort] = [new TestHost(), new FakeClock(), new AbortController()];
  host.next.push({ kind: 'busy', retryAfterMs: 1_000 });
  const offered = offer([inbound()], undefined, options(host, clock, abort.signal));
  await clock.advance(1);
  const reason = new Error('stop');
  abort.abort(reason);
  await expect(offered).rejects.toBe(reason);
});
