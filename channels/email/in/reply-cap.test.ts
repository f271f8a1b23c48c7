import { expect, test } from 'vitest';
import { FakeClock, inbound } from '../../../src/testing/fakes.ts';
import { JumpingClock } from '../../../src/testing/jobs.ts';
import { ReplyCap } from './reply-cap.ts';

const at =
  (clock: FakeClock, chatId = 'a@b.test') =>
  (platformId: string, threadId: string, timestamp = clock.now()) => ({
    ...{ chatId, platformId, threadId, timestamp },
  });

test('A5 a machine that hides that it is one is answered so often an hour, per thread and per sender', async () => {
  const clock = new FakeClock();
  const cap = new ReplyCap({ perThread: 2, perSender: 3, clock });
  const mail = at(clock);
  const exchange = (platformId: string, threadId: string) => {
    const admitted = cap.admit(mail(platformId, threadId));
    if (admitted) cap.answered(mail(platformId, threadId));
    return admitted;
  };
  // The first mail follows no answer.
  expect([exchange('1', 't'), exchange('2', 't'), exchange('3', 't'), exchange('4', 't')]).toEqual([true, true, true, false]);
  expect(exchange('5', 'u')).toBe(false);
  expect(cap.admit(at(clock, 'other@b.test')('6', 't'))).toBe(true);
  await clock.advance(3_600_000);
  expect(exchange('7', 't')).toBe(true);
});

test('a person who writes much in one thread is answered each time', async () => {
  const clock = new FakeClock();
  const cap = new ReplyCap({ perThread: 2, perSender: 60, clock });
  const mail = at(clock);
  for (let number = 0; number < 30; number += 1) {
    expect(cap.admit(mail(String(number), 't'))).toBe(true);
    cap.answered(mail('', 't'));
    await clock.advance(40_000);
  }
});

test('a mail that lay in the mailbox before the answer left is no answer to it', () => {
  const clock = new FakeClock();
  const cap = new ReplyCap({ perThread: 1, perSender: 60, clock });
  const mail = at(clock);
  cap.answered(mail('', 't'));
  for (const id of ['1', '2', '3']) expect(cap.admit(mail(id, 't', clock.now() - 600_000))).toBe(true);
});

test('what waited in the mailbox through an outage counts in the hour in which it came', () => {
  const clock = new FakeClock();
  const cap = new ReplyCap({ perThread: 2, perSender: 3, clock });
  const mail = at(clock);
  const received = Array.from({ length: 8 }, (_, n) => clock.now() - (8 - n) * 3_600_000);
  expect(received.map((timestamp, n) => cap.admit(mail(String(n), `t${n}`, timestamp)))).toEqual(received.map(() => true));
  const loop = ['a', 'b', 'c', 'd'].map((id, n) => cap.admit(mail(id, id, clock.now() + n * 1_000)));
  expect(loop).toEqual([true, true, true, false]);
});

test('mail of which the server tells no time counts in the hour in which it was fetched', async () => {
  const clock = new FakeClock();
  const cap = new ReplyCap({ perThread: 2, perSender: 3, clock });
  const mail = at(clock);
  for (let n = 0; n < 6; n += 1) {
    expect(cap.admit(mail(String(n), `t${n}`, 0))).toBe(true);
    await clock.advance(24 * 3_600_000);
  }
  const loop = ['a', 'b', 'c', 'd'].map((id) => cap.admit(mail(id, id, 0)));
  expect(loop).toEqual([true, true, true, false]);
});

test('F22 a clock that was ahead keeps no window open for longer than its hour', async () => {
  const clock = new JumpingClock();
  const cap = new ReplyCap({ perThread: 1, perSender: 60, clock });
  const mail = at(clock);
  clock.jump(8 * 3_600_000);
  cap.answered(mail('', 't'));
  expect(cap.admit(mail('1', 't'))).toBe(true);
  expect(cap.admit(mail('2', 't'))).toBe(false);
  clock.jump(-8 * 3_600_000);
  await clock.advance(3_600_000);
  cap.answered(mail('', 't'));
  expect(cap.admit(mail('3', 't'))).toBe(true);
});

test('the same mail fetched again counts once', () => {
  const cap = new ReplyCap({ perThread: 1, perSender: 1, clock: new FakeClock() });
  const mail = inbound({ threadId: 't' });
  expect([cap.admit(mail), cap.admit(mail)]).toEqual([true, true]);
});
