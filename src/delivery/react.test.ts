import { expect, test } from 'vitest';
import type { InboundMessage } from '../core/message.ts';
import { FakeClock, inbound } from '../testing/fakes.ts';
import { TestChannel } from '../testing/test-channel.ts';
import { createBudget } from './budget.ts';
import { putReaction } from './react.ts';

function scene(channel = new TestChannel('test', { rate: { perChat: { burst: 1, perSecond: 0.5 } } }).withReactions()) {
  const clock = new FakeClock();
  const budget = createBudget(clock);
  const abort = new AbortController();
  const put = (message: Partial<InboundMessage> = {}, emoji = '👍') =>
    putReaction(inbound(message), emoji, { channel, budget, clock, signal: abort.signal });
  return { channel, clock, budget, abort, put };
}

test('a reaction goes under the message itself, and under the corrected one when that is what is answered', async () => {
  const at = scene(new TestChannel('test').withReactions());
  await at.put({ platformId: 'm1' });
  await at.put({ platformId: 'm1-edit', kind: 'edit', targetId: 'm1' });
  expect(at.channel.reactions.map(({ platformId }) => platformId)).toEqual(['m1', 'm1']);
});

test('a reaction is put with what an answer to its message needs', async () => {
  const at = scene(new TestChannel('test').withReactions());
  const places: unknown[] = [];
  at.channel.react = async ({ replyContext }) => void places.push(replyContext);
  await at.put({ replyContext: { jid: 'as it came' } });
  expect(places).toEqual([{ jid: 'as it came' }]);
});

test('reactions wait for the chat’s rate limit, and are refused where answers would have to wait for them', async () => {
  const at = scene();
  await at.put();
  const second = at.put();
  const third = at.put();
  await expect(at.put()).rejects.toThrow('the rate limit of this chat is needed for answers');
  expect(at.channel.reactions).toHaveLength(1);
  await at.clock.advance(2_000);
  await second;
  expect(at.channel.reactions).toHaveLength(2);
  await at.clock.advance(2_000);
  await third;
  // What was refused took nothing from the answers.
  expect(at.budget.reserve(inbound(), at.channel.limits.rate).waitMs).toBe(2_000);
});

test('a chat that the platform wants silent gets no reaction', async () => {
  const at = scene();
  at.budget.close('chat', inbound(), 60_000);
  await expect(at.put()).rejects.toThrow('rate limit');
  expect(at.channel.reactions).toEqual([]);
});

test('a platform that does not answer costs the turn 11 s at most, and a stopped turn ends it at once', async () => {
  const at = scene();
  let signal: AbortSignal | undefined;
  at.channel.react = (_target, _emoji, limit) => {
    signal = limit;
    return new Promise(() => undefined);
  };
  const late = expect(at.put()).rejects.toThrow('did not answer in time');
  await at.clock.advance(10_000);
  expect(signal?.aborted).toBe(true);
  await at.clock.advance(1_000);
  await late;
  await at.clock.advance(60_000);
  const called = Promise.withResolvers<void>();
  at.channel.react = (_target, _emoji, limit) =>
    new Promise((_resolve, reject) => {
      limit.addEventListener('abort', () => reject(limit.reason));
      called.resolve();
    });
  const stopped = expect(at.put()).rejects.toThrow('stopped by the person');
  await called.promise;
  at.abort.abort(new Error('stopped by the person'));
  await stopped;
});

test('without a channel that can send, the reason says so', async () => {
  const at = scene(new TestChannel('test'));
  await expect(at.put()).rejects.toThrow('the channel is not connected, or has no reactions');
});
