import { expect, test } from 'vitest';
import type { Words } from '../core/messages.ts';
import { openJournal } from '../journal/open.ts';
import { runOf } from '../testing/delivery-setup.ts';
import { FakeClock, tempDir } from '../testing/fakes.ts';
import { admit, message } from '../testing/journal-rows.ts';
import { TestChannel } from '../testing/test-channel.ts';
import { DailyCap } from './daily-cap.ts';
import { type MessagesOptions, RunMessages } from './messages.ts';

const HOME = { channel: 'test', account: 'bot', chatId: 'ada' };
const TO_BEN: Words = { chat: { chatId: 'chat-1' }, text: 'hi', choices: [] };
const { signal } = new AbortController();

/** A run of Ada's and a journal on disk, in whose chat `chat-1` user-1 has written. */
async function setup(override: Partial<MessagesOptions> = {}) {
  const dir = await tempDir();
  const clock = new FakeClock();
  const { journal } = await openJournal({ dir: dir.path, clock });
  await journal.accept([admit(message(1))]);
  const enqueued: string[] = [];
  const options: MessagesOptions = {
    ...{ journal, clock, cap: new DailyCap(journal, clock), channel: () => new TestChannel('test') },
    rules: () => ({ isLocal: false, allowedGroups: [] }),
    mayWrite: async ({ senderId }) => senderId === 'user-1',
    isGuest: async () => false,
    isReserved: () => false,
    ...{ channelNames: () => ['test'], linked: (id) => [id], linkedAs: () => [], onLine: () => undefined },
    onParts: (parts) => void enqueued.push(...parts.map(({ part }) => part.key)),
    expiresInMs: () => 60_000,
    ...override,
  };
  const run = runOf(message(2, { chatId: 'ada', senderName: 'Ada' }));
  return {
    enqueued,
    journal,
    of: (more: Partial<MessagesOptions> = {}) => new RunMessages(run, HOME, { ...options, ...more }),
    homeless: () => new RunMessages(run, undefined, options),
    async [Symbol.asyncDispose]() {
      await journal[Symbol.asyncDispose]();
      await dir[Symbol.asyncDispose]();
    },
  };
}

test('F7 a second attempt at the same call writes nothing, also when its reader is shut out by now or the platform takes less', async () => {
  await using at = await setup();
  const written = { kind: 'written', title: 'User One (test, chat-1)' };
  expect(await at.of().write({ ...TO_BEN, text: 'x '.repeat(500) }, 'k', signal)).toEqual(written);
  const again = { mayWrite: async () => false, channel: () => new TestChannel('test', { text: 100 }) };
  expect(await at.of(again).write({ ...TO_BEN, text: 'x '.repeat(500) }, 'k', signal)).toEqual(written);
  // The name of a guest is a stranger's words, also when they are read a second time.
  const told = { kind: 'written', title: 'chat-1 (test)' };
  expect(await at.of({ isGuest: async () => true }).write(TO_BEN, 'k', signal)).toEqual(told);
  expect(at.enqueued).toEqual(['#to/k#0']);
  expect(await at.of(again).write(TO_BEN, 'other', signal)).toMatchObject({ kind: 'refused' });
});

test('a call that was stopped writes nothing', async () => {
  await using at = await setup();
  await expect(at.of().write(TO_BEN, 'k', AbortSignal.abort(new Error('stopped')))).rejects.toThrow('stopped');
  expect(at.enqueued).toEqual([]);
});

test('ten calls at once do not take the last place of a day twice', async () => {
  await using at = await setup();
  for (let n = 0; n < 19; n += 1) await at.of().write(TO_BEN, `${n}`, signal);
  const many = await Promise.all(Array.from({ length: 10 }, (_, n) => at.of().write(TO_BEN, `at once ${n}`, signal)));
  expect(many.filter(({ kind }) => kind === 'written')).toHaveLength(1);
});

test("words to the own chat do not take the place of the answer, count for no person, and are the run's", async () => {
  await using at = await setup();
  for (let n = 0; n < 25; n += 1)
    expect(await at.of().write({ ...TO_BEN, chat: {} }, `${n}`, signal)).toEqual({ kind: 'written', title: 'this chat' });
  const row = await at.journal.part('#to/0#0');
  expect(row?.part).toMatchObject({ ...HOME, ordinal: 1, count: 2, messageId: message(2).id });
  expect(row?.part).not.toHaveProperty('sentFor');
});

test('a run without a chat writes to a chat that is named, and tells no chat when that fails', async () => {
  await using at = await setup();
  const homeless = at.homeless();
  expect(homeless.isHome({})).toBe(false);
  expect(await homeless.write({ ...TO_BEN, chat: {} }, 'a', signal)).toEqual({
    kind: 'refused',
    reason: 'name the channel and the chat',
  });
  expect(await homeless.write({ ...TO_BEN, chat: { channel: 'test', chatId: 'chat-1' } }, 'b', signal)).toMatchObject({
    kind: 'written',
  });
  expect((await at.journal.part('#to/b#0'))?.part.sentFor).toEqual({
    readers: ['test:user-1'],
    title: 'User One (test, chat-1)',
  });
});
