// Runs that wait, through the whole daemon: a scripted model, tools that wait, a journal on disk.
import { glob, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { Model, ModelRequest } from '../core/model.ts';
import type { SessionMessage } from '../core/session.ts';
import { tempDir, until } from '../testing/fakes.ts';
import { type ScriptFunction, type ScriptStep, scriptedModel } from '../testing/scripted-model.ts';
import { TestChannel } from '../testing/test-channel.ts';
import { type TestDaemon, testDaemon } from '../testing/test-daemon.ts';
import { OPEN_TO_ALL, waitingTools } from '../testing/waiting-tools.ts';

const CHILDREN = ['a', 'b', 'c'].map((task) => ({ name: 'run_child', arguments: { task } }));
const PERSON = { name: 'ask_person', arguments: { question: 'May I?' } };
const SLEEP = { name: 'sleep', arguments: { ms: 30 } };

const said = ({ messages }: ModelRequest): string => messages.map(({ content }) => content).join('\n');
const lastOf = ({ messages }: ModelRequest): SessionMessage | undefined =>
  messages.findLast(({ role, id }) => role === 'user' && !id.endsWith('#note'));

/** A request of many parts waits for them; each other message is answered with its own words. */
function worker(calls: ScriptStep): ScriptFunction {
  return (request) => {
    const asked = lastOf(request);
    // In a group the sender's name stands before it.
    if (!asked?.content.endsWith('do it all')) return `did ${asked?.content}`;
    const results = request.messages.slice(request.messages.indexOf(asked)).filter(({ role }) => role === 'tool');
    return results.length === 0 ? calls : `all: ${results.map(({ content }) => content).join(', ')}`;
  };
}

async function start(dataDir: string, model: ReturnType<typeof scriptedModel>, more: object = {}): Promise<TestDaemon> {
  const channel = new TestChannel('test');
  return await testDaemon({ dataDir, model, channel, policy: OPEN_TO_ALL, daemon: { extraTools: [waitingTools] }, ...more });
}

const parked = async ({ daemon }: TestDaemon): Promise<number> => (await daemon.journal.counts()).inbox.PARKED;
const codeIn = (rig: TestDaemon): string => /\/allow ([A-Z2-9]{6})/.exec(rig.channel.texts().join('\n'))?.[1] ?? '';

test('a run parks on three children, a person and a timer: others of the chat are answered meanwhile, and it goes on once', async () => {
  await using dir = await tempDir();
  const model = scriptedModel(worker({ text: 'on it', toolCalls: [...CHILDREN, PERSON, SLEEP] }));
  await using rig = await start(dir.path, model);
  await rig.channel.deliver({ text: 'hi' });
  await rig.channel.deliver({ text: 'do it all' });
  await until('the question is asked', () => codeIn(rig));
  await until('the children ended', async () => (await rig.daemon.journal.counts()).inbox.DONE === 4);
  await until('it holds nothing', () => rig.daemon.lanes.stats().running + rig.daemon.lanes.stats().waiting === 0);
  expect(await parked(rig)).toBe(1);
  await rig.channel.deliver({ text: 'meanwhile' });
  await until('the other is answered', () => rig.channel.texts().includes('did meanwhile'));
  const told = model.requests.find((request) => lastOf(request)?.content === 'meanwhile');
  expect(told && said(told)).toMatch(/An earlier request waits for the answer of a person.*: “do it all”/);
  await rig.channel.deliver({ text: `/allow ${codeIn(rig)}` });
  await until('it is answered', () => rig.channel.texts().at(-1)?.startsWith('all: '));
  expect(rig.channel.texts()).toEqual([
    'did hi',
    expect.stringMatching(/^May I\? Reply `\/allow/),
    'did meanwhile',
    '✅ Allowed.',
    'all: did a, did b, did c, allow, slept',
  ]);
  // hi, the request twice, its children, and the other one.
  expect(model.requests).toHaveLength(7);
  const last = model.requests.at(-1);
  expect(last?.messages.map(({ content }) => content).slice(1, 4)).toEqual(['hi', 'did hi', 'do it all']);
  expect(last?.messages.at(-1)?.content).toBe(
    '[System note] While this request waited, the conversation went on:\nuser: meanwhile\nassistant: did meanwhile',
  );
  expect((await rig.daemon.journal.counts()).inbox).toMatchObject({ NEW: 0, RUNNING: 0, PARKED: 0 });
});

test('what waits survives a restart: nothing is asked, called or paid for a second time', async () => {
  await using dir = await tempDir();
  const model = scriptedModel(
    worker({ text: '', toolCalls: [...CHILDREN.slice(0, 1), PERSON, { ...SLEEP, arguments: { ms: 1 } }] }),
  );
  let code = '';
  {
    await using first = await start(dir.path, model);
    await first.channel.deliver({ text: 'do it all' });
    code = await until('the question is asked', () => codeIn(first));
    await until('the child ended', async () => (await first.daemon.journal.counts()).inbox.DONE === 1);
    await until('it waits', async () => (await parked(first)) === 1);
  }
  const before = model.requests.length;
  await using second = await start(dir.path, model);
  expect([await parked(second), model.requests.length]).toEqual([1, before]);
  await second.channel.deliver({ text: `/deny ${code}`, platformId: 'answer' });
  await until('it is answered', () => second.channel.texts().at(-1)?.startsWith('all: '));
  expect(second.channel.texts()).toEqual(['🛑 Denied.', 'all: did a, deny, slept']);
  expect(model.requests).toHaveLength(before + 1);
});

test('a person who is asked for words answers with the next message of that chat, and of no other', async () => {
  await using dir = await tempDir();
  const ask = { name: 'ask_person', arguments: { question: 'Which colour?', answer: 'text' } };
  const model = scriptedModel(worker({ text: '', toolCalls: [ask] }));
  await using rig = await start(dir.path, model);
  await rig.channel.deliver({ text: 'do it all' });
  await until('the question is asked', () => rig.channel.texts().at(-1)?.startsWith('Which colour?'));
  await rig.channel.deliver({ text: 'red', chatId: 'elsewhere' });
  await until('the other chat is answered', () => rig.channel.texts('elsewhere').includes('did red'));
  await rig.channel.deliver({ text: 'sea green' });
  await until('it is answered', () => rig.channel.texts().includes('all: sea green'));
  expect(rig.channel.texts()).toContain('✅ Noted.');
});

test('a command is no answer to a question for words', async () => {
  await using dir = await tempDir();
  const ask = { name: 'ask_person', arguments: { question: 'Which colour?', answer: 'text' } };
  await using rig = await start(dir.path, scriptedModel(worker({ text: '', toolCalls: [ask] })));
  await rig.channel.deliver({ text: 'do it all' });
  await until('the question is asked', () => rig.channel.texts().at(-1)?.startsWith('Which colour?'));
  await rig.channel.deliver({ text: '/think high' });
  await until('the command is answered', () => rig.channel.texts().length === 2);
  expect(rig.channel.texts().at(-1)).toContain('thinking is high');
  await rig.channel.deliver({ text: 'red' });
  await until('it is answered', () => rig.channel.texts().includes('all: red'));
});

test('/stop ends what waits, says which tools ran, and the next call of the model sees it (C1)', async () => {
  await using dir = await tempDir();
  const model = scriptedModel(worker({ text: 'on it', toolCalls: [PERSON] }));
  await using rig = await start(dir.path, model);
  await rig.channel.deliver({ text: 'do it all' });
  const code = await until('the question is asked', () => codeIn(rig));
  await rig.channel.deliver({ text: '/stop' });
  await until('it is stopped', () => rig.channel.texts().includes('🛑 Cancelled.'));
  await rig.channel.deliver({ text: `/allow ${code}`, platformId: 'late' });
  await until('the person is told', () =>
    rig.channel.texts().includes('Too late: this question is closed. What asked it is over.'),
  );
  await rig.channel.deliver({ text: 'and now?' });
  await until('the next one is answered', () => rig.channel.texts().includes('did and now?'));
  const next = model.requests
    .at(-1)
    ?.messages.map(({ content }) => content)
    .slice(1);
  expect(next).toEqual([
    'do it all',
    'on it',
    'Error: broken off: the turn was stopped before this call had a result. It changed nothing.',
    '[interrupted]',
    'and now?',
  ]);
  expect((await rig.daemon.journal.counts()).inbox.PARKED).toBe(0);
});

test('in a group a member stops what waits of their own, the owner what waits of anybody, and children end with it', async () => {
  await using dir = await tempDir();
  const hold = Promise.withResolvers<string>();
  const model = scriptedModel(async (request) => {
    const asked = lastOf(request)?.content;
    if (asked === 'a') return await hold.promise;
    return worker({ text: '', toolCalls: CHILDREN.slice(0, 1) })(request, new AbortController().signal);
  });
  const gateway = { owner: [{ channel: 'test', chat_id: 'elsewhere', sender_ids: ['boss'] }] };
  const entry = { allowed_groups: ['*'], group_mode: 'always' };
  await using rig = await start(dir.path, model, { gateway, entry });
  const says = (senderId: string, text: string) =>
    rig.channel.deliver({ chatId: 'group', isGroup: true, senderId, senderName: senderId, text });
  await says('ada', 'do it all');
  await until('the child runs', () => model.requests.length === 2);
  await says('bob', '/stop');
  await until('bob is told', () => rig.channel.texts('group').includes('Nothing of yours is being worked on.'));
  expect(await parked(rig)).toBe(1);
  await says('boss', '/stop');
  await until('the owner is told', () => rig.channel.texts('group').at(-1) === '🛑 Cancelled.\nWork of: ada');
  hold.resolve('too late');
  await until('nothing is left', async () => {
    const { NEW, RUNNING, PARKED } = (await rig.daemon.journal.counts()).inbox;
    return NEW + RUNNING + PARKED === 0;
  });
  expect(rig.channel.texts('group')).toHaveLength(2);
});

test('a tool with an effect of its own cannot wait', async () => {
  await using dir = await tempDir();
  const model = scriptedModel(worker({ text: '', toolCalls: [{ name: 'sleep', arguments: { ms: 1 } }] }));
  const tools: typeof waitingTools = (scope) => waitingTools(scope).map((tool) => ({ ...tool, effect: 'outside', act: 'home' }));
  await using rig = await start(dir.path, model, { daemon: { extraTools: [tools] } });
  await rig.channel.deliver({ text: 'do it all' });
  await until('it is answered', () => rig.channel.texts().includes('all: Error: sleep has an effect, so it cannot wait'));
});

test('a turn that goes on after a wait leaves what tools made of the files of its message, and still tells which it lacks', async () => {
  await using dir = await tempDir();
  const path = /uploads\/\w+\.txt/;
  const model = scriptedModel([
    ({ messages }) => {
      const [file] = path.exec(String(messages.at(-1)?.content)) ?? [];
      return { toolCalls: [{ name: 'write_file', arguments: { path: file, content: 'mended' } }] };
    },
    { toolCalls: [PERSON] },
    'done',
  ]);
  await using rig = await start(dir.path, model);
  rig.channel.files.set('there', Buffer.from('as it was sent'));
  const file = (ref: string) => ({ kind: 'document', ref, mime: 'text/plain' }) as const;
  await rig.channel.deliver({ text: 'mend it', media: [file('there'), file('gone')] });
  await until('the question is asked', () => codeIn(rig));
  rig.channel.files.set('gone', Buffer.from('too late: the model was told that there is none'));
  await rig.channel.deliver({ text: `/allow ${codeIn(rig)}` });
  await rig.daemon.gateway.idle();
  const answer = await until('it is answered', () => rig.channel.texts().find((text) => text.startsWith('done')));
  expect(answer).toMatch(/^done\n\n⚠️ File: .*\(GH1505\)/);
  const files: string[] = [];
  for await (const path of glob('workspaces/*/*/uploads/*', { cwd: dir.path })) {
    files.push(await readFile(join(dir.path, path), 'utf8'));
  }
  expect(files).toEqual(['mended']);
});

test('what was shown before a wait keeps its last text, and the answer is a message of its own', async () => {
  await using dir = await tempDir();
  const channel = new TestChannel('test').withEdits();
  const usage = { tokensIn: 1, tokensOut: 1, tokensCached: 0 };
  const base = { usage, provider: 'p', model: 'm' } as const;
  const model: Model = {
    ...{ id: 'p/m', contextWindow: 128_000 },
    async *call({ messages }) {
      if (messages.at(-1)?.role === 'tool')
        return yield { type: 'done', answer: { ...base, text: 'done', toolCalls: [], stop: 'end' } };
      yield { type: 'text', text: 'let me ask. ' };
      await until('it is shown', () => channel.screen().length > 0);
      const toolCalls = [{ id: 'c', name: 'await_signal', arguments: '{"name":"go"}' }];
      yield { type: 'done', answer: { ...base, text: 'let me ask. ', toolCalls, stop: 'tools' } };
    },
  };
  await using rig = await testDaemon({
    ...{ dataDir: dir.path, model, channel, policy: OPEN_TO_ALL },
    daemon: { extraTools: [waitingTools] },
  });
  await channel.deliver({ text: 'please' });
  await until('it waits', async () => (await parked(rig)) === 1);
  await until('its last text stands', () => channel.screen().join() === 'let me ask.');
  await rig.daemon.journal.commit([{ kind: 'settle', settled: { wait: 'go', value: { ok: true, output: 'went' }, by: 'test' } }]);
  await until('it is answered', () => channel.screen().length === 2);
  expect(channel.screen()).toEqual(['let me ask.', 'done']);
});
