import { expect, test } from 'vitest';
import type { Receipt } from '../../../src/core/channel.ts';
import { TestHost } from '../../../src/testing/channel-host.ts';
import { FakeClock, inbound, MemoryLogger } from '../../../src/testing/fakes.ts';
import { Intake } from './intake.ts';

function scene() {
  const [host, clock, stop] = [new TestHost(), new FakeClock(), new AbortController()];
  const faults: unknown[] = [];
  const gate = Promise.withResolvers<Receipt>();
  host.next.push(gate.promise);
  const intake = new Intake({
    host,
    clock,
    random: () => 1,
    signal: stop.signal,
    logger: new MemoryLogger(),
    onTrouble: (detail, state) => faults.push([state, detail]),
  });
  const take = (number: number) => intake.take(inbound({ platformId: `m-${number}` }));
  return { host, clock, stop, gate, faults, intake, take };
}

test('what waits is bounded, and a repeat of what waits takes no place of its own', async () => {
  const { host, gate, take } = scene();
  const waiting = Array.from({ length: 256 }, (_, number) => take(number));
  expect(waiting.includes(undefined)).toBe(false);
  expect(take(256)).toBeUndefined();
  expect(take(7)).toBe(waiting[7]);
  gate.resolve({ kind: 'accepted' });
  await Promise.all(waiting);
  expect(host.offered.map(({ platformId }) => platformId)).toEqual(Array.from({ length: 256 }, (_, number) => `m-${number}`));
  await take(256);
  expect(host.accepted).toHaveLength(257);
});

test('a journal that cannot write is told each time, and that it can again', async () => {
  const { clock, gate, faults, take } = scene();
  const taken = take(1);
  gate.reject(new Error('disk full'));
  await clock.advance(1_000);
  await taken;
  expect(faults).toEqual([
    ['down', 'messages cannot be stored, trying again: disk full'],
    ['healthy', undefined],
  ]);
});

test('a stop ends the wait of all with its reason, and what comes later is not offered', async () => {
  const { host, stop, gate, intake, take } = scene();
  const waiting = [take(1), take(2)];
  await Promise.resolve();
  const reason = new Error('stopped');
  stop.abort(reason);
  gate.resolve({ kind: 'busy', retryAfterMs: 60_000 });
  const ends = await Promise.allSettled(waiting);
  expect(ends).toEqual([
    { status: 'rejected', reason },
    { status: 'rejected', reason },
  ]);
  await intake.settled();
  await expect(take(3)).rejects.toBe(reason);
  expect(host.offered.map(({ platformId }) => platformId)).toEqual(['m-1']);
});
