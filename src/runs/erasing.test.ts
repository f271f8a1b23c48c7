import { expect, test } from 'vitest';
import type { SessionStore } from '../core/session.ts';
import { openJournal } from '../journal/open.ts';
import { Ticker } from '../schedule/ticker.ts';
import { MemoryLogger, tempDir, until } from '../testing/fakes.ts';
import { JumpingClock } from '../testing/jobs.ts';
import { admit, message } from '../testing/journal-rows.ts';
import { Erasing } from './erasing.ts';

/** Erasures that fail as soon as they have begun, on a ticker with nothing else that has a date. */
async function setup({ aheadMs = 0 } = {}) {
  const dir = await tempDir();
  const [clock, logger] = [new JumpingClock(Date.UTC(2026, 10, 29)), new MemoryLogger()];
  const opened = await openJournal({ dir: dir.path, clock, remains: () => ({ lines: [], tools: [] }) });
  const begun: string[] = [];
  const begin = async (senderId: string): Promise<void> => {
    await opened.journal.accept([admit(message(senderId, { senderId }))]);
    await opened.journal.commit([{ kind: 'erase', who: { channel: 'test', senderId }, by: 'cli' }]);
  };
  clock.jump(aheadMs);
  await begin('eve');
  clock.jump(-aheadMs);
  const failing = Promise.withResolvers<void>();
  const erasing = new Erasing({
    ...{ erasures: opened.people.erasures, store: {} as SessionStore, dataDir: dir.path, clock, logger },
    apart: (_session, work) => work(),
    forget: async ({ ids }) => {
      begun.push(ids.map(({ senderId }) => senderId).join());
      await failing.promise;
      throw new Error('the disk is full');
    },
  });
  const ticker = new Ticker({ sources: [erasing], clock, logger });
  ticker.start();
  const failed = () => logger.lines.filter(({ event }) => event === 'person.not-erased').length;
  return {
    ...{ clock, begun, begin, failed, ticker, fail: () => failing.resolve() },
    async [Symbol.asyncDispose]() {
      failing.resolve();
      for (const part of [ticker, erasing, opened, dir]) await part[Symbol.asyncDispose]();
    },
  };
}

test('an erasure that failed is tried again, also where nothing else has a date', async () => {
  await using at = await setup();
  await until('it is under way, and the ticker has looked once more', () => at.begun.length === 1 && at.clock.sleeping === 1);
  at.fail();
  await until('it fails', () => at.failed() === 1);
  await at.clock.advance(60_000);
  await until('it is tried again', () => at.failed() === 2);
  expect(at.begun).toEqual(['eve', 'eve']);
});

test('an erasure that was begun while another one was under way begins once that one is over', async () => {
  await using at = await setup();
  await until('the first is under way', () => at.begun.length === 1 && at.clock.sleeping === 1);
  await at.begin('bob');
  at.ticker.wake();
  await until('the ticker has looked once more', () => at.clock.sleeping === 1);
  at.fail();
  await until('it fails', () => at.failed() === 1);
  await at.clock.advance(60_000);
  await until('both are tried', () => at.failed() === 3);
  expect(at.begun.toSorted()).toEqual(['bob', 'eve', 'eve']);
});

test('an erasure that was begun by a clock that was ahead is finished now, and tried again a minute after it failed', async () => {
  await using at = await setup({ aheadMs: 20 * 24 * 3_600_000 });
  await until('it is under way', () => at.begun.length === 1 && at.clock.sleeping === 1);
  at.clock.jump(20 * 24 * 3_600_000);
  at.fail();
  await until('it fails', () => at.failed() === 1);
  at.clock.jump(-20 * 24 * 3_600_000);
  await at.clock.advance(60_000);
  await until('the ticker has looked once more', () => at.clock.sleeping === 1);
  await at.clock.advance(60_000);
  await until('it is tried again', () => at.failed() >= 2);
});
