import { expect, test } from 'vitest';
import { answer, HOUR, setup } from '../testing/delivery-setup.ts';

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
