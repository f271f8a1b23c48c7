import { expect, test } from 'vitest';
import { TestHost } from '../../src/testing/channel-host.ts';
import { FakeClock, inbound, MemoryLogger } from '../../src/testing/fakes.ts';
import { storeMessages } from './store-messages.ts';

test('F13 while nothing can be stored the operator is told, and again when it can; the batch is stored once', async () => {
  const [host, clock, logger] = [new TestHost(), new FakeClock(), new MemoryLogger()];
  const told: unknown[] = [];
  host.next.push(new Error('disk full'), new Error('disk full'));
  const { signal } = new AbortController();
  const onTrouble = (...words: unknown[]): void => void told.push(words);
  const stored = storeMessages([inbound()], '7', { host, clock, random: () => 1, logger, signal, onTrouble });
  await clock.advance(3_000);
  await stored;
  const detail = 'messages cannot be stored, trying again: disk full';
  expect(told).toEqual([
    [detail, 'down'],
    [detail, 'down'],
    [undefined, 'healthy'],
  ]);
  expect([host.accepted.length, await host.cursor()]).toEqual([1, '7']);
  expect(logger.lines.map(({ event, data }) => [event, data['waitMs']])).toEqual([
    ['channel.receive-failed', 1_000],
    ['channel.receive-failed', 2_000],
  ]);
});

test('while the journal has no room the channel is degraded, and healthy again when it has', async () => {
  const [host, clock, logger] = [new TestHost(), new FakeClock(), new MemoryLogger()];
  const told: unknown[] = [];
  for (let index = 0; index < 7; index += 1) host.next.push({ kind: 'busy', retryAfterMs: 1_000 });
  const { signal } = new AbortController();
  const onTrouble = (...words: unknown[]): void => void told.push(words);
  const stored = storeMessages([inbound()], undefined, { host, clock, random: () => 1, logger, signal, onTrouble });
  await clock.advance(7_000);
  await stored;
  const full = [expect.stringContaining('the journal is full'), 'degraded'];
  expect(told).toEqual([full, full, [undefined, 'healthy']]);
  expect(logger.lines.map(({ event }) => event)).toEqual(['channel.journal-full']);
});

test('a batch that is stored at once is no news', async () => {
  const host = new TestHost();
  const onTrouble = (): never => {
    throw new Error('nothing was wrong');
  };
  const { signal } = new AbortController();
  const logger = new MemoryLogger();
  await storeMessages([inbound()], undefined, { host, clock: new FakeClock(), random: Math.random, logger, signal, onTrouble });
  expect(logger.lines).toEqual([]);
});
