import { expect, test } from 'vitest';
import { partKey, sentForId } from '../../core/ids.ts';
import { clientSendKey } from '../../core/mcp-client.ts';
import { isRelayed } from '../../core/relayed.ts';
import { planBelow } from '../../delivery/plan-below.ts';
import { openJournal } from '../../journal/open.ts';
import { DailyCap } from '../../runs/daily-cap.ts';
import { FakeClock, tempDir } from '../../testing/fakes.ts';
import { admit, LANE, message, SESSION } from '../../testing/journal-rows.ts';
import { TestChannel } from '../../testing/test-channel.ts';
import type { ClientCall } from './client-call.ts';
import { ClientChats, type ClientChatsOptions } from './client-chats.ts';

const LIMITS = { text: 100, unit: 'codepoint', caption: 0, uploadBytes: 0, downloadBytes: 0 } as const;
const GROUP = { chatId: 'room', isGroup: true };

/** A client of two chats: a private one of user-1, and a group. People have written in both. */
async function setup() {
  const dir = await tempDir();
  const clock = new FakeClock();
  const { journal } = await openJournal({ dir: dir.path, clock });
  await journal.accept([admit(message(1)), admit(message(2, GROUP))]);
  const rules = { letIn: ['user-1'], groups: ['room'] };
  const loaded: string[] = [];
  const options: ClientChatsOptions = {
    ...{ journal, clock, cap: new DailyCap(journal, clock), channel: () => new TestChannel('test') },
    transcripts: {
      load: async (session) => {
        loaded.push(session);
        return [];
      },
    },
    parts: (target, text, head) =>
      planBelow(head, { message: target, text, files: [], limits: LIMITS, now: clock.now(), expiresInMs: 60_000 }),
    rules: () => ({ isLocal: false, allowedGroups: rules.groups }),
    mayWrite: async ({ senderId }) => rules.letIn.includes(senderId),
  };
  const settings = {
    mode: 'guarded',
    chats: ['chat-1', 'room'].map((chatId) => ({ channel: 'test', chat_id: chatId })),
  } as unknown as ClientCall['settings'];
  return {
    ...{ journal, clock, rules, loaded },
    /** By another object each time, as after a restart. */
    send(key: string, more: { readonly chat?: string; readonly text?: string; readonly client?: string } = {}) {
      const { chat = 'test:chat-1', text = 'hi', client = 'coder' } = more;
      const call = { client, settings, key, signal: new AbortController().signal, isGone: () => false };
      return new ClientChats(options).writer.call({ chat, text }, call);
    },
    read(chat: string) {
      const call = { client: 'coder', settings, key: 'r', signal: new AbortController().signal, isGone: () => false };
      return new ClientChats(options).readers.find(({ name }) => name === 'read_chat')?.call({ chat, last: 5 }, call);
    },
    part: (key: string, n = 0) => journal.part(partKey(sentForId(clientSendKey('coder', key)), n)),
    async [Symbol.asyncDispose]() {
      await journal[Symbol.asyncDispose]();
      await dir[Symbol.asyncDispose]();
    },
  };
}

test('what is read of a chat is what is said in the topic that is active there', async () => {
  await using at = await setup();
  await at.read('test:chat-1');
  const place = { lane: LANE, session: SESSION, outcome: 'topic', parts: [] } as const;
  await at.journal.accept([{ kind: 'answer', message: message('switch'), ...place, topic: { to: 'trip' } }]);
  await at.read('test:chat-1');
  await at.read('test:room');
  expect(at.loaded).toEqual([SESSION, `${SESSION}#trip`, expect.not.stringContaining('#')]);
});

test('every piece of long words says that they are of a program', async () => {
  await using at = await setup();
  await at.send('long', { text: 'word '.repeat(60) });
  const first = await at.part('long');
  const count = first?.part.count ?? 0;
  expect(count).toBeGreaterThan(2);
  for (let n = 0; n < count; n += 1) {
    const text = (await at.part('long', n))?.part.text ?? '';
    expect(isRelayed(text)).toBe(true);
    expect(text.length).toBeLessThanOrEqual(LIMITS.text);
  }
});

test('a person who may not write any more, and a group that is not allowed any more, get nothing', async () => {
  await using at = await setup();
  at.rules.letIn = [];
  await expect(at.send('a')).rejects.toThrow('test:chat-1 is not let in any more');
  expect(await at.send('b', { chat: 'test:room' })).toMatchObject({ state: 'taken' });
  at.rules.groups = [];
  await expect(at.send('c', { chat: 'test:room' })).rejects.toThrow('test:room is not let in any more');
  expect([await at.part('a'), await at.part('c')]).toEqual([undefined, undefined]);
  // What was taken before stays taken.
  expect((await at.send('b', { chat: 'test:room' })).text).toContain('not sent again');
});

test('one person gets 20 messages within 24 hours, of all programs, also after a restart', async () => {
  await using at = await setup();
  for (let n = 0; n < 19; n += 1) await at.send(`${n}`);
  await at.send('of another', { client: 'desk' });
  await expect(at.send('too many')).rejects.toThrow('test:user-1 has had 20 messages within 24 hours');
  expect((await at.part('0'))?.part.sentFor).toEqual({ readers: ['test:user-1'], title: 'test:chat-1' });
  await at.clock.advance(86_400_001);
  expect(await at.send('the day after')).toMatchObject({ state: 'taken' });
});
