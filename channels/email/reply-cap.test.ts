import { expect, test } from 'vitest';
import { FakeClock, inbound } from '../../src/testing/fakes.ts';
import { ReplyCap } from './reply-cap.ts';

test('A5 a machine that hides that it is one is answered so often an hour, per thread and per sender', async () => {
  const clock = new FakeClock();
  const cap = new ReplyCap({ perThread: 2, perSender: 3, clock });
  const mail = (platformId: string, threadId: string, chatId = 'a@b.test') =>
    cap.admit(inbound({ chatId, threadId, platformId }));
  expect([mail('1', 't'), mail('2', 't'), mail('3', 't')]).toEqual([true, true, false]);
  expect([mail('4', 'u'), mail('5', 'v')]).toEqual([true, false]);
  expect(mail('6', 't', 'other@b.test')).toBe(true);
  await clock.advance(3_600_000);
  expect(mail('7', 't')).toBe(true);
});

test('the same mail fetched again counts once', () => {
  const cap = new ReplyCap({ perThread: 1, perSender: 1, clock: new FakeClock() });
  const mail = inbound({ threadId: 't' });
  expect([cap.admit(mail), cap.admit(mail)]).toEqual([true, true]);
});
