import { expect, test } from 'vitest';
import { FakeClock, outbound } from '../testing/fakes.ts';
import { createBudget } from './budget.ts';

const rate = { perChat: { burst: 2, perSecond: 1 }, perAccount: { burst: 4, perSecond: 10 } };
const chat = (chatId: string) => outbound({ chatId });

test('a burst is free, then callers wait their turn in order', () => {
  const budget = createBudget(new FakeClock());
  expect([1, 2, 3, 4].map(() => budget.reserve(chat('a'), rate).waitMs)).toEqual([0, 0, 1_000, 2_000]);
});

test('all chats of an account share its budget', () => {
  const budget = createBudget(new FakeClock());
  expect(['a', 'b', 'c', 'd', 'e', 'f'].map((id) => budget.reserve(chat(id), rate).waitMs)).toEqual([0, 0, 0, 0, 100, 200]);
});

test('tokens come back with time, up to the burst', async () => {
  const clock = new FakeClock();
  const budget = createBudget(clock);
  for (let n = 0; n < 3; n += 1) budget.reserve(chat('a'), rate);
  await clock.advance(60_000);
  expect([1, 2, 3].map(() => budget.reserve(chat('a'), rate).waitMs)).toEqual([0, 0, 1_000]);
});

test('a token that was not used goes back once', () => {
  const budget = createBudget(new FakeClock());
  budget.reserve(chat('a'), rate);
  const second = budget.reserve(chat('a'), rate);
  second.release();
  second.release();
  expect(budget.reserve(chat('a'), rate).waitMs).toBe(0);
  expect(budget.reserve(chat('a'), rate).waitMs).toBe(1_000);
});

test('F35 a chat or an account that was told to be silent is, and nobody else', async () => {
  const clock = new FakeClock();
  const budget = createBudget(clock);
  budget.close('chat', chat('a'), 5_000);
  expect([budget.closedFor(chat('a')), budget.closedFor(chat('b'))]).toEqual([5_000, 0]);
  budget.close('chat', chat('a'), 1_000);
  expect(budget.closedFor(chat('a'))).toBe(5_000);
  budget.close('account', chat('a'), 2_000);
  expect(budget.closedFor(chat('b'))).toBe(2_000);
  expect(budget.closedFor(outbound({ account: 'other' }))).toBe(0);
  await clock.advance(5_000);
  expect(budget.closedFor(chat('a'))).toBe(0);
});

test('typing needs half of both buckets and takes nothing', () => {
  const budget = createBudget(new FakeClock());
  for (let n = 0; n < 10; n += 1) expect(budget.plentiful(chat('a'), rate)).toBe(true);
  budget.reserve(chat('a'), rate);
  expect(budget.plentiful(chat('a'), rate)).toBe(true);
  budget.reserve(chat('a'), rate);
  expect(budget.plentiful(chat('a'), rate)).toBe(false);
  expect(budget.plentiful(chat('b'), rate)).toBe(true);
  budget.reserve(chat('c'), rate);
  expect(budget.plentiful(chat('b'), rate)).toBe(false);
});

test('without a rate nothing waits', () => {
  const budget = createBudget(new FakeClock());
  for (let n = 0; n < 100; n += 1) expect(budget.reserve(chat('a'), undefined).waitMs).toBe(0);
});

test('a silence outlives a hundred thousand other chats', async () => {
  const clock = new FakeClock();
  const budget = createBudget(clock);
  budget.close('chat', chat('silent'), 3_600_000);
  for (let n = 0; n < 100_000; n += 1) {
    if (n % 1_000 === 0) await clock.advance(2_000);
    budget.reserve(chat(`c${n}`), { perChat: rate.perChat });
  }
  expect(budget.closedFor(chat('silent'))).toBeGreaterThan(3_000_000);
});

test('F35 a group has a rate of its own beside that of its chat; other chats do not', async () => {
  const clock = new FakeClock();
  const budget = createBudget(clock);
  const rates = { perChat: { burst: 3, perSecond: 1 }, perGroup: { burst: 4, perSecond: 0.25 } };
  const group = { ...chat('g'), isGroup: true };
  expect([1, 2, 3, 4, 5, 6].map(() => budget.reserve(group, rates).waitMs)).toEqual([0, 0, 0, 1_000, 4_000, 8_000]);
  expect([1, 2, 3, 4, 5, 6].map(() => budget.reserve(chat('d'), rates).waitMs)).toEqual([0, 0, 0, 1_000, 2_000, 3_000]);
  await clock.advance(10_000);
  expect([budget.plentiful(group, rates), budget.plentiful(chat('d'), rates)]).toEqual([false, true]);
});

test('edits of drafts have a rate of their own, which all chats of an account share', async () => {
  const clock = new FakeClock();
  const budget = createBudget(clock);
  const counted = { ...rate, edits: { burst: 2, perSecond: 0.5 } };
  expect(['a', 'b', 'c'].map((id) => budget.takeEdit(chat(id), counted))).toEqual([true, true, false]);
  expect(budget.takeEdit(chat('a'), rate)).toBe(true);
  await clock.advance(2_000);
  expect(['a', 'b'].map((id) => budget.takeEdit(chat(id), counted))).toEqual([true, false]);
});

test('a rate that the operator changes counts from the next send on, and one that was taken away no more', () => {
  const budget = createBudget(new FakeClock());
  const of = (perSecond: number) => ({ perAccount: { burst: 1, perSecond } });
  expect([1, 2].map(() => budget.reserve(chat('a'), of(1)).waitMs)).toEqual([0, 1_000]);
  expect(budget.reserve(chat('a'), of(100)).waitMs).toBe(20);
  expect(budget.reserve(chat('a'), undefined).waitMs).toBe(0);
  expect([1, 2].map(() => budget.reserve(chat('a'), of(1)).waitMs)).toEqual([0, 1_000]);
});
