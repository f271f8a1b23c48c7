import { expect, test } from 'vitest';
import { answer, busy, HOUR, restart, setup } from '../testing/delivery-setup.ts';
import { FakeClock } from '../testing/fakes.ts';
import { JumpingClock } from '../testing/jobs.ts';
import { ScriptedChannel } from '../testing/scripted-channel.ts';

const MINUTE = 60_000;

function forgetful(ready: { now: boolean } = { now: true }, maxAttempts = 8, clock = new FakeClock()) {
  const channel = new ScriptedChannel(clock, { sendClass: 'idem' });
  channel.idemWindowMs = 2 * MINUTE;
  return setup({ clock, channel, maxAttempts, ready: () => ready.now });
}

test('F37 within the window the same key is sent again', async () => {
  const at = forgetful();
  at.channel.script = (_part, call) => (call === 0 ? 'accept-then-hang' : undefined);
  await at.post(answer(1));
  await at.clock.advance(2 * MINUTE);
  expect(at.channel.calls).toHaveLength(2);
  expect(at.channel.shown).toHaveLength(1);
  expect(at.states()).toEqual(['SENT']);
});

test('F37 a part that may have arrived before the window is unknown, and those behind it go on', async () => {
  const ready = { now: true };
  const at = forgetful(ready);
  at.channel.script = (_part, call) => (call === 0 ? 'accept-then-hang' : undefined);
  await at.post(answer(2));
  await at.clock.advance(0);
  ready.now = false;
  await at.clock.advance(10 * MINUTE);
  expect(at.channel.calls).toHaveLength(1);
  ready.now = true;
  await at.clock.advance(MINUTE);
  expect(at.channel.calls.map((call) => call.text)).toEqual(['text 0', 'text 1']);
  expect(at.states()).toEqual(['UNKNOWN', 'SENT']);
});

test('a part that was proven not to arrive is sent however late', async () => {
  const ready = { now: true };
  const at = forgetful(ready);
  at.channel.script = (_part, call) => (call === 0 ? { kind: 'retry', reason: 'refused', scope: 'part' } : undefined);
  await at.post(answer(1));
  await at.clock.advance(0);
  ready.now = false;
  await at.clock.advance(10 * MINUTE);
  ready.now = true;
  await at.clock.advance(MINUTE);
  expect(at.states()).toEqual(['SENT']);
});

test.each([
  ['soon', 0, 'SENT', 2],
  ['late', 5 * MINUTE, 'UNKNOWN', 1],
] as const)('F8 a process that ended while sending and starts again %s: %s', async (_name, downMs, state, calls) => {
  const before = forgetful();
  before.channel.script = () => 'accept-then-hang';
  await before.post(answer(1));
  await before.clock.advance(0);
  await before.clock.advance(0);
  const { clock } = before;
  // Nothing of the old process runs any more; only time goes on.
  const dead = before.journal.crash();
  await clock.advance(downMs);
  const after = await restart({ ...before, journal: dead });
  await after.clock.advance(1_000);
  expect(after.states()).toEqual([state]);
  expect(after.channel.calls).toHaveLength(calls);
  expect(after.channel.shown).toHaveLength(1);
});

test('F8 F22 a process that ended while sending and starts again with a clock that is behind: unknown', async () => {
  const clock = new JumpingClock();
  const before = forgetful(undefined, undefined, clock);
  before.channel.script = () => 'accept-then-hang';
  await before.post(answer(1));
  await clock.advance(0);
  await clock.advance(0);
  const dead = before.journal.crash();
  await clock.advance(3 * HOUR);
  clock.jump(-4 * HOUR);
  const after = await restart({ ...before, journal: dead });
  await clock.advance(1_000);
  expect([after.states(), after.channel.calls.length]).toEqual([['UNKNOWN'], 1]);
});

test('F22 a doubt grows old also while the clock is behind that told its beginning', async () => {
  const ready = { now: true };
  const clock = new JumpingClock();
  const at = forgetful(ready, 200, clock);
  at.channel.script = (_part, call) =>
    call === 0 ? 'accept-then-hang' : { kind: 'retry', reason: '429', afterMs: 10_000, scope: 'part' };
  await at.post(answer(1));
  while (at.channel.calls.length < 2) await clock.advance(1_000);
  clock.jump(-8 * HOUR);
  ready.now = false;
  await clock.advance(3 * MINUTE);
  ready.now = true;
  await clock.advance(MINUTE);
  expect([at.states(), at.channel.calls.length]).toEqual([['UNKNOWN'], 2]);
});

test('parts that were proven not to have left are sent after a restart, however long the outage was', async () => {
  const at = forgetful({ now: true }, 200);
  at.channel.script = () => ({ kind: 'retry', reason: 'ECONNREFUSED', scope: 'part' });
  await at.post(answer(2));
  await at.clock.advance(10 * MINUTE);
  expect(at.journal.row('m-1#0')?.attempts).toBeGreaterThan(5);
  const after = await restart(at, { maxAttempts: 200 });
  await at.clock.advance(2 * MINUTE);
  expect(after.channel.shown.map(({ text }) => text)).toEqual(['text 0', 'text 1']);
  expect(after.states()).toEqual(['SENT', 'SENT']);
});

test('F8 a kill in an attempt after a long outage is a doubt since that attempt began, and not before', async () => {
  const at = forgetful({ now: true }, 200);
  at.channel.script = (_part, call) =>
    call < 10 ? { kind: 'retry', reason: 'ECONNREFUSED', scope: 'part' } : 'accept-then-hang';
  await at.post(answer(1));
  while (at.channel.calls.length < 11) await at.clock.advance(1_000);
  const after = await restart(at, { maxAttempts: 200 });
  await after.clock.advance(MINUTE);
  expect([after.states(), after.channel.calls.length, after.channel.shown.length]).toEqual([['SENT'], 12, 1]);
});

test('F37 a doubt is kept by later attempts that are proven not to have left, also over a restart', async () => {
  const at = forgetful({ now: true }, 200);
  at.channel.script = (_part, call) =>
    call === 0 ? 'accept-then-hang' : { kind: 'retry', reason: '429', afterMs: 30_000, scope: 'part' };
  await at.post(answer(1));
  await at.clock.advance(90_000);
  const calls = at.channel.calls.length;
  expect(calls).toBeGreaterThan(1);
  const dead = at.journal.crash();
  await at.clock.advance(2 * MINUTE);
  const after = await restart({ ...at, journal: dead }, { maxAttempts: 200 });
  await at.clock.advance(MINUTE);
  expect([after.states(), after.channel.calls.length]).toEqual([['UNKNOWN'], calls]);
});

test('at_least_once: a part that was proven not to have left is no repeat after a restart; one in doubt still is', async () => {
  const policy = { blind: 'at_least_once' } as const;
  const at = setup({ policy });
  at.channel.script = (part, call) => (part.chatId === 'a' ? busy(HOUR) : call < 2 ? 'accept-then-hang' : busy(HOUR));
  await at.post([...answer(1, { chatId: 'a', messageId: 'a' }), ...answer(1, { chatId: 'b', messageId: 'b' })]);
  await at.clock.advance(5 * MINUTE);
  const after = await restart(at, { policy });
  await at.clock.advance(HOUR);
  expect(after.channel.shown.map(({ text }) => text).sort()).toEqual(['(may be a repeat)\ntext 0', 'text 0', 'text 0']);
});
