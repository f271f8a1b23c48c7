/** Edits, deletions and reactions, from channel to journal and agent. All is real but platform and model. */
import { expect, test } from 'vitest';
import { toDelete } from '../../channels/discord/in/inbound.ts';
import type { InboundMessage } from '../core/message.ts';
import { gate, tempDir, until } from '../testing/fakes.ts';
import { scriptedModel } from '../testing/scripted-model.ts';
import { type TestDaemon, testDaemon } from '../testing/test-daemon.ts';

const OPEN = { allowed_senders: ['ada', 'bob'], allowed_groups: ['g'] };
const GROUP = { chatId: 'g', isGroup: true, senderId: 'ada', senderName: 'Ada' };
const ASKED = { ...GROUP, mentionsBot: true };

interface Scene extends AsyncDisposable {
  readonly rig: TestDaemon;
  deliver(message: Partial<InboundMessage>): Promise<void>;
  /** What the model was asked, once everything is answered. */
  asked(): Promise<readonly (string | undefined)[]>;
  refused(): Promise<Record<string, number>>;
}

/** A daemon that is at work on "first" in the given place, so that what comes there next waits. */
async function busyWith(first: Partial<InboundMessage>, entry: Record<string, unknown> = OPEN): Promise<Scene> {
  const dir = await tempDir();
  const held = gate();
  const model = scriptedModel(() => held.opened.then(() => 'done'));
  const rig = await testDaemon({ dataDir: dir.path, model, entry });
  await rig.channel.deliver({ ...first, platformId: 'first', text: 'first' });
  await until('the model is asked', () => model.requests.length === 1);
  return {
    rig,
    deliver: async (message) => void (await rig.channel.deliver(message)),
    asked: async () => {
      held.open();
      await rig.daemon.gateway.idle();
      return model.requests.map(({ messages }) => messages.at(-1)?.content);
    },
    refused: async () =>
      Object.fromEntries((await rig.daemon.journal.counts()).refused.map(({ reason, count }) => [reason, count])),
    [Symbol.asyncDispose]: async () => {
      held.open();
      await rig[Symbol.asyncDispose]();
      await dir[Symbol.asyncDispose]();
    },
  };
}

test.each([
  ['a direct chat', { id: '500000000000000001' }],
  ['a group', { id: '500000000000000009', guildId: '7' }],
])('a deletion by nobody known takes back what waits, in %s, and is answered by nothing', async (_where, place) => {
  const to = { account: 'bot', roles: new Set<string>(), everyone: false };
  const { chatId, isGroup } = toDelete('600000000000000001', { channel: 'test', to, place }, 1);
  const from = { chatId, isGroup, senderId: 'ada', senderName: 'Ada', mentionsBot: isGroup };
  await using at = await busyWith(from, { ...OPEN, allowed_groups: [chatId] });
  await at.deliver({ ...from, platformId: '600000000000000001', text: 'wrong chat' });
  await at.rig.channel.host?.receive([toDelete('600000000000000001', { channel: 'test', to, place }, Date.now())]);
  expect(await at.asked()).toEqual([isGroup ? '[from Ada] first' : 'first']);
  expect(at.rig.channel.texts(chatId)).toEqual(['done']);
  expect(await at.refused()).toEqual({});
});

test('a deletion of what is not waiting, or in a chat nobody is let in, is only counted', async () => {
  await using at = await busyWith({ senderId: 'ada' });
  await at.deliver({ senderId: 'unknown', kind: 'delete', targetId: 'first', text: '' });
  await at.deliver({ senderId: 'mallory', chatId: 'stranger', kind: 'delete', targetId: 'x', text: '' });
  await at.deliver({ ...GROUP, senderId: 'unknown', chatId: 'other', kind: 'delete', targetId: 'x', text: '' });
  await at.deliver({ senderId: 'ada', kind: 'delete', targetId: 'first', text: '', refusal: 'own-message' });
  expect(await at.asked()).toEqual(['first']);
  expect(await at.refused()).toEqual({ deleted: 3, 'own-message': 1 });
  expect(at.rig.channel.sent.map(({ text }) => text)).toEqual(['done']);
});

test('A37 a deletion in the name of somebody else takes back nothing, also where everybody may write', async () => {
  await using at = await busyWith(ASKED, { allowed_senders: ['*'], allowed_groups: ['*'] });
  await at.deliver({ ...ASKED, platformId: '2', text: 'second' });
  await at.deliver({ ...ASKED, senderId: 'mallory', platformId: 'd1', kind: 'delete', targetId: '2', text: '' });
  await at.deliver({ ...ASKED, senderId: 'unknown', chatId: 'other', platformId: 'd2', kind: 'delete', targetId: '2', text: '' });
  expect(await at.asked()).toEqual(['[from Ada] first', '[from Ada] second']);
  expect(await at.refused()).toEqual({ deleted: 2 });
});

test('a correction in a group that no longer names the bot changes what waits', async () => {
  await using at = await busyWith(ASKED);
  await at.deliver({ ...ASKED, platformId: '2', text: 'delete all files' });
  await at.deliver({ ...GROUP, platformId: '2e', kind: 'edit', targetId: '2', text: 'never mind' });
  expect(await at.asked()).toEqual(['[from Ada] first', '[from Ada] never mind']);
});

test('one of what is being answered, or was, is a correction; one of anything else is refused and counted', async () => {
  await using at = await busyWith(ASKED);
  await at.deliver({ ...GROUP, platformId: '1e', kind: 'edit', targetId: 'first', text: 'second' });
  const correction = '[correction of an earlier message] [from Ada]';
  expect(await at.asked()).toEqual(['[from Ada] first', `${correction} second`]);
  await at.deliver({ ...GROUP, platformId: '2e', kind: 'edit', targetId: 'first', text: 'third' });
  expect((await at.asked())[2]).toBe(`${correction} third`);
  await at.deliver({ ...GROUP, platformId: '3e', kind: 'edit', targetId: 'never seen', text: 'x' });
  await at.deliver({ ...GROUP, senderId: 'bob', platformId: '4e', kind: 'edit', targetId: 'first', text: 'x' });
  await at.deliver({ ...GROUP, senderId: 'eve', platformId: '5e', kind: 'edit', targetId: 'first', text: 'x' });
  expect(await at.asked()).toHaveLength(3);
  expect(await at.refused()).toEqual({ 'not-mentioned': 2, 'not-allowed': 1 });
});

test('one of a message that was stopped starts nothing', async () => {
  await using at = await busyWith(ASKED);
  await at.deliver({ ...ASKED, text: 'stop' });
  await at.deliver({ ...GROUP, kind: 'edit', targetId: 'first', text: 'x' });
  expect(await at.asked()).toEqual(['[from Ada] first']);
  expect(await at.refused()).toEqual({ 'not-mentioned': 1 });
});

test('a waiting message that is edited to an abort word is taken back, with the rest of its lane', async () => {
  await using at = await busyWith({ senderId: 'ada' });
  await at.deliver({ senderId: 'ada', platformId: '2', text: 'delete all files' });
  await at.deliver({ senderId: 'ada', platformId: '2e', kind: 'edit', targetId: '2', text: 'stop' });
  expect(await at.asked()).toEqual(['first']);
  expect(at.rig.channel.texts()).toEqual(['🛑 Cancelled.']);
});

test('one in a group that is edited to an abort word without naming the bot is taken back alone', async () => {
  await using at = await busyWith(ASKED);
  for (const platformId of ['2', '3']) await at.deliver({ ...ASKED, platformId, text: `do ${platformId}` });
  await at.deliver({ ...GROUP, platformId: '2e', kind: 'edit', targetId: '2', text: 'Stop' });
  await at.deliver({ ...GROUP, platformId: '4e', kind: 'edit', targetId: 'never seen', text: 'stop' });
  expect(await at.asked()).toEqual(['[from Ada] first', '[from Ada] do 3']);
  expect(at.rig.channel.texts('g')).toEqual(['done', 'done']);
  expect(await at.refused()).toEqual({ 'not-mentioned': 1 });
});

test.each([
  ['/help', expect.stringContaining('/stop')],
  ['/reset', 'Started afresh. Nothing was carried over.'],
])('a waiting message that is edited to %s is that command', async (command, answer) => {
  await using at = await busyWith({ senderId: 'ada' });
  await at.deliver({ senderId: 'ada', platformId: '2', text: 'hello' });
  await at.deliver({ senderId: 'ada', platformId: '2e', kind: 'edit', targetId: '2', text: command });
  expect(await at.asked()).toEqual(['first']);
  expect(at.rig.channel.texts()).toEqual(['done', answer]);
});
