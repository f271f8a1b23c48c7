// Section 10, case 4: the working messages of a task.
import { expect, test } from 'vitest';
import type { ModelAccess, ModelQuestion, ModelReply } from '../core/ask-model.ts';
import type { ModelRequest } from '../core/model.ts';
import type { SessionMessage } from '../core/session.ts';
import { profiles } from '../runs/profile.ts';
import { agentRun, countingTool, line, MemoryStepLog } from '../testing/agent-run.ts';
import { expectSound } from '../testing/any-history.ts';
import { scriptedModel } from '../testing/scripted-model.ts';
import { runAgent } from './run.ts';

class Summaries implements ModelAccess {
  readonly questions: ModelQuestion[] = [];
  readonly #reply: (n: number) => ModelReply | Promise<ModelReply>;

  constructor(
    reply: (n: number) => ModelReply | Promise<ModelReply> = (n) => ({ kind: 'answer', text: `summary ${n}`, isComplete: true }),
  ) {
    this.#reply = reply;
  }

  async window(): Promise<number> {
    return 32_000;
  }

  async ask(question: ModelQuestion, signal: AbortSignal): Promise<ModelReply> {
    signal.throwIfAborted();
    this.questions.push(question);
    return await this.#reply(this.questions.length);
  }
}

const limits = profiles().task;
const said = (count: number): readonly SessionMessage[] =>
  Array.from({ length: count }, (_, n) => line(n % 2 === 0 ? 'user' : 'assistant', `said ${n}`, { id: `h${n}` }));
const body = ({ messages }: ModelRequest): readonly string[] => messages.slice(1).map(({ content }) => content);
const call = (n: number) => ({ toolCalls: [{ name: 'echo', arguments: { n } }] });

/** A task whose first model call has this many working messages, the task itself among them. */
async function withMessages(count: number, summaries = new Summaries()) {
  const model = scriptedModel(['done']);
  await runAgent(agentRun({ model, summaries, limits, history: said(count - 1) }));
  const [request] = model.requests;
  if (!request) throw new Error('no model call');
  return { shown: body(request), request, summaries };
}

test('twelve messages stay as they are; thirteen become a summary and the newest eight', async () => {
  const twelve = await withMessages(12);
  expect([twelve.shown.length, twelve.summaries.questions.length]).toEqual([12, 0]);
  const thirteen = await withMessages(13);
  expect(thirteen.summaries.questions).toHaveLength(1);
  expect(thirteen.shown[0]).toContain('compacted from 5 messages');
  expect(thirteen.shown[0]).toContain('summary 1');
  expect(thirteen.shown.slice(1)).toEqual([...Array.from({ length: 7 }, (_, n) => `said ${n + 5}`), 'please work']);
  const [{ task = '', data = '' } = {}] = thirteen.summaries.questions;
  for (const part of ['intent', 'decisions', 'tool results', 'approach', 'errors']) expect(task).toContain(part);
  expect(data).toContain('said 4');
  expect(data).not.toContain('said 5');
});

test('a split that lands on a tool result moves back to its call', async () => {
  const summaries = new Summaries();
  const calls = ['x', 'y', 'z'].map((id) => ({ id, name: 'echo', arguments: '{}' }));
  const history = [
    ...said(3),
    line('assistant', 'three calls', { id: 'c', tool_calls: calls }),
    ...calls.map(({ id }) => line('tool', `result ${id}`, { id: `r${id}`, tool_call_id: id })),
    ...said(5).map((each) => ({ ...each, id: `${each.id}b` })),
  ];
  const model = scriptedModel(['done']);
  await runAgent(agentRun({ model, summaries, limits, history }));
  const [request] = model.requests;
  expect(request && body(request).slice(1, 5)).toEqual(['three calls', 'result x', 'result y', 'result z']);
  expectSound(request?.messages ?? []);
});

/** Seven calls with their results: the messages grow past twelve once. */
function busy() {
  const model = scriptedModel([...Array.from({ length: 7 }, (_, n) => call(n)), 'done']);
  return { model, tools: [countingTool()], limits };
}

test('the summary grows with the task, and the task itself stays word for word', async () => {
  const summaries = new Summaries();
  const { model, ...rest } = busy();
  const run = agentRun({ ...rest, model, summaries });
  expect((await runAgent(run)).outcome).toEqual({ kind: 'answered', text: 'done' });
  expect(summaries.questions).toHaveLength(1);
  const last = model.requests.at(-1);
  expect(last && body(last)[0]).toBe('please work');
  expect(last && body(last)[1]).toContain('summary 1');
  expectSound(last?.messages ?? []);
});

test('a later summary is made of the earlier one and what came since', async () => {
  const summaries = new Summaries();
  const model = scriptedModel([...Array.from({ length: 9 }, (_, n) => call(n)), 'done']);
  await runAgent(agentRun({ ...busy(), model, summaries }));
  expect(summaries.questions).toHaveLength(2);
  expect(summaries.questions[1]?.data).toContain('summary 1');
  expect(
    model.requests
      .at(-1)
      ?.messages.map(({ content }) => content)
      .join('\n'),
  ).not.toContain('summary 1');
});

test('a replay pays for no summary again, and shows the model the same', async () => {
  const { model: before, ...rest } = busy();
  const first = agentRun({ ...rest, model: before, summaries: new Summaries() });
  await runAgent(first);
  const shown = before.requests.at(-1);
  // The last answer was lost with the process.
  const steps = new MemoryStepLog(first.steps.writes.slice(0, -1));
  const summaries = new Summaries();
  const model = scriptedModel(['done']);
  const again = await runAgent(agentRun({ ...busy(), model, summaries, steps }));
  expect([again.outcome.kind, summaries.questions.length]).toEqual(['answered', 0]);
  expect(model.requests[0]?.messages.map(({ content }) => content)).toEqual(shown?.messages.map(({ content }) => content));
});

test('without a summary the newest messages alone stay, and a model that fails is asked twice at most', async () => {
  const summaries = new Summaries(() => ({ kind: 'failed', reason: 'no' }));
  const run = agentRun({ ...busy(), summaries, limits: { ...limits, maxIterations: 20 } });
  const model = scriptedModel([...Array.from({ length: 15 }, (_, n) => call(n)), 'done']);
  expect((await runAgent({ ...run, model })).outcome.kind).toBe('answered');
  expect(summaries.questions).toHaveLength(2);
  const sizes = model.requests.map((request) => body(request).length);
  expect(Math.max(...sizes)).toBeLessThanOrEqual(13);
  for (const { messages } of model.requests) {
    expectSound(messages);
    expect(messages[1]?.content).toBe('please work');
  }
});

test('a conversation is not compacted while it runs', async () => {
  const summaries = new Summaries();
  const model = scriptedModel(['done']);
  await runAgent(agentRun({ model, summaries, history: said(30) }));
  expect([model.requests[0]?.messages.length, summaries.questions.length]).toEqual([32, 0]);
});

test('a stop while a summary is made ends the run', async () => {
  const stop = new AbortController();
  const summaries = new Summaries(() => {
    stop.abort(new Error('stopped'));
    throw new Error('stopped');
  });
  const run = agentRun({ model: scriptedModel(['done']), summaries, limits, history: said(20), signal: stop.signal });
  expect((await runAgent(run)).outcome).toEqual({ kind: 'aborted' });
});

test('the summary knows what its messages had read', async () => {
  const summaries = new Summaries();
  const model = scriptedModel(['done']);
  const run = agentRun({
    model,
    summaries,
    limits,
    history: said(20).map((each, n) => (n === 3 ? { ...each, taint: 2 } : each)),
  });
  await runAgent(run);
  expect(run.steps.writes.find(({ callId }) => callId === 'compacted')?.value).toMatchObject({ taint: 2 });
});
