import { expect, test } from 'vitest';
import type { Channel } from '../core/channel.ts';
import type { NewPart } from '../core/outbox.ts';
import { systemClock } from '../lib/clock.ts';
import { answer, busy, HOUR, on, restart, setup } from '../testing/delivery-setup.ts';
import { FakeClock, outbound } from '../testing/fakes.ts';
import { MemoryJournal } from '../testing/memory-journal.ts';
import { ScriptedChannel } from '../testing/scripted-channel.ts';
import { createDelivery } from './deliver.ts';

const unreachable = { kind: 'retry', reason: 'connection refused', scope: 'part' } as const;

test('an unreachable platform is tried with doubling waits up to a minute, then the part is DEAD', async () => {
  const { clock, channel, journal, post } = setup();
  channel.script = on('m-1#0', unreachable);
  await post(answer(2));
  const start = clock.monotonic();
  await clock.advance(HOUR);
  const waits = channel.calls.filter((call) => call.key === 'm-1#0').map((call) => call.at - start);
  // Half the ceiling plus half of it times the fixed random number 0.5: three quarters.
  expect(waits.map((at, index) => at - (waits[index - 1] ?? 0))).toEqual([0, 750, 1_500, 3_000, 6_000, 12_000, 24_000, 45_000]);
  expect(journal.row('m-1#0')).toMatchObject({
    state: 'DEAD',
    attempts: 8,
    reason: 'gave up after 8 attempts: connection refused',
  });
  expect(journal.row('m-1#1')?.state).toBe('SENT');
});

test('order is kept while the first part waits for its retry', async () => {
  const { clock, channel, post } = setup();
  channel.script = (_part, call) => (call < 3 ? unreachable : undefined);
  await post(answer(3));
  await clock.advance(60_000);
  expect(channel.shown.map((one) => one.text)).toEqual(['text 0', 'text 1', 'text 2']);
  expect(channel.calls.map((call) => call.key)).toEqual(['m-1#0', 'm-1#0', 'm-1#0', 'm-1#0', 'm-1#1', 'm-1#2']);
});

test('a part that the operator dropped while it waited is not sent', async () => {
  const { clock, channel, journal, post } = setup();
  channel.script = (_part, call) => (call === 0 ? busy(1_000) : undefined);
  await post(answer(2));
  await clock.advance(500);
  await journal.settle(1, { kind: 'dead', reason: 'dropped' });
  await clock.advance(5_000);
  expect(channel.shown.map((one) => one.key)).toEqual(['m-1#1']);
});

test('a part whose time is over is EXPIRED, at once or while it waits, and nothing is sent', async () => {
  const { clock, channel, post, states, types } = setup();
  const now = clock.now();
  channel.script = on('late#0', busy(HOUR));
  await post([...answer(1, { messageId: 'old' }, now - 1), ...answer(1, { messageId: 'late', chatId: 'b' }, now + 1_000)]);
  await clock.advance(1_001);
  expect(states()).toEqual(['EXPIRED', 'EXPIRED']);
  expect(channel.shown).toEqual([]);
  expect(types()).toEqual(['part.expired', 'part.retry', 'part.expired']);
});

test('parts of an absent channel wait, go out when it comes, and expire otherwise', async () => {
  const clock = new FakeClock();
  const channel = new ScriptedChannel(clock);
  const channels = new Map<string, Channel>();
  const { delivery, post, states } = setup({ clock, channel, channels });
  await post(answer(1, { messageId: 'a' }));
  await clock.advance(HOUR);
  expect(states()).toEqual(['PENDING']);
  channels.set('test', channel);
  delivery.pokeChannel('test');
  await clock.advance(0);
  expect(states()).toEqual(['SENT']);
  channels.clear();
  await post(answer(1, { messageId: 'b' }, clock.now() + HOUR));
  await clock.advance(HOUR);
  expect(states()).toEqual(['SENT', 'EXPIRED']);
});

test('lanes of a channel that is down are keys: they read nothing again until it is there, and then by and by', async () => {
  const clock = new FakeClock();
  const channel = new ScriptedChannel(clock);
  const channels = new Map<string, Channel>();
  const { delivery, journal, post } = setup({ clock, channel, channels });
  let reads = 0;
  const { pending } = journal;
  journal.pending = (lane, limit) => {
    reads += 1;
    return pending.call(journal, lane, limit);
  };
  await post(Array.from({ length: 1_000 }, (_, n) => answer(1, { chatId: `c${n}`, messageId: `c${n}` })).flat());
  await clock.advance(60_000);
  expect([reads, delivery.stats()]).toEqual([1_000, { lanes: 1_000, sending: 0 }]);
  for (const row of journal.rows.values()) delivery.poke(row.lane);
  await clock.advance(60_000);
  expect(reads).toBe(1_000);
  channel.script = () => 'hang';
  channels.set('test', channel);
  delivery.pokeChannel('test');
  await clock.advance(0);
  expect(reads).toBe(1_256);
  channel.script = () => undefined;
  await clock.advance(HOUR);
  expect([delivery.stats(), channel.shown.length]).toEqual([{ lanes: 0, sending: 0 }, 1_000 - 64]);
});

test('an answer is never sent with another account than the one that was asked', async () => {
  const { clock, channel, post, states } = setup();
  await post(answer(1, { account: 'former-bot' }));
  await clock.advance(HOUR);
  expect([channel.calls, states()]).toEqual([[], ['PENDING']]);
});

test('an interrupted part of a channel that is gone is UNKNOWN once it is too old', async () => {
  const before = setup();
  before.channel.script = () => 'hang';
  await before.post(answer(1));
  await before.clock.advance(0);
  const after = await restart(before, { channels: new Map() });
  await after.clock.advance(HOUR);
  expect(after.states()).toEqual(['SENDING']);
  await after.clock.advance(48 * HOUR);
  expect(after.states()).toEqual(['UNKNOWN']);
});

test('recovery settles later what the journal could not write at start', async () => {
  const before = setup({ sendClass: 'idem' });
  before.channel.script = () => 'accept-then-hang';
  await before.post(answer(2));
  await before.clock.advance(0);
  const journal = before.journal.crash();
  journal.failNext('settle', 4);
  before.channel.script = () => undefined;
  const after = setup({ clock: before.clock, channel: before.channel, journal });
  const { sending, outboxLanes } = await journal.recover();
  await after.delivery.recover(sending, outboxLanes);
  expect(after.states()).toEqual(['SENDING', 'PENDING']);
  await after.clock.advance(60_000);
  expect(after.channel.shown.map((one) => one.text)).toEqual(['text 0', 'text 1']);
});

test('a hundred chats that hang take all slots of their channel and delay no other', async () => {
  const clock = new FakeClock();
  const channel = new ScriptedChannel(clock);
  const other = new ScriptedChannel(clock, { name: 'other' });
  const { delivery, post, journal } = setup({
    clock,
    channel,
    channels: new Map([channel, other].map((one) => [one.name, one])),
  });
  channel.script = () => 'hang';
  const chats = Array.from({ length: 100 }, (_, n) => answer(1, { chatId: `c${n}`, messageId: `c${n}` })).flat();
  await post(chats);
  await post(answer(1, { channel: 'other', messageId: 'o' }));
  await clock.advance(0);
  expect(delivery.stats()).toEqual({ lanes: 100, sending: 64 });
  expect(other.shown).toHaveLength(1);
  await clock.advance(200_000);
  expect(channel.calls).toHaveLength(100);
  expect([...journal.rows.values()].filter((row) => row.state === 'UNKNOWN')).toHaveLength(100);
  expect(delivery.stats()).toEqual({ lanes: 0, sending: 0 });
});

test('drain finishes what can be sent in time, and leaves the rest PENDING', async () => {
  const clock = new FakeClock();
  const channel = new ScriptedChannel(clock, { limits: { rate: { perChat: { burst: 1, perSecond: 1 } } } });
  const { delivery, post, states } = setup({ clock, channel });
  await post(answer(10));
  const drained = delivery.drain(2_500);
  await clock.advance(2_500);
  await drained;
  expect(states()).toEqual(['SENT', 'SENT', 'SENT', ...Array(7).fill('PENDING')]);
  await post(answer(1, { messageId: 'after', chatId: 'b' }));
  await clock.advance(HOUR);
  expect(channel.calls).toHaveLength(3);
});

test('drain does not wait for a retry that lies beyond it', async () => {
  const { clock, channel, delivery, post, states } = setup();
  channel.script = () => busy(HOUR);
  await post(answer(1));
  await clock.advance(0);
  const start = clock.monotonic();
  const drained = delivery.drain(30_000);
  await clock.advance(0);
  await drained;
  expect([clock.monotonic() - start, states()]).toEqual([0, ['PENDING']]);
});

test('drain gives a send under way time to end, then settles it by its class', async () => {
  const { clock, channel, delivery, post, states } = setup();
  channel.script = on('m-1#0', 'hang');
  await post(answer(2));
  await clock.advance(0);
  const drained = delivery.drain(1_000);
  await clock.advance(5_999);
  expect(states()).toEqual(['SENDING', 'PENDING']);
  await clock.advance(2_000);
  await drained;
  expect(states()).toEqual(['UNKNOWN', 'PENDING']);
});

test('draining twice and disposing after it are safe', async () => {
  const { delivery } = setup();
  await Promise.all([delivery.drain(10), delivery.drain(10)]);
  await delivery[Symbol.asyncDispose]();
  expect(delivery.stats()).toEqual({ lanes: 0, sending: 0 });
});

test('typing shows after 300 ms and every 5 s until disposed', async () => {
  const { clock, channel, delivery } = setup();
  const start = clock.monotonic();
  const typing = delivery.typing(outbound());
  await clock.advance(12_000);
  typing[Symbol.dispose]();
  await clock.advance(60_000);
  expect(channel.typings.map((at) => at - start)).toEqual([300, 5_300, 10_300]);
});

test('typing that nobody disposed ends after ten minutes', async () => {
  const { clock, channel, delivery } = setup();
  delivery.typing(outbound());
  await clock.advance(HOUR);
  expect(channel.typings).toHaveLength(120);
});

test('typing yields to answers and to a platform that asked for silence', async () => {
  const clock = new FakeClock();
  const channel = new ScriptedChannel(clock, { limits: { rate: { perChat: { burst: 2, perSecond: 0.1 } } } });
  const { delivery, post } = setup({ clock, channel });
  const start = clock.monotonic();
  await post(answer(2));
  await clock.advance(0);
  using _typing = delivery.typing(outbound());
  await clock.advance(14_000);
  expect(channel.typings.map((at) => at - start)).toEqual([10_300]);
  expect(channel.calls.map((call) => call.at - start)).toEqual([0, 0]);
  channel.script = (_part, call) => (call === 2 ? busy(60_000, 'account') : undefined);
  await post(answer(1, { messageId: 'm-2' }));
  await clock.advance(50_000);
  expect(channel.typings).toHaveLength(1);
});

test('typing is shown once a channel that was absent is there', async () => {
  const channels = new Map<string, Channel>();
  const { clock, channel, delivery } = setup({ channels });
  using _typing = delivery.typing(outbound());
  await clock.advance(1_000);
  channels.set('test', channel);
  await clock.advance(5_000);
  expect(channel.typings).toHaveLength(1);
});

test('with real timers a thousand parts over a hundred chats are delivered and nothing stays open', async () => {
  const journal = new MemoryJournal(systemClock);
  const channel = new ScriptedChannel(systemClock);
  channel.script = (_part, call) => (call % 97 === 0 ? { kind: 'retry', reason: '429', afterMs: 1, scope: 'chat' } : undefined);
  await using delivery = createDelivery({
    journal,
    channels: new Map([['test', channel]]),
    clock: systemClock,
    random: Math.random,
    emit: () => undefined,
    maxAttempts: 8,
  });
  const parts: NewPart[] = Array.from({ length: 100 }, (_, n) =>
    answer(10, { chatId: `c${n}`, messageId: `c${n}` }, Date.now() + HOUR),
  ).flat();
  await journal.enqueue(parts);
  for (const lane of new Set(parts.map((part) => part.lane))) delivery.poke(lane);
  await delivery.idle();
  expect(channel.shown).toHaveLength(1_000);
  for (let n = 0; n < 100; n += 1) {
    const texts = channel.shown.filter((one) => one.chatId === `c${n}`).map((one) => one.text);
    expect(texts).toEqual(Array.from({ length: 10 }, (_, ordinal) => `text ${ordinal}`));
  }
});

test('a lane that waited for a slot sends neither over a channel that is held by then nor what has expired', async () => {
  const clock = new FakeClock();
  let isReady = true;
  const { channel, delivery, post, states } = setup({ clock, ready: () => isReady });
  channel.script = () => 'hang';
  const parts = Array.from({ length: 64 }, (_, n) => answer(1, { chatId: `c${n}`, messageId: `c${n}` })).flat();
  await post(parts);
  await clock.advance(1_000);
  await post([
    ...answer(1, { chatId: 'held', messageId: 'held' }),
    ...answer(1, { chatId: 'late', messageId: 'late' }, clock.now() + 30_000),
  ]);
  await clock.advance(1_000);
  isReady = false;
  const quiet = delivery.quiet('test').then(() => clock.monotonic());
  const start = clock.monotonic();
  await clock.advance(60_000);
  expect([channel.calls.length, states().slice(64)]).toEqual([64, ['PENDING', 'EXPIRED']]);
  expect((await quiet) - start).toBeLessThan(60_000);
  isReady = true;
  channel.script = () => undefined;
  delivery.pokeChannel('test');
  await clock.advance(0);
  expect(states().slice(64)).toEqual(['SENT', 'EXPIRED']);
});
