// Section `limits` of the config in a daemon; the platform and the model are in memory.
import { expect, test } from 'vitest';
import { type Config, configSchema } from '../../config/schema.ts';
import { whyOf } from '../runs/why.ts';
import { tempDir, until } from '../testing/fakes.ts';
import { type ScriptedModel, scriptedModel } from '../testing/scripted-model.ts';
import { type TestDaemon, testDaemon } from '../testing/test-daemon.ts';

const signal = new AbortController().signal;

/** Answers questions of `slow` threads when they are let go, one by one. */
function slowModel() {
  const held = new Map<string, () => void>();
  const asked: string[] = [];
  const model: ScriptedModel = scriptedModel(async ({ messages }) => {
    const text = messages.at(-1)?.content ?? '';
    if (text.startsWith('slow')) {
      asked.push(text);
      await new Promise<void>((resolve) => held.set(text, resolve));
    }
    return `re ${text}`;
  });
  return { model, asked, open: (text: string) => held.get(text)?.() };
}

async function write(rig: TestDaemon, count: number, from = 0): Promise<void> {
  for (let n = from; n < from + count; n += 1)
    await rig.channel.deliver({ chatId: `t${n}`, senderId: 'bob', text: `slow ${n}`, platformId: `s${n}` });
}

const slow = (from: number, to: number) => Array.from({ length: to - from }, (_, n) => `slow ${from + n}`);

test('ten slow threads of one person leave the others their turns, go on in order, and say what they wait for', async () => {
  await using dir = await tempDir();
  const { model, asked, open } = slowModel();
  await using rig = await testDaemon({ dataDir: dir.path, model });
  await write(rig, 10);
  await until('three run', () => asked.length === 3);
  const others = Array.from({ length: 7 }, (_, n) => `o${n}`);
  for (const id of others) await rig.channel.deliver({ chatId: id, senderId: id, text: 'hello', platformId: id });
  await until('all others are answered', () => others.every((id) => rig.channel.texts(id).length === 1));
  expect(asked).toEqual(slow(0, 3));
  const about = await rig.daemon.journal.record.about('test/bot/s9');
  const { ofPerson } = rig.daemon.lanes.stats();
  expect(about && whyOf(about, { now: 0, daemon: 'up', ofPerson })).toMatchObject({
    verdict: 'It waits for a turn of its sender to end: 3 run, and no more may at once.',
    configKey: 'limits.person_turns_at_once',
  });
  await rig.channel.deliver({ chatId: 't9', senderId: 'bob', text: '/why', platformId: 'why' });
  await until('the person is told', () => rig.channel.texts('t9')[0]?.startsWith('It waits for a turn of its sender'));
  for (let n = 0; n < 10; n += 1) {
    await until(`${n} runs`, () => asked.includes(`slow ${n}`));
    open(`slow ${n}`);
  }
  await rig.daemon.gateway.idle();
  expect(asked).toEqual(slow(0, 10));
});

test('turns that wait for another of their person wait again after a restart, in the same order', async () => {
  await using dir = await tempDir();
  const limits = { person_turns_at_once: 2 };
  {
    const { model, asked } = slowModel();
    await using first = await testDaemon({ dataDir: dir.path, model, limits });
    await write(first, 6);
    await until('two run', () => asked.length === 2);
  }
  const { model, asked, open } = slowModel();
  await using second = await testDaemon({ dataDir: dir.path, model, limits });
  await until('two run again', () => asked.length === 2);
  await second.channel.deliver({ chatId: 'o', senderId: 'ada', text: 'hello', platformId: 'o' });
  await until('another is answered', () => second.channel.texts('o').length === 1);
  expect(asked).toEqual(slow(0, 2));
  for (let n = 0; n < 6; n += 1) {
    await until(`${n} runs`, () => asked.includes(`slow ${n}`));
    open(`slow ${n}`);
  }
  await second.daemon.gateway.idle();
  expect(asked).toEqual(slow(0, 6));
});

test.each([
  ['takes it back', { kind: 'delete', targetId: 'b' }],
  ['stops it', { text: '/stop' }],
] as const)('a message that waits for a turn of its person holds up no one behind it once its person %s', async (_, more) => {
  await using dir = await tempDir();
  const { model, asked } = slowModel();
  await using rig = await testDaemon({ dataDir: dir.path, model, limits: { person_turns_at_once: 1 } });
  await write(rig, 1);
  await until('it runs', () => asked.length === 1);
  await rig.channel.deliver({ chatId: 'g', senderId: 'bob', text: 'slow b', platformId: 'b' });
  await until('the next waits for it', () => rig.daemon.lanes.stats().waiting === 1);
  await rig.channel.deliver({ chatId: 'g', senderId: 'bob', platformId: 'over', ...more });
  await rig.channel.deliver({ chatId: 'g', senderId: 'ada', text: 'hello', platformId: 'a' });
  await until('the one behind it is answered', () => rig.channel.texts('g').includes('re hello'));
  expect(asked).toEqual(['slow 0']);
});

test('the owner may have all turns', async () => {
  await using dir = await tempDir();
  const { model, asked } = slowModel();
  const owner = [{ channel: 'test', chat_id: 't0', sender_ids: ['bob'] }];
  await using rig = await testDaemon({ dataDir: dir.path, model, gateway: { owner, max_concurrent_sessions: 4 } });
  await write(rig, 4);
  await until('all run', () => asked.length === 4);
});

test('a limit that is changed holds at once, without a restart', async () => {
  await using dir = await tempDir();
  const { model, asked } = slowModel();
  const gateway = { channels: [{ type: 'test', allowed_senders: ['*'] }] };
  const config = (limits: Record<string, number>): Config => configSchema.parse({ gateway, limits });
  const set = { person_turns_at_once: 1, person_messages: 3 };
  await using rig = await testDaemon({ dataDir: dir.path, model, daemon: { config: config(set) } });
  await write(rig, 4);
  await until('one runs', () => asked.length === 1);
  expect((await rig.daemon.journal.counts()).inbox).toMatchObject({ NEW: 2, RUNNING: 1 });
  const changes = await rig.daemon.reload(config({ person_turns_at_once: 5, person_messages: 5 }), signal);
  expect(changes).toEqual([
    { key: 'limits.person_messages', cost: 'live' },
    { key: 'limits.person_turns_at_once', cost: 'live' },
  ]);
  await until('those that waited run', () => asked.length === 3);
  await write(rig, 2, 4);
  await until('all that were let in run', () => asked.length === 5);
  expect(asked.toSorted()).toEqual(['slow 0', 'slow 1', 'slow 2', 'slow 4', 'slow 5']);
});
