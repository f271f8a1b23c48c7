import { expect, test } from 'vitest';
import { laneKey } from '../core/ids.ts';
import { FakeClock, outbound, tempDir } from '../testing/fakes.ts';
import { admit, message, refuse } from '../testing/journal-rows.ts';
import { openJournal } from './open.ts';

test('of an answer that no attempt was made for the record says what is in its way', async () => {
  await using dir = await tempDir();
  const clock = new FakeClock();
  await using opened = await openJournal({ dir: dir.path, clock });
  const { journal } = opened;
  const keyOf = (n: number) => `test/bot/m-${n}`;
  const events = [1, 2, 3].map((n) => ({ type: 'received', at: clock.now(), messageId: keyOf(n), channel: 'test' }) as const);
  const parts = [1, 2, 3].map((n) => {
    const part = outbound({ key: `${keyOf(n)}#0`, messageId: keyOf(n), chatId: n === 3 ? 'c2' : 'c1' });
    return { part, lane: laneKey(part), expiresAt: clock.now() + 9_000 };
  });
  await journal.commit([
    ...events.map((event) => ({ kind: 'event', event }) as const),
    ...parts.map((part) => ({ kind: 'part', part }) as const),
  ]);
  const about = async (n: number) => (await journal.record.about(keyOf(n)))?.parts[0];
  expect(await about(2)).toMatchObject({ behind: { count: 1 } });
  expect(await about(3)).not.toHaveProperty('elsewhere');
  const [head] = await journal.pending(parts[0]?.lane ?? '', 1);
  await journal.settle(head?.seq ?? 0, { kind: 'retry', notBefore: clock.now() + 1_000, reason: 'connection refused' });
  expect(await about(1)).toMatchObject({ reason: 'connection refused' });
  expect(await about(2)).toMatchObject({ behind: { count: 1, reason: 'connection refused' } });
  expect(await about(3)).toMatchObject({ elsewhere: 'connection refused' });
});

test('a part that was not needed any more is no piece of the answer; one whose time was over is', async () => {
  await using dir = await tempDir();
  const clock = new FakeClock();
  await using opened = await openJournal({ dir: dir.path, clock });
  const { journal } = opened;
  const messageId = message(1).id;
  const parts = ['draft', '0'].map((place) => {
    const part = outbound({ key: `${messageId}#${place}`, messageId });
    return { part, lane: laneKey(part), expiresAt: clock.now() + 9_000 };
  });
  await journal.enqueue(parts);
  const [draft, first] = await journal.pending(parts[0]?.lane ?? '', 2);
  await journal.settle(draft?.seq ?? 0, { kind: 'expired' });
  await journal.settle(first?.seq ?? 0, { kind: 'expired', isOld: true });
  const about = await journal.record.about(messageId);
  expect(about?.parts.map(({ key, state }) => [key, state])).toEqual([[`${messageId}#0`, 'EXPIRED']]);
  const reasons = about?.events.map(({ event }) => event.type === 'part.expired' && event.reason);
  expect(reasons).toEqual(['not needed any more', 'too old to be sent']);
});

test('of the last message the record says how far it is, also while it waits or runs', async () => {
  await using dir = await tempDir();
  await using opened = await openJournal({ dir: dir.path, clock: new FakeClock() });
  const { journal } = opened;
  expect(await journal.record.about('last')).toBeUndefined();
  await journal.accept([admit(message(1)), admit(message(2))]);
  expect(await journal.record.about('last')).toMatchObject({ key: message(2).id, run: { state: 'NEW', ahead: 1 } });
  await journal.accept([refuse(message(3), 'not-mentioned')]);
  const refused = await journal.record.about('last');
  expect(refused?.key).toBe(message(3).id);
  expect(refused?.run).toBeUndefined();
});

test('the id of a chat with its channel names a run of that channel alone, refused messages as well', async () => {
  await using dir = await tempDir();
  await using opened = await openJournal({ dir: dir.path, clock: new FakeClock() });
  const { journal } = opened;
  const to = (channel: string, n: number) => message(n, { channel, chatId: '7' });
  await journal.accept([
    admit(to('slack', 1), laneKey(to('slack', 1))),
    admit(to('telegram', 2), laneKey(to('telegram', 2))),
    refuse({ ...to('discord', 3), chatId: '8' }, 'not-mentioned'),
  ]);
  const about = async (words: string) => (await journal.record.about(words))?.key;
  expect(await about('7')).toBe('telegram/bot/m-2');
  expect(await about('telegram:7')).toBe('telegram/bot/m-2');
  expect(await about('slack:7')).toBe('slack/bot/m-1');
  expect(await about('discord:7')).toBeUndefined();
  expect(await about('discord:8')).toBe('discord/bot/m-3');
  expect(await about('slack:8')).toBeUndefined();
});
