import { expect, test } from 'vitest';
import { answer, restart, setup } from '../testing/delivery-setup.ts';
import { FakeClock } from '../testing/fakes.ts';
import { ScriptedChannel } from '../testing/scripted-channel.ts';

const MINUTE = 60_000;

function forgetful(ready: { now: boolean } = { now: true }) {
  const clock = new FakeClock();
  const channel = new ScriptedChannel(clock, { sendClass: 'idem' });
  channel.idemWindowMs = 2 * MINUTE;
  return setup({ clock, channel, ready: () => ready.now });
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
