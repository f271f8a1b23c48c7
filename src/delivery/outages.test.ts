import { expect, test } from 'vitest';
import { partKey } from '../core/ids.ts';
import { answer, HOUR, refused, setup } from '../testing/delivery-setup.ts';
import { FakeClock } from '../testing/fakes.ts';
import { ScriptedChannel } from '../testing/scripted-channel.ts';

const REFUSED = { kind: 'retry', scope: 'part', reason: 'connection refused' } as const;
const MINUTE = 60_000;

const chats = (count: number) =>
  Array.from({ length: count }, (_, n) => answer(1, { chatId: `c${n}`, messageId: `c${n}` })).flat();

test('an outage is found out by a few sends, costs the others no attempt, and all arrive when it is over', async () => {
  const { clock, channel, post, states, delivery } = setup({ maxAttempts: 200 });
  channel.script = () => REFUSED;
  await post(chats(300));
  await clock.advance(10 * MINUTE);
  expect(channel.calls.length).toBeLessThan(100);
  expect(delivery.stats()).toEqual({ lanes: 300, sending: 0 });
  channel.script = () => undefined;
  await clock.advance(2 * MINUTE);
  expect(states().filter((state) => state !== 'SENT')).toEqual([]);
  expect(channel.shown).toHaveLength(300);
});

test('chats in which nothing can be sent hold up no other chat, as long as one of them is answered', async () => {
  const { clock, channel, post, states } = setup({ maxAttempts: 200 });
  channel.script = (part) => (part.chatId === 'c7' ? undefined : REFUSED);
  await post(chats(8));
  await clock.advance(0);
  expect(states().filter((state) => state === 'SENT')).toHaveLength(1);
  channel.script = (part) => (Number(part.chatId.slice(1)) < 7 ? REFUSED : undefined);
  for (let n = 8; n < 40; n += 1) {
    await post(answer(1, { chatId: `c${n}`, messageId: `c${n}` }));
    await clock.advance(1_000);
    expect(states()[n]).toBe('SENT');
  }
});

test('a part that waits for the end of an outage expires at its time', async () => {
  const { clock, channel, post, states } = setup({ maxAttempts: 200 });
  channel.script = () => REFUSED;
  const start = clock.now();
  await post(chats(20));
  await post(answer(1, { chatId: 'late', messageId: 'late' }, start + HOUR));
  await clock.advance(HOUR + 5_000);
  expect(states().filter((state) => state === 'EXPIRED')).toHaveLength(1);
});

/** Eight sends that fail, of parts that are gone before the next one is tried. */
async function beginOutage({ clock, channel, post }: ReturnType<typeof setup>): Promise<void> {
  channel.script = () => REFUSED;
  const parts = (n: number) => answer(1, { chatId: `x${n}`, messageId: `x${n}` }, clock.now() + 4_000);
  await post(Array.from({ length: 8 }, (_, n) => parts(n)).flat());
  await clock.advance(0);
  channel.script = () => undefined;
}

test('after an outage in the middle of answers all are finished, though each only changes a message', async () => {
  const clock = new FakeClock();
  const at = setup({ clock, channel: new ScriptedChannel(clock, { edits: true }), maxAttempts: 200 });
  await at.post(chats(40));
  await clock.advance(MINUTE);
  await beginOutage(at);
  const change = (n: number) => answer(1, { chatId: `c${n}`, messageId: `e${n}`, edits: partKey(`c${n}`, 0) });
  await at.post(Array.from({ length: 40 }, (_, n) => change(n)).flat());
  await clock.advance(20_000);
  expect(at.channel.edits).toHaveLength(40);
});

test('a part that needs no call does not take the place of the one that would find the platform back', async () => {
  const at = setup();
  await beginOutage(at);
  await at.post(answer(1, { chatId: 'old', messageId: 'old', edits: 'there-is-none' }));
  await at.clock.advance(10_000);
  await at.post(chats(2));
  await at.clock.advance(20_000);
  expect(at.channel.shown.map(({ chatId }) => chatId).toSorted()).toEqual(['c0', 'c1', 'old']);
});

test('a disk that is full when the platform is tried again does not make it wait longer', async () => {
  const at = setup();
  await beginOutage(at);
  await at.post(chats(2));
  at.journal.failNext('sending', 1);
  await at.clock.advance(20_000);
  expect(at.channel.shown.map(({ chatId }) => chatId).toSorted()).toEqual(['c0', 'c1']);
});

test('a platform that refuses the markup of a part is there', async () => {
  const at = setup();
  await beginOutage(at);
  at.channel.script = (part) => (part.chatId === 'c0' ? refused('markup') : undefined);
  await at.post(chats(3));
  await at.clock.advance(11_000);
  expect(at.channel.shown.map(({ chatId }) => chatId).toSorted()).toEqual(['c1', 'c2']);
});
