// Tasks through the whole daemon: a scripted model, a channel in memory, a journal on disk.
import { expect, test } from 'vitest';
import type { ModelRequest } from '../core/model.ts';
import { tempDir, until } from '../testing/fakes.ts';
import { type ScriptFunction, scriptedModel } from '../testing/scripted-model.ts';
import { TestChannel } from '../testing/test-channel.ts';
import { type TestDaemon, testDaemon } from '../testing/test-daemon.ts';
import { OPEN_TO_ALL, waitingTools } from '../testing/waiting-tools.ts';

const OWNER = { channel: 'test', chat_id: 'chat-1', sender_ids: ['user-1'] };
const MEMBERS = { entry: { allowed_senders: ['user-1', 'user-2'] } };

const askedIn = ({ messages }: ModelRequest): string => messages.findLast(({ role }) => role === 'user')?.content ?? '';
const isTask = (request: ModelRequest): boolean => request.messages.some(({ content }) => content.startsWith('[Task "'));
const resultsIn = ({ messages }: ModelRequest): string[] =>
  messages.filter(({ role }) => role === 'tool').map(({ content }) => content);

async function start(dataDir: string, script: ScriptFunction, more: object = {}): Promise<TestDaemon> {
  const channel = new TestChannel('test');
  return await testDaemon({
    ...{ dataDir, channel, model: scriptedModel(script), policy: OPEN_TO_ALL, daemon: { extraTools: [waitingTools] } },
    ...{ ...MEMBERS, gateway: { owner: [OWNER] } },
    ...more,
  });
}

test('/task is answered at once with a number, works in the background, and its result comes to the same chat', async () => {
  await using dir = await tempDir();
  await using rig = await start(dir.path, (request) => (isTask(request) ? 'the report' : `did ${askedIn(request)}`));
  await rig.channel.deliver({ text: '/task write\nthe report' });
  await until('it is done', () => rig.channel.texts().length === 2);
  const [begun = '', done] = rig.channel.texts();
  const number = /^Task (\d+) “write the report” is on its way/.exec(begun)?.[1];
  expect(number).toBeDefined();
  expect(done).toBe(`✅ Task ${number} “write the report” is done.\n\nthe report`);
  const task = await rig.daemon.journal.tasks.get(Number(number));
  expect(task).toMatchObject({
    status: 'completed',
    progress: 100,
    outcome: 'answered',
    result: { ok: true, output: 'the report' },
  });
  expect((task?.keepUntil ?? 0) - (task?.finishedAt ?? 0)).toBe(30 * 86_400_000);
  await rig.channel.deliver({ text: '/tasks', platformId: 'p2' });
  await until('they are listed', () => rig.channel.texts().length === 3);
  expect(rig.channel.texts()[2]).toContain(`✅ ${number} “write the report” – completed`);
  await rig.channel.deliver({ text: 'hi', platformId: 'p3' });
  await until('the chat goes on', () => rig.channel.texts().at(-1) === 'did hi');
});

const codeIn = (rig: TestDaemon): string => /\/allow ([A-Z2-9]{6})/.exec(rig.channel.texts().join('\n'))?.[1] ?? '';
const CHILDREN = ['a', 'b'].map((task) => ({ name: 'run_child', arguments: { task } }));
const numberIn = (text = ''): string => /^(?:✅ |⚠️ )?Task (\d+)/.exec(text)?.[1] ?? '';
const statusOf = async ({ daemon }: TestDaemon, number: string): Promise<string | undefined> =>
  (await daemon.journal.tasks.get(Number(number)))?.status;

test('a task that waits has the statuses of the view, and /tasks cancel ends it with all that it began', async () => {
  await using dir = await tempDir();
  const ask = { name: 'ask_person', arguments: { question: 'May I?' } };
  const slow = Promise.withResolvers<void>();
  await using rig = await start(dir.path, async (request) => {
    if (isTask(request)) return { text: '', toolCalls: [...CHILDREN, ask] };
    if (askedIn(request) === 'b') await slow.promise;
    return `did ${askedIn(request)}`;
  });
  await rig.channel.deliver({ text: '/task big work' });
  await until('it asks', () => codeIn(rig));
  const number = numberIn(rig.channel.texts()[0]);
  expect(await statusOf(rig, number)).toBe('waiting_input');
  await rig.channel.deliver({ text: `/allow ${codeIn(rig)}`, platformId: 'p2' });
  await until('it waits for its children', async () => (await statusOf(rig, number)) === 'waiting_subagents');
  await rig.channel.deliver({ text: `/tasks cancel ${number}`, platformId: 'p3' });
  await until('it is told', () => rig.channel.texts().at(-1) === `🛑 Task ${number} “big work” is cancelled.`);
  expect(await statusOf(rig, number)).toBe('cancelled');
  const children = await rig.daemon.journal.tasks.children(Number(number));
  expect(children.map(({ status }) => status).toSorted()).toEqual(['cancelled', 'completed']);
  await until('its permit is free', () => rig.daemon.lanes.stats().running === 0);
  slow.resolve();
});

test('a member has their own tasks: those of the owner are none for them, and guests have none', async () => {
  await using dir = await tempDir();
  const held = Promise.withResolvers<void>();
  await using rig = await start(dir.path, async () => {
    await held.promise;
    return 'done';
  });
  await rig.channel.deliver({ text: '/task secret plan' });
  await until('it has begun', () => rig.channel.texts().length === 1);
  const number = numberIn(rig.channel.texts()[0]);
  const other = { senderId: 'user-2', chatId: 'chat-2' };
  for (const [n, text] of [`/tasks ${number}`, `/tasks cancel ${number}`, '/tasks'].entries())
    await rig.channel.deliver({ ...other, text, platformId: `o${n}` });
  await until('they are answered', () => rig.channel.texts('chat-2').length === 3);
  const [shown, cancelled, listed] = rig.channel.texts('chat-2');
  expect([shown, cancelled]).toEqual(Array(2).fill(expect.stringMatching(`^There is no task ${number}: `)));
  expect(listed).toBe('There are no tasks. `/task WHAT` begins one.');
  expect(await statusOf(rig, number)).not.toBe('cancelled');
  held.resolve();
});

test('a failed task says how to go on, and goes on from its steps: nothing is paid for twice', async () => {
  await using dir = await tempDir();
  let isBroken = true;
  const model = scriptedModel((request) => {
    if (!isTask(request)) return `did ${askedIn(request)}`;
    if (resultsIn(request).length === 0) return { text: 'first', toolCalls: [{ name: 'list_dir', arguments: { path: '.' } }] };
    if (isBroken) throw new Error('broken');
    return 'whole';
  });
  await using rig = await start(dir.path, () => '', { model });
  await rig.channel.deliver({ text: '/task do it' });
  await until('it fails', () => rig.channel.texts().some((text) => text.startsWith('⚠️ Task')));
  const number = numberIn(rig.channel.texts()[0]);
  expect(rig.channel.texts().at(-1)).toContain(`\`/tasks resume ${number}\` goes on where it stopped.`);
  const before = model.requests.length;
  isBroken = false;
  await rig.channel.deliver({ text: `/tasks resume ${number}`, platformId: 'p2' });
  await until('it is done', () => rig.channel.texts().at(-1) === `✅ Task ${number} “do it” is done.\n\nwhole`);
  expect(model.requests).toHaveLength(before + 1);
  expect(await statusOf(rig, number)).toBe('completed');
});

test('a file that a task attached comes once, with the end that is its last', async () => {
  await using dir = await tempDir();
  let isWithheld = true;
  const model = scriptedModel((request) => {
    const done = resultsIn(request).length;
    if (done === 0) return { toolCalls: [{ name: 'write_file', arguments: { path: 'receipt.txt', content: 'paid' } }] };
    if (done === 1) return { toolCalls: [{ name: 'send_file', arguments: { file_path: 'receipt.txt' } }] };
    return isWithheld ? { fail: 'content-filter' } : 'whole';
  });
  await using rig = await start(dir.path, () => '', { model });
  await rig.channel.deliver({ text: '/task do it' });
  await until('it fails', () => rig.channel.texts().some((text) => text.startsWith('⚠️ Task')));
  const number = numberIn(rig.channel.texts()[0]);
  isWithheld = false;
  await rig.channel.deliver({ text: `/tasks resume ${number}`, platformId: 'p2' });
  await until('it is done', () => rig.channel.texts().some((text) => text.startsWith('✅ Task')));
  await rig.daemon.gateway.idle();
  expect(rig.channel.sent.flatMap(({ file }) => file?.name ?? [])).toEqual(['receipt.txt']);
});

test('in a group a task of another chat is none, also for its person: others read along', async () => {
  await using dir = await tempDir();
  const entry = { allowed_senders: ['user-1'], allowed_groups: ['*'], group_mode: 'always' };
  await using rig = await start(dir.path, (request) => (isTask(request) ? 'the secret offer' : 'ok'), { entry });
  await rig.channel.deliver({ text: '/task write it' });
  await until('it is done', () => rig.channel.texts('chat-1').length === 2);
  const number = numberIn(rig.channel.texts('chat-1')[0]);
  const group = { chatId: 'group', isGroup: true, mentionsBot: true } as const;
  for (const [n, text] of [`/tasks ${number}`, `/tasks cancel ${number}`].entries())
    await rig.channel.deliver({ ...group, text, platformId: `g${n}` });
  await until('they are answered', () => rig.channel.texts('group').length === 2);
  expect(rig.channel.texts('group')).toEqual(
    Array(2).fill(expect.stringMatching(`^Task ${number} does not belong to this chat: `)),
  );
});

test('in a group what a turn began is no task of the chat, and is refused by its own number', async () => {
  await using dir = await tempDir();
  const entry = { allowed_senders: ['user-1'], allowed_groups: ['*'], group_mode: 'always' };
  const spawn = { toolCalls: [{ name: 'spawn', arguments: { task: 'look on', label: 'look on' } }] };
  const script: ScriptFunction = (request) =>
    askedIn(request).endsWith('begin') && resultsIn(request).length === 0 ? spawn : 'ok';
  await using rig = await start(dir.path, script, { entry });
  const group = { chatId: 'group', isGroup: true, mentionsBot: true } as const;
  await rig.channel.deliver({ ...group, text: 'begin', platformId: 'g1' });
  const child = await until('it is begun', async () => (await rig.daemon.journal.tasks.children(1))[0]);
  await rig.daemon.gateway.idle();
  await rig.channel.deliver({ ...group, text: `/tasks ${child.number}`, platformId: 'g2' });
  await until('it is answered', () => rig.channel.texts('group').some((text) => text.includes('Nothing was changed')));
  expect(rig.channel.texts('group').at(-1)).toMatch(`There is no task ${child.number} here: `);
});
