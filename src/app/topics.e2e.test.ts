// Topics of a chat through the whole daemon: histories side by side, what is held, what ends where.
import { expect, test } from 'vitest';
import type { ModelRequest } from '../core/model.ts';
import { gate, tempDir, until } from '../testing/fakes.ts';
import { type ScriptFunction, scriptedModel } from '../testing/scripted-model.ts';
import { TestChannel } from '../testing/test-channel.ts';
import { type TestDaemon, testDaemon } from '../testing/test-daemon.ts';

const asked = ({ messages }: ModelRequest): string => messages.findLast(({ role }) => role === 'user')?.content ?? '';
const told = ({ messages }: ModelRequest): readonly string[] => messages.slice(1).map(({ content }) => content);
const echo: ScriptFunction = (request) => `did ${asked(request)}`;

async function say(rig: TestDaemon, text: string, answers: number): Promise<readonly string[]> {
  const before = rig.channel.sent.length;
  await rig.channel.deliver({ text });
  await until(`“${text}” is answered`, () => rig.channel.sent.length >= before + answers);
  return rig.channel.texts().slice(before);
}

test('each topic has a history of its own, and /s and /back go between them', async () => {
  await using dir = await tempDir();
  const model = scriptedModel(echo);
  await using rig = await testDaemon({ dataDir: dir.path, model });
  await say(rig, 'one', 1);
  expect(await say(rig, '/new work', 1)).toEqual([expect.stringContaining('Topic “work” begins here.')]);
  await say(rig, 'two', 1);
  expect(await say(rig, '/s', 1)).toEqual(['Now in the chat itself.\n> You: one\n> Assistant: did one']);
  await say(rig, 'three', 1);
  expect(await say(rig, '/b', 1)).toEqual(['Now in topic “work”.\n> You: two\n> Assistant: did two']);
  await say(rig, 'four', 1);
  expect(model.requests.map(told)).toEqual([
    ['one'],
    ['two'],
    ['one', 'did one', 'three'],
    ['two', 'did two', 'four'],
  ]);
});

test('the answer of a topic that was left is held, told once, and comes when its topic is active again', async () => {
  await using dir = await tempDir();
  const held = gate();
  const model = scriptedModel(async (request) => {
    if (asked(request) === 'slow') await held.opened;
    return echo(request) as string;
  });
  await using rig = await testDaemon({ dataDir: dir.path, model });
  await say(rig, '/new work', 1);
  await rig.channel.deliver({ text: 'slow' });
  await until('it is asked', () => model.requests.length === 1);
  expect(await say(rig, '/s', 1)).toEqual(['Now in the chat itself.']);
  expect(await say(rig, 'quick', 1)).toEqual(['did quick']);
  held.open();
  await until('it is told', () => rig.channel.texts().at(-1)?.startsWith('📥'));
  expect(rig.channel.texts().at(-1)).toBe('📥 An answer in topic “work” is ready: /s work shows it.');
  expect(await say(rig, '/s work', 2)).toEqual(['Now in topic “work”.\n> You: slow\n> Assistant: did slow', 'did slow']);
});
