import { expect, test } from 'vitest';
import type { InboundMessage } from '../core/message.ts';
import type { TurnResult } from '../core/run.ts';
import { answered, runOf, setup } from '../testing/delivery-setup.ts';
import { FakeClock, inbound } from '../testing/fakes.ts';
import { ScriptedChannel } from '../testing/scripted-channel.ts';
import type { SignEmoji } from './working-sign.ts';

const EYES: SignEmoji = { working: '👀', done: '', failed: '' };

interface Scene {
  readonly emoji?: SignEmoji;
  readonly message?: Partial<InboundMessage>;
  readonly generation?: number;
  readonly hasReacted?: boolean;
  /** Between the message and the attempt. */
  readonly queuedMs?: number;
}

/**
 * One attempt at a run on a channel with reactions; `put` is what stood under the message, one after the
 * other.
 */
async function scene({ emoji = EYES, message = {}, generation = 1, hasReacted = false, queuedMs = 0 }: Scene = {}) {
  const clock = new FakeClock();
  const channel = new ScriptedChannel(clock);
  const put: (string | undefined)[] = [];
  channel.react = async (_target, one) => void put.push(one);
  const at = setup({ clock, channel, reactions: { of: () => emoji, hasReacted: async () => hasReacted } });
  const row = runOf(
    inbound({ channel: channel.name, account: channel.account, timestamp: clock.now() - queuedMs, ...message }),
    generation,
  );
  const place = at.delivery.answer(row);
  await place.open();
  const reacts = (ok: boolean) =>
    place.observe({ type: 'tool.done', at: clock.now(), messageId: row.key, tool: 'react', callId: 'c', ok, ms: 1 });
  const end = async (result?: Partial<TurnResult>) => {
    if (result) await place.of({ ...answered([]), ...result });
    place.end();
    await clock.advance(0);
  };
  return { ...at, channel, put, place, reacts, end };
}

test('an answer that comes within three seconds has no sign before it', async () => {
  const at = await scene();
  await at.clock.advance(2_900);
  await at.end({});
  await at.clock.advance(60_000);
  expect(at.put).toEqual([]);
});

test('a turn that takes longer puts its sign under the message, and takes it away in the end', async () => {
  const at = await scene();
  await at.clock.advance(3_000);
  expect(at.put).toEqual(['👀']);
  await at.end({});
  expect(at.put).toEqual(['👀', undefined]);
});

test('the time that a message waited for its turn counts, and a turn of less than a second still has no sign', async () => {
  const at = await scene({ queuedMs: 10_000 });
  await at.clock.advance(900);
  expect(at.put).toEqual([]);
  await at.clock.advance(100);
  expect(at.put).toEqual(['👀']);
});

test.each([
  ['an answer', { outcome: 'answered' }, '✅'],
  ['a limit that was reached', { outcome: 'limit:iterations' }, '✅'],
  ['a failure', { outcome: 'failed:GH2103', state: 'DEAD' }, '❌'],
  ['a model that had nothing to say', { outcome: 'failed:GH2108' }, '❌'],
  ['a run that waits', { outcome: 'parked', state: 'PARKED' }, undefined],
  ['a stop', { outcome: 'cancelled' }, undefined],
  ['an attempt without a result', undefined, undefined],
] as const)('after %s its own sign stands, where one is configured', async (_name, result, last) => {
  const at = await scene({ emoji: { working: '👀', done: '✅', failed: '❌' } });
  await at.clock.advance(3_000);
  await at.end(result);
  expect(at.put).toEqual(['👀', last]);
});

test('a reaction that the agent chose is neither covered nor taken away', async () => {
  const early = await scene();
  early.reacts(true);
  await early.clock.advance(10_000);
  await early.end({});
  expect(early.put).toEqual([]);
  const late = await scene({ emoji: { working: '👀', done: '✅', failed: '' } });
  await late.clock.advance(3_000);
  late.reacts(true);
  await late.end({});
  expect(late.put).toEqual(['👀']);
});

test('a reaction that the platform refused to the agent does not count', async () => {
  const at = await scene();
  at.reacts(false);
  await at.clock.advance(3_000);
  await at.end({});
  expect(at.put).toEqual(['👀', undefined]);
});

test('what a killed process left is taken away by the attempt that ends the run, but not what the agent chose there', async () => {
  const left = await scene({ generation: 2 });
  await left.end({});
  expect(left.put).toEqual([undefined]);
  const chosen = await scene({ generation: 2, hasReacted: true });
  await chosen.clock.advance(10_000);
  await chosen.end({});
  expect(chosen.put).toEqual([]);
});

test.each([
  ['cancelled', { state: 'DONE', outcome: 'cancelled' }, undefined],
  ['given up', { state: 'DEAD', outcome: 'too old' }, '❌'],
] as const)(
  'the sign that a killed process left on a run that was %s goes once its channel is ready, once',
  async (_title, end, last) => {
    const at = await scene({ emoji: { working: '👀', done: '', failed: '❌' } });
    at.place.end();
    const row = runOf(inbound({ channel: at.channel.name, account: at.channel.account, timestamp: at.clock.now() }));
    await at.delivery.recover([], [], [{ row, ...end }]);
    await at.clock.advance(10_000);
    expect(at.put).toEqual([]);
    at.delivery.pokeChannel(at.channel.name);
    at.delivery.pokeChannel(at.channel.name);
    await at.clock.advance(10_000);
    expect(at.put).toEqual([last]);
  },
);

test('a reaction that the agent chose stays on a run that does not go on', async () => {
  const at = await scene({ hasReacted: true });
  at.place.end();
  const row = runOf(inbound({ channel: at.channel.name, account: at.channel.account }));
  await at.delivery.recover([], [], [{ row, state: 'DONE', outcome: 'cancelled' }]);
  at.delivery.pokeChannel(at.channel.name);
  await at.clock.advance(10_000);
  expect(at.put).toEqual([]);
});

test('an empty emoji puts no sign, and one for the end alone is put at the end', async () => {
  const none = await scene({ emoji: { working: '', done: '', failed: '' }, generation: 2 });
  await none.clock.advance(10_000);
  await none.end({});
  expect(none.put).toEqual([]);
  const last = await scene({ emoji: { working: '', done: '✅', failed: '' } });
  await last.end({});
  expect(last.put).toEqual(['✅']);
});

test('what was only overheard gets no sign', async () => {
  const at = await scene({ message: { overheard: true } });
  await at.clock.advance(10_000);
  expect(at.put).toEqual([]);
});

test('a chat whose rate limit is needed for answers gets no sign', async () => {
  const clock = new FakeClock();
  const channel = new ScriptedChannel(clock, { limits: { rate: { perChat: { burst: 2, perSecond: 0.001 } } } });
  const put: unknown[] = [];
  channel.react = async (_target, one) => void put.push(one);
  const at = setup({ clock, channel, reactions: { of: () => EYES, hasReacted: async () => false } });
  const message = inbound({ channel: channel.name, account: channel.account, timestamp: clock.now() });
  // A first message uses up what there is.
  await at.delivery.react(message, '👍', AbortSignal.timeout(5_000));
  await at.delivery.react(message, '👍', AbortSignal.timeout(5_000));
  at.delivery.answer(runOf(message));
  await clock.advance(10_000);
  expect(put).toEqual(['👍', '👍']);
});

test('a platform that knows no such reaction for the end does not keep the one for working', async () => {
  const at = await scene({ emoji: { working: '👀', done: '✅', failed: '' } });
  await at.clock.advance(3_000);
  at.channel.react = async (_target, one) => {
    if (one === '✅') throw new Error('REACTION_INVALID');
    at.put.push(one);
  };
  await at.end({});
  expect(at.put).toEqual(['👀', undefined]);
});

test('a platform that refuses signs, or never answers, holds up nothing', async () => {
  const at = await scene();
  at.channel.react = () => Promise.reject(new Error('no such reaction'));
  await at.clock.advance(3_000);
  await at.end({});
  const mute = await scene();
  mute.channel.react = () => new Promise(() => undefined);
  await mute.clock.advance(3_000);
  await mute.end({});
  const drained = mute.delivery.drain(0);
  await mute.clock.advance(30_000);
  await drained;
});
