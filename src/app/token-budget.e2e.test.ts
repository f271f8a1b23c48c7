// The token budget of a task and of what it begins, through the whole daemon: real tools, a journal on disk.
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { expect, test } from 'vitest';
import type { ModelRequest } from '../core/model.ts';
import { tempDir, until } from '../testing/fakes.ts';
import { type ScriptFunction, type ScriptStep, scriptedModel } from '../testing/scripted-model.ts';
import { TestChannel } from '../testing/test-channel.ts';
import { type TestDaemon, testDaemon } from '../testing/test-daemon.ts';
import { OPEN_TO_ALL } from '../testing/waiting-tools.ts';

/** Each model call uses 15 tokens. */
async function start(dataDir: string, model: ReturnType<typeof scriptedModel>, maxTokens: number): Promise<TestDaemon> {
  const sections = { tasks: { max_tokens: maxTokens } };
  return await testDaemon({ dataDir, model, channel: new TestChannel('test'), policy: OPEN_TO_ALL, sections });
}

const wordsOf = ({ messages }: ModelRequest): string => messages.findLast(({ role }) => role === 'user')?.content ?? '';
const isTask = (request: ModelRequest): boolean => request.messages.some(({ content }) => content.startsWith('[Task "'));
const resultsIn = ({ messages }: ModelRequest): string[] =>
  messages.filter(({ role }) => role === 'tool').map(({ content }) => content);

const dispatch = (task: string, budget?: number) => ({
  name: 'dispatch_subagent',
  arguments: { task_description: task, ...(budget === undefined ? {} : { token_budget: budget }) },
});
const spawn = (task: string, mode: 'sync' | 'background') => ({ name: 'spawn', arguments: { task, label: task, mode } });

/** `begin`: what the task does, by the number of results that it has. */
function tasksOf(begin: (results: readonly string[]) => ScriptStep, others: ScriptFunction): ScriptFunction {
  return (request, signal) => (isTask(request) ? begin(resultsIn(request)) : others(request, signal));
}

/** Budgets of the sub-agents on disk, by what they are called. */
function budgetsIn(dir: string): Record<string, number> {
  using db = new DatabaseSync(join(dir, 'journal.db'), { readOnly: true });
  const rows = db
    .prepare(
      "SELECT input ->> '$.child.label' AS label, input ->> '$.limits.maxTokens' AS tokens FROM run WHERE profile = 'subagent'",
    )
    .all();
  return Object.fromEntries(rows.map(({ label, tokens }) => [String(label), Number(tokens)]));
}

test('sub-agents get no more than their task has left, however they are begun, and after a restart as well', async () => {
  await using dir = await tempDir();
  let isHeld = true;
  const model = scriptedModel(
    tasksOf(
      (results) => {
        if (results.length === 0) return { toolCalls: [dispatch('a', 40), spawn('b', 'sync'), spawn('c', 'background')] };
        if (results.length === 3) return { toolCalls: [dispatch('d', 9_000_000), dispatch('e')] };
        return `all: ${results.slice(3).join(', ')}`;
      },
      (request) => (wordsOf(request).includes('\n\na') && isHeld ? { hang: true } : 'did it'),
    ),
  );
  {
    await using first = await start(dir.path, model, 200);
    await first.channel.deliver({ text: '/task do it all' });
    await until('they work', () => model.requests.length >= 4);
    expect(budgetsIn(dir.path)).toEqual({ a: 40, b: 33, c: 33 });
  }
  isHeld = false;
  await using second = await start(dir.path, model, 200);
  await until('it is done', () => second.channel.texts().some((text) => text.startsWith('✅ Task')));
  // 200 less two calls of its own, and what three were given.
  expect(budgetsIn(dir.path)).toEqual({ a: 40, b: 33, c: 33, d: 64 });
  const told = second.channel.texts().find((text) => text.startsWith('✅ Task'));
  expect(told).toMatch(/all: did it, Error: no sub-agent was begun: the tokens of this task are used up or given to sub-agents/);
});

test('a task is told at 80 % of its budget and ended at all of it, with what its sub-agents used', async () => {
  for (const [maxTokens, end] of [
    [75, 'is done.\n\nall: did it, did it, did it'],
    [60, 'was ended early.\n\non it'],
  ] as const) {
    await using dir = await tempDir();
    const begin = { text: 'on it', toolCalls: ['a', 'b', 'c'].map((task) => dispatch(task, 15)) };
    const work = tasksOf(
      (results) => (results.length === 0 ? begin : `all: ${results.join(', ')}`),
      () => 'did it',
    );
    const model = scriptedModel(work);
    await using rig = await start(dir.path, model, maxTokens);
    await rig.channel.deliver({ text: '/task do it all' });
    await until('it is over', () => rig.channel.texts().some((text) => text.includes(end)));
    const last = model.requests.at(-1)?.messages[0]?.content ?? '';
    if (maxTokens === 75) expect(last).toContain('60 of the 75 tokens of this task are used up or given to its sub-agents');
    else expect(model.requests).toHaveLength(4);
  }
});
