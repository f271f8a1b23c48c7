import { expect, test } from 'vitest';
import { answer, HOUR, refused, restart, setup } from '../testing/delivery-setup.ts';
import { FakeClock } from '../testing/fakes.ts';
import { ScriptedChannel } from '../testing/scripted-channel.ts';

const MINUTE = 60_000;

test('F34 answers wait while the login is refused, whatever number of attempts that takes, and arrive when it is mended', async () => {
  const at = setup({ maxAttempts: 3 });
  at.channel.script = () => refused('auth');
  await at.post([...answer(2), ...answer(1, { messageId: 'm-2' })]);
  await at.clock.advance(2 * HOUR);
  expect(at.states()).toEqual(['PENDING', 'PENDING', 'PENDING']);
  expect(at.channel.calls.length).toBeGreaterThan(3);
  expect(at.journal.row('m-1#0')?.attempts).toBe(0);
  const after = await restart(at, { maxAttempts: 3 });
  await at.clock.advance(5 * MINUTE);
  expect(after.channel.shown.map(({ text }) => text)).toEqual(['text 0', 'text 1', 'text 0']);
});

test('F34 nobody else of the account tries for a minute, then more and more rarely, up to every five minutes', async () => {
  const { clock, channel, post } = setup();
  channel.script = () => refused('auth');
  const start = clock.monotonic();
  await post(answer(1, { chatId: 'a', messageId: 'a' }));
  await clock.advance(0);
  await post(answer(1, { chatId: 'b', messageId: 'b' }));
  await clock.advance(MINUTE - 1);
  expect(channel.calls.map(({ key }) => key)).toEqual(['a#0']);
  await clock.advance(HOUR);
  const tries = channel.calls.filter(({ key }) => key === 'a#0').map(({ at }) => (at - start) / MINUTE);
  expect(tries.slice(0, 6)).toEqual([0, 1, 2, 4, 8, 13]);
});

test('F34 an answer whose login is refused until it expires is a dead letter with its reason', async () => {
  const { clock, channel, journal, post, types } = setup();
  channel.script = (part) => (part.key === 'm-1#0' ? refused('auth') : undefined);
  await post(answer(1, {}, clock.now() + HOUR));
  await clock.advance(2 * HOUR);
  expect(journal.row('m-1#0')).toMatchObject({ state: 'DEAD', reason: 'auth: no' });
  expect(types()).toContain('part.dead');
  expect(channel.shown.map(({ text }) => text)).toEqual([expect.stringContaining('could not be delivered (GH1601)')]);
});

test('F34 an edit that the login is refused for is tried again, and is not sent as a second message', async () => {
  const clock = new FakeClock();
  const { channel, post } = setup({ clock, channel: new ScriptedChannel(clock, { edits: true }) });
  channel.editScript = (_part, call) => (call === 0 ? refused('auth') : undefined);
  await post([...answer(1), ...answer(1, { messageId: 'm-2', edits: 'm-1#0', text: 'corrected' })]);
  await clock.advance(5 * MINUTE);
  expect(channel.shown.map(({ text }) => text)).toEqual(['corrected']);
});
