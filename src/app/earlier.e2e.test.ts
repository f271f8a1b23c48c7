// The agent is called into a group in which people have talked before.
import { expect, test } from 'vitest';
import { openJsonlStore } from '../../sessions/jsonl-store.ts';
import { UNTRUSTED } from '../core/authority.ts';
import { systemClock } from '../lib/clock.ts';
import { tempDir, until } from '../testing/fakes.ts';
import { scriptedModel } from '../testing/scripted-model.ts';
import { TestChannel } from '../testing/test-channel.ts';
import { testDaemon } from '../testing/test-daemon.ts';

function group(entry: Record<string, unknown>) {
  const channel = new TestChannel('test');
  channel.earlier = async () => [
    { platformId: 'e1', senderId: 'ada', senderName: 'Ada', fromBot: false, text: 'The train leaves at nine.' },
    { platformId: 'e2', senderId: 'eve', senderName: 'Eve', fromBot: false, text: 'Forget the train.' },
  ];
  const rules = { allowed_senders: ['ada', 'ben'], allowed_groups: ['*'], ...entry };
  return { channel, rules };
}

test('its first turn there is given what was said before, later ones by their history alone, and that is not trusted', async () => {
  await using dir = await tempDir();
  const { channel, rules } = group({});
  const model = scriptedModel(() => 'ok');
  {
    await using at = await testDaemon({ dataDir: dir.path, model, channel, entry: rules });
    for (const text of ['When does it leave?', 'And back?']) {
      await channel.deliver({ senderId: 'ben', senderName: 'Ben', isGroup: true, mentionsBot: true, text });
      await at.daemon.gateway.idle();
    }
  }
  const asked = model.requests.map(({ messages }) =>
    messages.filter(({ role }) => role === 'user').map(({ content }) => content),
  );
  const first = [
    '[said here before you were called in, not to you:\n  [from Ada] The train leaves at nine.\n  (1 message of others not shown)\n]',
    '[from Ben] When does it leave?',
  ].join('\n');
  expect(asked).toEqual([[first], [first, '[from Ben] And back?']]);
  const store = openJsonlStore({ dir: dir.path, clock: systemClock, onDamage: () => undefined });
  const session = await store.load('_main:test:chat-1');
  expect(session?.messages.map(({ taint = 0 }) => taint)).toEqual([UNTRUSTED, UNTRUSTED, UNTRUSTED, UNTRUSTED]);
});

test('words of people who may not write are given where the chat is named in context_from', async () => {
  await using dir = await tempDir();
  const { channel, rules } = group({ context_from: { 'chat-1': 'everyone' } });
  const model = scriptedModel(() => 'ok');
  await using at = await testDaemon({ dataDir: dir.path, model, channel, entry: rules });
  for (const chatId of ['chat-1', 'chat-2']) {
    await channel.deliver({ chatId, senderId: 'ben', isGroup: true, mentionsBot: true, text: 'When?' });
    await at.daemon.gateway.idle();
  }
  const [named, other] = model.requests.map(({ messages }) => String(messages.at(-1)?.content));
  expect(named).toContain('[from Eve] Forget the train.');
  expect(other).not.toContain('Forget');
  expect(other).toContain('(1 message of others not shown)');
});

test('the first turn is given what the members say that the group is about, once, as words of others and bounded', async () => {
  await using dir = await tempDir();
  const { channel, rules } = group({});
  const asked: string[] = [];
  channel.about = async ({ chatId }) => {
    asked.push(chatId);
    return `Topic: the move to Bern [not a mark]\nDescription: ${'x'.repeat(2_000)}`;
  };
  const model = scriptedModel(() => 'ok');
  await using at = await testDaemon({ dataDir: dir.path, model, channel, entry: rules });
  for (const text of ['When?', 'And then?']) {
    await channel.deliver({ senderId: 'ben', senderName: 'Ben', isGroup: true, mentionsBot: true, text });
    await at.daemon.gateway.idle();
  }
  await channel.deliver({ senderId: 'ben', chatId: 'private', text: 'hi' });
  await at.daemon.gateway.idle();
  const [first = ''] = (model.requests[0]?.messages ?? []).filter(({ role }) => role === 'user').map(({ content }) => content);
  const [about = '', said] = first.split('\n');
  expect(about).toMatch(/^\[this group, as its members describe it: Topic: the move to Bern \(not a mark\) Description: x+…\]$/);
  expect(about.length).toBeLessThan(650);
  expect(said).toBe('[said here before you were called in, not to you:');
  expect(asked).toEqual(['chat-1']);
  const store = openJsonlStore({ dir: dir.path, clock: systemClock, onDamage: () => undefined });
  await at.daemon.close();
  expect((await store.load('_main:test:chat-1'))?.messages.every(({ taint = 0 }) => taint === UNTRUSTED)).toBe(true);
});

test('a task that is begun in a group is told what the group is about, as words of others', async () => {
  await using dir = await tempDir();
  const { channel, rules } = group({});
  channel.about = async () => 'Topic: the move to Bern';
  const model = scriptedModel(() => 'ok');
  await using at = await testDaemon({ dataDir: dir.path, model, channel, entry: rules });
  const command = { senderId: 'ada', senderName: 'Ada', isGroup: true, mentionsBot: true, text: '/task Find a van' };
  await channel.deliver(command);
  await until('the task was worked on', () => model.requests.length === 1);
  const [asked = ''] = (model.requests[0]?.messages ?? []).filter(({ role }) => role === 'user').map(({ content }) => content);
  expect(asked).toMatch(/^\[this group, as its members describe it: Topic: the move to Bern\]\n\[Task "[\s\S]*Find a van/);
  await until('it is over', () => channel.texts('chat-1').some((text) => text.includes('is done')));
  const store = openJsonlStore({ dir: dir.path, clock: systemClock, onDamage: () => undefined });
  await at.daemon.close();
  const sessions = await Promise.all((await store.list()).map(({ key }) => store.load(key)));
  const lines = sessions.flatMap((session) => session?.messages ?? []);
  expect(lines.find(({ content }) => content.includes('Find a van'))?.taint).toBe(UNTRUSTED);
});

test('a run that goes on after a restart is tainted by what it was told before, though the platform says nothing now', async () => {
  await using dir = await tempDir();
  const { channel, rules } = group({});
  channel.about = async () => 'Topic: the move to Bern';
  channel.earlier = async () => [];
  const look = { name: 'list_dir', arguments: { path: '.' } };
  const first = scriptedModel([{ toolCalls: [look] }, { hang: true }]);
  {
    await using _at = await testDaemon({ dataDir: dir.path, model: first, channel, entry: rules });
    await channel.deliver({ senderId: 'ada', senderName: 'Ada', isGroup: true, mentionsBot: true, text: 'When?' });
    await until('the second call is made', () => first.requests.length === 2);
  }
  delete channel.about;
  const second = scriptedModel(() => 'at nine');
  {
    await using at = await testDaemon({ dataDir: dir.path, model: second, channel, entry: rules });
    await until('it is answered', () => channel.texts('chat-1').includes('at nine'));
    await at.daemon.gateway.idle();
  }
  expect(second.requests).toHaveLength(1);
  expect(second.requests[0]?.messages.some(({ content }) => content.includes('the move to Bern'))).toBe(true);
  const store = openJsonlStore({ dir: dir.path, clock: systemClock, onDamage: () => undefined });
  const lines = (await store.load('_main:test:chat-1'))?.messages ?? [];
  expect(lines.map(({ role, taint = 0 }) => [role, taint & UNTRUSTED])).toEqual(
    ['user', 'assistant', 'tool', 'assistant'].map((role) => [role, UNTRUSTED]),
  );
});

test('a group whose platform cannot be asked what it is about is answered all the same', async () => {
  await using dir = await tempDir();
  const { channel, rules } = group({});
  channel.about = async () => Promise.reject(new Error('missing_scope'));
  const model = scriptedModel(() => 'ok');
  await using at = await testDaemon({ dataDir: dir.path, model, channel, entry: rules });
  await channel.deliver({ senderId: 'ben', senderName: 'Ben', isGroup: true, mentionsBot: true, text: 'When?' });
  await at.daemon.gateway.idle();
  expect(String(model.requests[0]?.messages.at(-1)?.content)).toMatch(/^\[said here before/);
});
