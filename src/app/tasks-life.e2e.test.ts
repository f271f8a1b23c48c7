// What a task survives: a restart in each of its states, a cancel from beside the daemon, a chat that is
// gone.
import { existsSync } from 'node:fs';
import { expect, test } from 'vitest';
import type { ModelRequest } from '../core/model.ts';
import { openJournal } from '../journal/open.ts';
import { systemClock } from '../lib/clock.ts';
import { sessionWorkspace } from '../runs/workspace.ts';
import { TaskBook } from '../tasks/book.ts';
import { tempDir, until } from '../testing/fakes.ts';
import { job } from '../testing/jobs.ts';
import { type ScriptedModel, type ScriptFunction, scriptedModel } from '../testing/scripted-model.ts';
import { SteadyClock } from '../testing/steady-clock.ts';
import { TestChannel } from '../testing/test-channel.ts';
import { type TestDaemon, testDaemon } from '../testing/test-daemon.ts';
import { OPEN_TO_ALL, waitingTools } from '../testing/waiting-tools.ts';
import { remainsFor } from './compose/store.ts';

const OWNER = { channel: 'test', chat_id: 'owner', sender_ids: ['user-1'] };
const OPERATOR = { principal: 'cli:local', role: 'owner', mode: 'full', policies: [] } as const;

const askedIn = ({ messages }: ModelRequest): string => messages.findLast(({ role }) => role === 'user')?.content ?? '';
const isTask = (request: ModelRequest): boolean => request.messages.some(({ content }) => content.startsWith('[Task "'));
const resultsIn = ({ messages }: ModelRequest): string[] =>
  messages.filter(({ role }) => role === 'tool').map(({ content }) => content);
const codeIn = (rig: TestDaemon): string => /\/allow ([A-Z2-9]{6})/.exec(rig.channel.texts().join('\n'))?.[1] ?? '';
const CHILDREN = ['a', 'b', 'c'].map((task) => ({ name: 'run_child', arguments: { task } }));

async function start(dataDir: string, model: ScriptedModel, more: object = {}): Promise<TestDaemon> {
  return await testDaemon({
    ...{ dataDir, model, channel: new TestChannel('test'), policy: OPEN_TO_ALL, daemon: { extraTools: [waitingTools] } },
    ...{ entry: { allowed_senders: ['user-1', 'user-2'] }, gateway: { owner: [OWNER] } },
    ...more,
  });
}

const taskOf = async ({ daemon }: TestDaemon) => (await daemon.journal.tasks.list({ limit: 1 }))[0];
const statusOf = async (rig: TestDaemon): Promise<string | undefined> => (await taskOf(rig))?.status;

/** The command line beside the daemon, in a journal of its own. */
async function beside<T>(dir: string, use: (book: TaskBook) => Promise<T>): Promise<T> {
  await using opened = await openJournal({ dir, clock: systemClock, checks: false, remains: remainsFor({ clock: systemClock }) });
  return await use(new TaskBook({ journal: opened.journal, clock: systemClock, keepDays: () => 30, reserve: 0 }));
}

test('section 10 case 7: a task goes on over a restart in each of its states, and nothing is paid for or asked twice', async () => {
  await using dir = await tempDir();
  let isHeld = true;
  let code = '';
  const model = scriptedModel((request) => {
    if (!isTask(request)) return askedIn(request) === 'a' && isHeld ? { hang: true } : `did ${askedIn(request)}`;
    const results = resultsIn(request);
    if (results.length === 0) return { text: '', toolCalls: CHILDREN };
    if (results.length === 3) return { text: '', toolCalls: [{ name: 'ask_person', arguments: { question: 'May I?' } }] };
    return `all: ${results.join(', ')}`;
  });
  // pending: it was accepted, and its process ended before it began.
  await beside(dir.path, async (book) => {
    const to = { channel: 'test', account: 'bot', chatId: 'chat-1' };
    await book.add({ text: 'do it all', client: 'cli', key: 'k', authority: OPERATOR, replyTo: to });
    expect((await book.list(OPERATOR, { limit: 1 }))[0]).toMatchObject({ status: 'pending' });
  });
  {
    // waiting_subagents, with one of them running.
    await using first = await start(dir.path, model);
    await until('it waits', async () => (await statusOf(first)) === 'waiting_subagents');
    await until('two ended', async () => (await first.daemon.journal.counts()).inbox.DONE === 2);
  }
  isHeld = false;
  {
    await using second = await start(dir.path, model);
    await until('it asks', () => codeIn(second));
    expect(await statusOf(second)).toBe('waiting_input');
    expect(second.channel.texts()).toHaveLength(1);
    code = codeIn(second);
  }
  const before = model.requests.length;
  {
    await using third = await start(dir.path, model);
    await until('it is at rest', () => third.daemon.lanes.isAtRest);
    expect([await statusOf(third), third.channel.texts().length, model.requests.length]).toEqual(['waiting_input', 0, before]);
    await third.channel.deliver({ text: `/allow ${code}` });
    await until('it is done', () => third.channel.texts().at(-1)?.startsWith('✅ Task'));
    expect(third.channel.texts().at(-1)).toMatch(/is done\.\n\nall: did a, did b, did c, allow$/);
  }
  // The task three times, b and c once, and a twice: its first call was cut off.
  expect(model.requests).toHaveLength(7);
});

test('a cancel from beside the daemon ends the task and what it began within a second: calls under way are broken off', async () => {
  await using dir = await tempDir();
  const ended: number[] = [];
  const script: ScriptFunction = (request, signal) => {
    if (isTask(request)) return { text: '', toolCalls: CHILDREN };
    signal.addEventListener('abort', () => ended.push(1), { once: true });
    return { hang: true };
  };
  const model = scriptedModel(script);
  await using rig = await start(dir.path, model);
  await rig.channel.deliver({ text: '/task do it all' });
  await until('its children work', () => model.requests.length === 4);
  await until('it waits', async () => (await statusOf(rig)) === 'waiting_subagents');
  const task = await taskOf(rig);
  const cancelled = await beside(dir.path, (book) => book.cancel(OPERATOR, String(task?.number)));
  expect(cancelled.status).toBe('cancelled');
  // Stands still with this process, so that only what it did counts.
  const clock = new SteadyClock();
  const at = clock.monotonic();
  await until('their calls are broken off', () => clock.monotonic() && ended.length === 3);
  expect(clock.monotonic() - at).toBeLessThan(1_000);
  await until('their permits are free', () => rig.daemon.lanes.stats().running === 0);
  const children = await rig.daemon.journal.tasks.children(task?.number ?? 0);
  expect(children.map(({ status }) => status)).toEqual(['cancelled', 'cancelled', 'cancelled']);
});

test('/stop ends the tasks of its chat too', async () => {
  await using dir = await tempDir();
  await using rig = await start(
    dir.path,
    scriptedModel(() => ({ hang: true })),
  );
  await rig.channel.deliver({ text: '/task long work' });
  await until('it runs', async () => (await statusOf(rig)) === 'running');
  await rig.channel.deliver({ text: '/stop', platformId: 'p2' });
  await until('it is told', () => rig.channel.texts().at(-1)?.startsWith('🛑 Cancelled.'));
  expect(await statusOf(rig)).toBe('cancelled');
});

test('/stop ends a task of the command line that answers in its chat and waits for sub-agents', async () => {
  await using dir = await tempDir();
  const model = scriptedModel((request) => (isTask(request) ? { text: '', toolCalls: CHILDREN } : { hang: true }));
  await using rig = await start(dir.path, model);
  const to = { channel: 'test', account: 'bot', chatId: 'chat-1' };
  await beside(dir.path, (book) => book.add({ text: 'do it all', client: 'cli', key: 'k', authority: OPERATOR, replyTo: to }));
  await until(
    'its sub-agents are at work',
    async () => (await statusOf(rig)) === 'waiting_subagents' && model.requests.length === 4,
  );
  await rig.channel.deliver({ text: 'stop', platformId: 'p2' });
  await until('it is told', () => rig.channel.texts().at(-1)?.startsWith('🛑 Cancelled.'));
  await until('nothing runs', () => rig.daemon.lanes.stats().running === 0);
  expect(await statusOf(rig)).toBe('cancelled');
});

test('P49: a result that its chat does not take goes to the chat that its person prefers, and stands in the record anyway', async () => {
  await using dir = await tempDir();
  await using rig = await start(dir.path, scriptedModel(['the report']), {
    sections: { tasks: { notify: { 'test:user-2': { channel: 'test', chat_id: 'chat-of-2' } } } },
  });
  rig.channel.results.push({ kind: 'sent', platformId: 's' }, { kind: 'refused', reason: 'invalid', detail: 'the chat is gone' });
  await rig.channel.deliver({ text: '/task report', senderId: 'user-2' });
  await until('it is told elsewhere', () => rig.channel.texts('chat-of-2').length === 1);
  expect(rig.channel.texts('chat-of-2')).toEqual([
    expect.stringMatching(
      /^This could not be delivered where it was asked for\.\n\n✅ Task \d+ “report” is done\.\n\nthe report$/,
    ),
  ]);
  expect(await taskOf(rig)).toMatchObject({ status: 'completed', result: { ok: true, output: 'the report' } });
  const key = (await taskOf(rig))?.key;
  expect(await rig.daemon.journal.part(`${key}#elsewhere#0`)).toMatchObject({ part: { messageId: key } });
});

test.each([
  ['the channel it was asked on is gone', { channel: 'gone', account: 'bot', chatId: 'chat-1' }],
  ['that channel has another account now', { channel: 'test', account: 'earlier-bot', chatId: 'chat-1' }],
])('P49: where %s, the owner is told in their own chat', async (_what, to) => {
  await using dir = await tempDir();
  await beside(dir.path, (book) => book.add({ text: 'report', client: 'web', key: 'k', authority: OPERATOR, replyTo: to }));
  await using rig = await start(dir.path, scriptedModel(['the report']));
  await until('it is told', () => rig.channel.texts('owner').length === 1);
  expect(rig.channel.texts('owner')[0]).toContain('the report');
});

test('P52: a job with profile task makes a task of each due time, with a history of its own', async () => {
  await using dir = await tempDir();
  const model = scriptedModel(['watered']);
  await using rig = await start(dir.path, model);
  await rig.channel.deliver({ text: '/tasks' });
  const due = systemClock.now();
  const payload = {
    text: 'water the plants',
    profile: 'task',
    session: '_main:test:chat-1',
    deliver: { channel: 'test', chatId: 'chat-1' },
  } as const;
  const made = job({ name: 'Plants', schedule: { kind: 'every', ms: 600_000, from: due }, payload, nextDue: due });
  await rig.daemon.journal.commit([{ kind: 'job', job: made }]);
  await until('it answers', () => rig.channel.texts().at(-1) === 'watered');
  expect(await taskOf(rig)).toMatchObject({
    ...{ key: `job/${made.id}/${due}`, title: 'Plants', status: 'completed', session: `job:${made.id}` },
    ...{ workspace: '_main:test:chat-1', result: { ok: true, output: 'watered' } },
  });
});

test('the model begins a task with start_task: once, with the authority and the taint of its run, and none within a task', async () => {
  await using dir = await tempDir();
  const model = scriptedModel((request) => {
    if (isTask(request)) return request.tools?.some(({ name }) => name === 'start_task') ? 'nested' : 'the report';
    return resultsIn(request).length > 0
      ? `told: ${resultsIn(request).at(-1)}`
      : { text: '', toolCalls: [{ name: 'start_task', arguments: { task: 'write the report', title: 'Report' } }] };
  });
  await using rig = await start(dir.path, model);
  await rig.channel.deliver({ text: 'please write a report' });
  await until('it is done', () => rig.channel.texts().some((text) => text.startsWith('✅ Task')));
  expect(rig.channel.texts().toSorted()).toEqual([
    expect.stringMatching(/^told: Begun: task \d+ "Report"/),
    expect.stringMatching(/^✅ Task \d+ “Report” is done\.\n\nthe report$/),
  ]);
  expect(await taskOf(rig)).toMatchObject({ principal: 'test:user-1', workspace: '_main:test:chat-1', text: 'write the report' });
});

test('what a task left goes when it is kept no longer: its conversation, and its files where they are its own', async () => {
  await using dir = await tempDir();
  let session = '';
  {
    await beside(dir.path, async (book) => {
      const task = await book.add({ text: 'x', client: 'cli', key: 'k', authority: OPERATOR, keepDays: 1 });
      session = task.session;
    });
    const model = scriptedModel([
      { text: '', toolCalls: [{ name: 'write_file', arguments: { path: 'a.txt', content: 'a' } }] },
      'ok',
    ]);
    await using rig = await start(dir.path, model);
    await until('it is done', async () => (await statusOf(rig)) === 'completed');
  }
  const folder = sessionWorkspace(dir.path, session);
  expect(existsSync(`${folder}/a.txt`)).toBe(true);
  const later = { ...systemClock, now: () => systemClock.now() + 3 * 86_400_000 };
  await using rig = await start(dir.path, scriptedModel([]), { daemon: { clock: later } });
  await until('its row is gone', async () => (await taskOf(rig)) === undefined);
  expect(existsSync(folder)).toBe(false);
});

test('section 10 case 12: a task whose sub-agents all fail goes on with what failed, and may still be completed', async () => {
  await using dir = await tempDir();
  const model = scriptedModel((request) => {
    if (!isTask(request)) return { fail: 'bad-request' };
    const results = resultsIn(request);
    if (results.length === 0) return { text: '', toolCalls: CHILDREN };
    return results.every((result) => result.startsWith('Error: ')) ? `done alone, ${results.length} failed` : 'wrong';
  });
  await using rig = await start(dir.path, model);
  await rig.channel.deliver({ text: '/task do it all' });
  await until('it is done', () => rig.channel.texts().at(-1)?.startsWith('✅ Task'));
  expect(rig.channel.texts().at(-1)).toMatch(/done alone, 3 failed$/);
  const task = await taskOf(rig);
  const children = await rig.daemon.journal.tasks.children(task?.number ?? 0);
  expect([task?.status, ...children.map(({ status }) => status)]).toEqual(['completed', 'failed', 'failed', 'failed']);
});
