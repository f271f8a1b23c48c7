// Sub-agents through the whole daemon: the real tools, a scripted model, a journal on disk.
import { expect, test } from 'vitest';
import type { ModelRequest } from '../core/model.ts';
import type { SessionMessage } from '../core/session.ts';
import { tempDir, until } from '../testing/fakes.ts';
import { type ScriptFunction, type ScriptStep, scriptedModel } from '../testing/scripted-model.ts';
import { TestChannel } from '../testing/test-channel.ts';
import { type TestDaemon, testDaemon } from '../testing/test-daemon.ts';
import { OPEN_TO_ALL } from '../testing/waiting-tools.ts';

const lastOf = ({ messages }: ModelRequest): SessionMessage | undefined =>
  messages.findLast(({ role, id }) => role === 'user' && !id.endsWith('#note'));

/** The task of a sub-agent, or what a person said. */
const askedOf = (request: ModelRequest): string => {
  const { content = '' } = lastOf(request) ?? {};
  return /^\[You are a sub-agent[^\]]*\]\n\n([^]*?)(?:\n\nContext:|$)/.exec(content)?.[1] ?? content;
};

const dispatch = (...tasks: readonly string[]): ScriptStep => ({
  text: 'on it',
  toolCalls: tasks.map((task) => ({ name: 'dispatch_subagent', arguments: { task_description: task } })),
});
const background = (task: string): ScriptStep => ({
  text: '',
  toolCalls: [{ name: 'spawn', arguments: { task, label: task } }],
});

/** `do it all` begins them; each other request is answered with its own words. */
function worker(begin: ScriptStep, others: ScriptFunction = (request) => `did ${askedOf(request)}`): ScriptFunction {
  return (request, signal) => {
    const asked = lastOf(request);
    if (!asked?.content.endsWith('do it all')) return others(request, signal);
    const results = request.messages.slice(request.messages.indexOf(asked)).filter(({ role }) => role === 'tool');
    return results.length === 0 ? begin : `all: ${results.map(({ content }) => content).join(', ')}`;
  };
}

async function start(dataDir: string, model: ReturnType<typeof scriptedModel>, more: object = {}): Promise<TestDaemon> {
  return await testDaemon({ dataDir, model, channel: new TestChannel('test'), policy: OPEN_TO_ALL, ...more });
}

test('sub-agents work side by side, and their results come in the order of the calls', async () => {
  await using dir = await tempDir();
  const model = scriptedModel(worker(dispatch('a', 'b', 'c')));
  await using rig = await start(dir.path, model);
  await rig.channel.deliver({ text: 'do it all' });
  await until('it is answered', () => rig.channel.texts().at(-1)?.startsWith('all: '));
  expect(rig.channel.texts()).toEqual(['0 of 3 sub-agents done: a …, b …, c …', 'all: did a, did b, did c']);
  expect(model.requests).toHaveLength(5);
  const child = model.requests.find((request) => askedOf(request) === 'a');
  expect(child?.tools.map(({ name }) => name)).not.toEqual(expect.arrayContaining(['spawn']));
  expect(child?.tools.map(({ name }) => name)).toContain('write_file');
});

test('a sub-agent in the background leaves the conversation free, which is told its result once', async () => {
  await using dir = await tempDir();
  const model = scriptedModel(
    worker(background('dig'), (request) => {
      const asked = askedOf(request);
      return asked.startsWith('[The sub-agent') ? `told: ${asked.split('\n\n')[1]}` : `did ${asked}`;
    }),
  );
  await using rig = await start(dir.path, model);
  await rig.channel.deliver({ text: 'do it all' });
  await until('it is told', () => rig.channel.texts().at(-1)?.startsWith('told: '));
  expect(rig.channel.texts()).toEqual([
    expect.stringMatching(/^all: The sub-agent “dig” is at work \(id .*#call_.*\)/),
    'told: did dig',
  ]);
  expect((await rig.daemon.journal.counts()).inbox).toMatchObject({ NEW: 0, RUNNING: 0, PARKED: 0, DONE: 3 });
});
