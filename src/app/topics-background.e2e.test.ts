// Topics that are left or deleted while work in the background goes on in them, through the whole daemon.
import { existsSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { Model, ModelRequest } from '../core/model.ts';
import { sessionWorkspacePath } from '../runs/workspace.ts';
import { gate, tempDir, until } from '../testing/fakes.ts';
import { type ScriptFunction, scriptedModel } from '../testing/scripted-model.ts';
import { TestChannel } from '../testing/test-channel.ts';
import { type TestDaemon, testDaemon } from '../testing/test-daemon.ts';
import { OPEN_TO_ALL } from '../testing/waiting-tools.ts';

const SESSION = '_main:test:chat-1#work';
const asked = ({ messages }: ModelRequest): string => messages.findLast(({ role }) => role === 'user')?.content ?? '';
const results = ({ messages }: ModelRequest): readonly string[] =>
  messages.filter(({ role }) => role === 'tool').map(({ content }) => content);

async function say(rig: TestDaemon, text: string): Promise<string> {
  const before = rig.channel.sent.length;
  await rig.channel.deliver({ text });
  await until(`“${text}” is answered`, () => rig.channel.sent.length > before);
  return rig.channel.texts().at(-1) ?? '';
}

const start = async (dataDir: string, script: ScriptFunction, channel = new TestChannel('test')): Promise<TestDaemon> =>
  await testDaemon({
    ...{ dataDir, channel, model: scriptedModel(script), policy: OPEN_TO_ALL },
    gateway: { owner: [{ channel: 'test', chat_id: 'chat-1', sender_ids: ['user-1'] }] },
  });

test('a task goes on in the files of a deleted topic, over a restart, and these go when it ends', async () => {
  await using dir = await tempDir();
  const files = sessionWorkspacePath(dir.path, SESSION);
  let isHeld = true;
  let calls = 0;
  const write = { name: 'write_file', arguments: { path: 'report.txt', content: 'gold' } };
  const script: ScriptFunction = (request) => {
    calls += 1;
    if (!asked(request).startsWith('[Task "')) return `did ${asked(request)}`;
    if (results(request).length === 0) return { text: '', toolCalls: [write] };
    if (isHeld) return { hang: true };
    if (results(request).length === 1) return { text: '', toolCalls: [{ name: 'read_file', arguments: { path: 'report.txt' } }] };
    return `read: ${results(request).at(-1)}`;
  };
  {
    await using rig = await start(dir.path, script);
    await say(rig, '/new work');
    await say(rig, '/task write a report');
    await until('it has written', () => calls === 2);
    await say(rig, '/s');
    expect(await say(rig, '/delete work')).toBe(
      'Topic “work” was deleted, with its history. 1 task or sub-agent in the background goes on: its result comes here, and the files of the topic are removed when it ends. `/stop` ends this work too.',
    );
  }
  expect(existsSync(files)).toBe(true);
  isHeld = false;
  await using rig = await start(dir.path, script);
  await until('its result is told', () => rig.channel.texts().at(-1)?.includes('read: '));
  expect(rig.channel.texts().at(-1)).toContain('gold');
  await until('the files are gone', () => !existsSync(files));
});

test('a sub-agent in the background tells its result although its topic was deleted', async () => {
  await using dir = await tempDir();
  const files = sessionWorkspacePath(dir.path, SESSION);
  const dug = gate();
  const script: ScriptFunction = async (request) => {
    const words = asked(request);
    if (words.startsWith('[You are a sub-agent')) {
      await dug.opened;
      return 'gold';
    }
    if (words.startsWith('[The sub-agent')) return `told: ${words.split('\n\n')[1]}`;
    if (words !== 'dig') return `did ${words}`;
    if (results(request).length > 0) return 'it digs';
    return { text: '', toolCalls: [{ name: 'spawn', arguments: { task: 'dig', label: 'dig' } }] };
  };
  await using rig = await start(dir.path, script);
  await say(rig, '/new work');
  expect(await say(rig, 'dig')).toBe('it digs');
  await say(rig, '/s');
  expect(await say(rig, '/delete work')).toContain('1 task or sub-agent in the background goes on');
  expect(existsSync(files)).toBe(true);
  dug.open();
  await until('its result is told', () => rig.channel.texts().at(-1) === 'told: gold');
  await until('the files are gone', () => !existsSync(files));
  expect(await say(rig, '/sessions')).toMatch(/^This chat has no topics yet/);
});

test('/stop ends a task of a deleted topic, whose files go with it', async () => {
  await using dir = await tempDir();
  const files = sessionWorkspacePath(dir.path, SESSION);
  await using rig = await start(dir.path, () => ({ hang: true }));
  await say(rig, '/new work');
  await say(rig, '/task wait for ever');
  await until('it works', () => existsSync(files));
  await say(rig, '/s');
  await say(rig, '/delete work');
  expect(await say(rig, '/stop')).toMatch(/^🛑 Cancelled\./);
  await until('the files are gone', () => !existsSync(files));
});

test('nothing is shown of what is told of a sub-agent while another topic is active', async () => {
  await using dir = await tempDir();
  const reports = [0, 1].map(() => ({ goesOn: gate(), ends: gate() }));
  const dug = gate();
  const scripted = scriptedModel(async (request) => {
    const words = asked(request);
    if (words.startsWith('[You are a sub-agent')) {
      await dug.opened;
      return 'gold';
    }
    if (words !== 'dig') return `did ${words}`;
    if (request.messages.at(-1)?.role === 'tool') return 'it digs';
    return { text: '', toolCalls: [{ name: 'spawn', arguments: { task: 'dig', label: 'dig' } }] };
  });
  let told = 0;
  const { id, contextWindow } = scripted;
  const model: Model = {
    ...{ id, contextWindow },
    async *call(request, signal) {
      if (!asked(request).startsWith('[The sub-agent')) return yield* scripted.call(request, signal);
      const report = reports[told];
      told += 1;
      yield { type: 'text', text: 'half of ' };
      await report?.goesOn.opened;
      yield { type: 'text', text: 'it, ' };
      await report?.ends.opened;
      const usage = { tokensIn: 1, tokensOut: 1, tokensCached: 0 };
      yield { type: 'done', answer: { text: `all of it ${told}`, toolCalls: [], stop: 'end', usage, provider: 'p', model: 'm' } };
    },
  };
  const channel = new TestChannel('test').withEdits();
  await using rig = await testDaemon({ ...{ dataDir: dir.path, channel, model, policy: OPEN_TO_ALL } });
  // A draft is begun a second after the first words, and changed as often.
  const whatGrew = async (): Promise<string[]> => {
    await new Promise((resolve) => setTimeout(resolve, 2_500));
    return channel.screen().filter((text) => text.startsWith('half of'));
  };
  await say(rig, '/new work');
  await say(rig, 'dig');
  await say(rig, '/s');
  dug.open();
  await until('it is being told', () => told === 1);
  reports[0]?.goesOn.open();
  expect(await whatGrew()).toEqual([]);
  reports[0]?.ends.open();
  await until('it is held', () => channel.texts().at(-1)?.startsWith('📥'));
  await channel.deliver({ text: '/s work' });
  await until('it is shown', () => channel.screen().at(-1) === 'all of it 1');
  // The same when its topic is left meanwhile.
  await say(rig, 'dig');
  await until('its first words are shown', () => channel.screen().includes('half of …'));
  await say(rig, '/s');
  reports[1]?.goesOn.open();
  expect(await whatGrew()).toEqual(['half of …']);
  reports[1]?.ends.open();
  await until('it is held, too', () => channel.texts().at(-1)?.startsWith('📥'));
});
