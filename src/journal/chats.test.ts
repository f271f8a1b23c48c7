import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Journal } from '../core/journal.ts';
import { FakeClock, tempDir } from '../testing/fakes.ts';
import { admit, begin, done, LANE, message, part, refuse, SESSION } from '../testing/journal-rows.ts';
import { Database } from './database.ts';
import { openJournal } from './open.ts';

const KEY = LANE;
const WHERE = { channel: 'test', account: 'bot', chatId: 'chat-1' };
const TEN_MINUTES_MS = 600_000;

async function scene() {
  const dir = await tempDir();
  const clock = new FakeClock();
  const { journal } = await openJournal({ dir: dir.path, clock });
  return {
    ...{ clock, journal, start: clock.now() },
    async [Symbol.asyncDispose]() {
      await journal[Symbol.asyncDispose]();
      await dir[Symbol.asyncDispose]();
    },
  };
}

async function send(journal: Journal, key: string): Promise<void> {
  await journal.enqueue([part(key)]);
  const row = (await journal.pending(LANE, 9)).find((one) => one.part.key === key);
  await journal.sending(row?.seq ?? 0);
  await journal.settle(row?.seq ?? 0, { kind: 'sent', platformId: key });
}

test('a chat is known from its first message on, by its address, and by the name of whom it is with', async () => {
  await using at = await scene();
  const { journal, start } = at;
  expect(await journal.chats.of(KEY)).toBeUndefined();
  await journal.accept([admit(message(1, { threadId: 't', replyContext: { subject: 'secret' } }))]);
  expect(await journal.chats.of(KEY)).toEqual({
    address: WHERE,
    principal: 'test:user-1',
    title: 'User One',
    settings: {},
    lastIn: start,
  });
});

test('a group is one, and has no name of a person', async () => {
  await using at = await scene();
  await at.journal.accept([admit(message(1, { isGroup: true }))]);
  expect(await at.journal.chats.of(KEY)).toEqual({
    ...{ address: { ...WHERE, isGroup: true }, settings: {}, lastIn: at.start },
  });
});

test('times are those of the newest message in and out, to ten minutes; a name is always the newest', async () => {
  await using at = await scene();
  const { journal, clock, start } = at;
  await journal.accept([admit(message(1))]);
  await send(journal, 'a');
  await clock.advance(TEN_MINUTES_MS - 1);
  await journal.accept([admit(message(2))]);
  await send(journal, 'b');
  expect(await journal.chats.of(KEY)).toMatchObject({ lastIn: start, lastOut: start });
  await clock.advance(1);
  await journal.accept([admit(message(3))]);
  await send(journal, 'c');
  expect(await journal.chats.of(KEY)).toMatchObject({ lastIn: start + TEN_MINUTES_MS, lastOut: start + TEN_MINUTES_MS });
  await journal.accept([admit(message(4, { senderName: 'User 1' }))]);
  expect((await journal.chats.of(KEY))?.title).toBe('User 1');
});

test('what is refused, repeated, or of a stranger leaves no chat, and what is sent to it neither', async () => {
  await using at = await scene();
  const { journal } = at;
  const stranger = { kind: 'answer', lane: LANE, session: SESSION, outcome: 'pairing', parts: [], isStranger: true } as const;
  await journal.accept([refuse(message(1), 'not-allowed'), { ...stranger, message: message(2, { text: '' }) }]);
  await send(journal, 'code');
  expect(await journal.chats.of(KEY)).toBeUndefined();
});

test('what is answered at once, and what changes a message that waits, is of a chat too', async () => {
  await using at = await scene();
  const { journal, clock, start } = at;
  const answer = { kind: 'answer', message: message(1), lane: LANE, session: SESSION, outcome: 'help', parts: [] } as const;
  await journal.accept([answer]);
  expect(await journal.chats.of(KEY)).toMatchObject({ lastIn: start });
  await journal.accept([admit(message(2))]);
  await clock.advance(TEN_MINUTES_MS);
  const [edited] = await journal.accept([admit(message('2b', { kind: 'edit', targetId: 'm-2' }))]);
  expect(edited).toMatchObject({ kind: 'amended' });
  expect(await journal.chats.of(KEY)).toMatchObject({ lastIn: start + TEN_MINUTES_MS });
});

test('choices of a chat stay through messages, change one by one, and are taken back by null alone', async () => {
  await using at = await scene();
  const { journal } = at;
  const choose = (settings: object) => journal.commit([{ kind: 'chat', chat: WHERE, settings }]);
  const chosen = async () => (await journal.chats.of(KEY))?.settings;
  await choose({ thinking: 'high' });
  expect(await journal.chats.of(KEY)).toEqual({ address: WHERE, settings: { thinking: 'high' } });
  await choose({ model: 'fast' });
  await choose({ model: 'fast' });
  await journal.accept([admit(message(1))]);
  expect(await chosen()).toEqual({ thinking: 'high', model: 'fast' });
  await choose({ model: null });
  expect(await chosen()).toEqual({ thinking: 'high', model: null });
});

test('choices that a run makes are lost with its claim', async () => {
  await using at = await scene();
  const { journal } = at;
  const { seq, generation } = await begin(journal, 1);
  const write = { kind: 'chat', chat: WHERE, settings: { model: 'fast' } } as const;
  expect(await journal.commit([write], { seq, generation: generation + 1 })).toBe(false);
  expect((await journal.chats.of(KEY))?.settings).toEqual({});
  expect(await journal.commit([write], { seq, generation })).toBe(true);
  expect((await journal.chats.of(KEY))?.settings).toEqual({ model: 'fast' });
});

test('the private chats of a person are found among thousands, the one used last first', async () => {
  await using at = await scene();
  const { journal, clock } = at;
  const others = Array.from({ length: 2_500 }, (_, n) => message(n, { chatId: `c${n}`, senderId: `u${n}` }));
  const ada = (n: string, more: object) => message(n, { senderId: 'ada', senderName: 'Ada', ...more });
  await journal.accept(
    [
      ...others,
      ada('group', { chatId: 'team', isGroup: true }),
      ada('old', { chatId: 'z9' }),
      // The same id on another channel is another person, whose name begins alike, too.
      ada('other', { channel: 'test0', chatId: 'a' }),
      message('alike', { chatId: 'b', senderId: 'ada2' }),
    ].map((one) => admit(one)),
  );
  await clock.advance(TEN_MINUTES_MS);
  await journal.accept([admit(ada('new', { chatId: 'a1' }))]);
  expect((await journal.chats.find('test:ada')).map(({ address }) => address.chatId)).toEqual(['a1', 'z9']);
  expect((await journal.chats.find('test0:ada')).map(({ address }) => address.chatId)).toEqual(['a']);
  expect(await journal.chats.find('test:nobody')).toEqual([]);
});

test('a chat outlives its messages', async () => {
  await using dir = await tempDir();
  const clock = new FakeClock();
  await using opened = await openJournal({ dir: dir.path, clock });
  const { journal } = opened;
  const row = await begin(journal, 1);
  await journal.finish(done(row));
  await clock.advance(8 * 86_400_000);
  await opened.prune();
  expect((await journal.counts()).inbox.DONE).toBe(1);
  expect((await journal.chats.of(KEY))?.address).toEqual(WHERE);
});

/** Two accounts wrote on `test`, `z-bot` before `a-bot`, before versions noted a channel's first account. */
async function withoutFirstAccount(dir: string, clock: FakeClock): Promise<void> {
  {
    await using opened = await openJournal({ dir, clock });
    await opened.journal.accept([admit(message(1, { channel: 'test0', account: 'elder' }))]);
    await clock.advance(TEN_MINUTES_MS);
    await opened.journal.accept([admit(message(2, { account: 'z-bot' }))]);
    await clock.advance(TEN_MINUTES_MS);
    await opened.journal.accept([admit(message(3, { account: 'a-bot' }))]);
  }
  using db = new Database(join(dir, 'journal.db'), { busyMs: 100 });
  db.run("DELETE FROM meta WHERE name LIKE 'first_account %'");
}

test.each([
  ['asks', true],
  ['writes', false],
])(
  'A37 where no first account is noted it is that of the oldest chat, and stays so, when another account %s next',
  async (_, asks) => {
    await using dir = await tempDir();
    const clock = new FakeClock();
    await withoutFirstAccount(dir.path, clock);
    {
      await using opened = await openJournal({ dir: dir.path, clock });
      const { chats } = opened.journal;
      if (asks) expect(await chats.firstAccount('test')).toBe('z-bot');
      await opened.journal.accept([admit(message(4, { account: 'new-bot' }))]);
      expect(await chats.firstAccount('test')).toBe('z-bot');
      expect(await chats.firstAccount('test0')).toBe('elder');
      expect(await chats.firstAccount('tes')).toBeUndefined();
      await clock.advance(TEN_MINUTES_MS);
      await opened.journal.accept([admit(message(5, { account: 'z-bot' }))]);
    }
    await using opened = await openJournal({ dir: dir.path, clock });
    expect(await opened.journal.chats.firstAccount('test')).toBe('z-bot');
  },
);
