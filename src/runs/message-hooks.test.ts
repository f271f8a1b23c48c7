import { expect, test } from 'vitest';
import type { HookFacts, Hooks } from '../core/hooks.ts';
import type { Prompt } from '../core/new-run.ts';
import type { RunRow } from '../core/run.ts';
import { FakeClock, inbound } from '../testing/fakes.ts';
import { MemoryJournal } from '../testing/memory-journal.ts';
import { askMessageIn, askWhatWasHeard, type Heard } from './message-hooks.ts';

const { signal } = new AbortController();
const FACTS = { seq: 1, key: 'test/bot/m-1', session: 's', generation: 1 };

/** Refuses what speaks of a secret. `heard`: asks about that. */
async function ask(row: object, heard?: Heard) {
  const asked: HookFacts[] = [];
  const hooks: Hooks = {
    has: (event) => event === 'message_in',
    ask: async (facts) => {
      asked.push(facts);
      return /secret/.test(String(facts['text'])) ? { kind: 'deny', reason: 'no secrets', key: 'hooks[0]' } : { kind: 'allow' };
    },
    tell: () => undefined,
  };
  const options = { hooks, journal: new MemoryJournal(new FakeClock()) };
  const run = { ...FACTS, ...row } as unknown as RunRow;
  const end = heard ? await askWhatWasHeard(run, options, heard, signal) : await askMessageIn(run, options, signal);
  return { asked, end };
}

test('a message that is answered with another one is asked about, too', async () => {
  const group = { isGroup: true, chatId: 'group' };
  const queued = [inbound({ ...group, platformId: 'm-2', senderId: 'ben', senderName: 'Ben', text: 'a secret' })];
  const message = inbound({ ...group, text: 'hello', queued });
  const { asked, end } = await ask({ source: { kind: 'chat' }, message, authority: { principal: 'test:user-1' } });
  expect(asked).toMatchObject([
    { principal: 'test:user-1', sender_id: 'user-1', text: 'hello', is_group: true },
    { principal: 'test:ben', sender_id: 'ben', sender_name: 'Ben', text: 'a secret', chat_id: 'group' },
  ]);
  expect(end).toEqual({
    ...{ state: 'DONE', outcome: 'refused:hook' },
    text: '⚠️ A rule of the operator keeps me from answering these 2 messages together: no secrets',
  });
});

test('of messages that are answered together, those in whose recordings words were heard are asked about again', async () => {
  const [voice, mute] = [{ kind: 'voice', ref: 'v' } as const, { kind: 'audio', ref: 'a' } as const];
  const queued = [
    inbound({ platformId: 'm-2', text: 'a secret' }),
    inbound({ platformId: 'm-3', text: 'listen', media: [voice] }),
    inbound({ platformId: 'm-4', text: '', media: [mute] }),
  ];
  const row = { source: { kind: 'chat' }, message: inbound({ text: 'hello', queued }), authority: { principal: 'test:user-1' } };
  const nothing: Heard = new Map([[mute, '']]);
  expect(await ask(row, nothing)).toEqual({ asked: [], end: undefined });
  const allowed = await ask(row, new Map([...nothing, [voice, 'good morning']]));
  expect(allowed).toMatchObject({ asked: [{ text: 'listen\ngood morning', media_count: 1 }], end: undefined });
  const refused = await ask(row, new Map([...nothing, [voice, 'my secret']]));
  expect(refused.end?.text).toBe('⚠️ A rule of the operator keeps me from answering these 4 messages together: no secrets');
});

test('a task of a chat is asked about with the words and files that it was asked for with, and no other run is', async () => {
  const authority = { principal: 'test:user-1' };
  const replyTo = { channel: 'test', account: 'bot', chatId: 'chat-1' };
  const row = (client: string, more: Partial<Prompt> = {}) =>
    ask({ source: { kind: 'api', client }, authority, replyTo, prompt: { text: 'a secret', media: [], at: '', ...more } });
  const plain = await row('task.chat');
  const facts = { channel: 'test', sender_id: 'user-1', chat_id: 'chat-1', is_group: false, text: 'a secret', media_count: 0 };
  expect(plain.asked).toEqual([expect.objectContaining({ event: 'message_in', principal: 'test:user-1', ...facts })]);
  expect(plain.end?.outcome).toBe('refused:hook');
  const from = inbound({ text: 'look', media: [{ kind: 'photo', ref: 'f' }] });
  expect((await row('task.chat', { from })).asked).toMatchObject([{ text: 'look', sender_name: 'User One', media_count: 1 }]);
  expect(await row('task.cli')).toEqual({ asked: [], end: undefined });
});

test('what is left of a message that was taken back is asked about as the words of who wrote it', async () => {
  const message = inbound({ isGroup: true, chatId: 'group', senderId: 'ben', senderName: 'Ben', text: 'pay' });
  const { asked } = await ask({ source: { kind: 'chat' }, message, authority: { principal: 'test:ann' } });
  expect(asked).toMatchObject([{ principal: 'test:ben', sender_id: 'ben' }]);
});
