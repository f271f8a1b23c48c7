import { expect, test } from 'vitest';
import type { RunEvent } from '../core/events.ts';
import { RecentHealth } from './recent-health.ts';

const failed = (at: number, kind = 'auth', detail = 'key sk-1 refused'): RunEvent => ({
  ...{ type: 'model.failed', at, model: 'openai/x', code: 'GH2101', kind, detail, ms: 1 },
});
const done = (at: number): RunEvent => ({
  ...{ type: 'model.done', at, model: 'openai/x', tokensIn: 1, tokensOut: 1, costUsd: null, ms: 1 },
});
const health = () => new RecentHealth((text) => text.replace('sk-1', '***'));

test('failed calls in a row are counted from the first one, until one is answered', () => {
  const one = health();
  expect(one.model()).toBeUndefined();
  for (const event of [failed(10), failed(20, 'aborted'), failed(30)]) one.observe(event);
  expect(one.model()).toMatchObject({ failedInARow: 2, since: 10, last: { code: 'GH2101', detail: 'key *** refused' } });
  one.observe(done(40));
  expect(one.model()).toEqual({ failedInARow: 0, lastAnswerAt: 40 });
  one.observe(failed(50));
  expect(one.model()).toMatchObject({ failedInARow: 1, since: 50, lastAnswerAt: 40 });
});

test('what waits for at least 5 s is known until its time is over, or until something went through', () => {
  const one = health();
  const retry = (channel: string, waitMs: number): RunEvent => ({
    ...{ type: 'part.retry', at: 1_000, channel, key: 'k', reason: '429', waitMs },
  });
  for (const event of [retry('telegram', 48_000), retry('slack', 4_999), retry('discord', 6_000)]) one.observe(event);
  one.observe({ type: 'model.waiting', at: 1_000, reason: 'rate limit', waitMs: 62_000 });
  const held = (now: number) => one.holds(now).map(({ what, until }) => [what, until]);
  expect(held(2_000)).toEqual([
    ['telegram', 49_000],
    ['discord', 7_000],
    ['model', 63_000],
  ]);
  expect(held(7_000)).toEqual([
    ['telegram', 49_000],
    ['model', 63_000],
  ]);
  one.observe({ type: 'part.sent', at: 8_000, channel: 'telegram', key: 'k', ms: 1 });
  one.observe(done(9_000));
  expect(held(9_000)).toEqual([]);
});
