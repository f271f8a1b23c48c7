import { expect, test } from 'vitest';
import type { AgentRun } from '../core/turn.ts';
import { profiles } from '../runs/profile.ts';
import { agentRun, countingTool, MemoryStepLog } from '../testing/agent-run.ts';
import { type Script, scriptedModel } from '../testing/scripted-model.ts';
import { runAgent } from './run.ts';

const { task: TASK } = profiles();
const call = (n: number) => ({ name: 'echo', arguments: { n } });
const calls = (count: number) => Array.from({ length: count }, (_, n) => call(n));

function taskRun(script: Script, override: Partial<Omit<AgentRun, 'clock' | 'steps'>> & { steps?: MemoryStepLog } = {}) {
  const tool = countingTool();
  const model = scriptedModel(script);
  return { tool, model, run: agentRun({ tools: [tool], model, limits: TASK, ...override }) };
}

test('section 10 case 1: at the hard limit with calls pending each call has its result, and the answer is not empty', async () => {
  const { run, tool } = taskRun((request) => ({ text: '', toolCalls: [call(request.messages.length)] }));
  const result = await runAgent(run);
  expect(result.outcome).toMatchObject({ kind: 'limit', limit: 'iterations' });
  expect(result.outcome.kind === 'limit' && result.outcome.text).toMatch(
    /^What the tools said last:\n- echo [\s\S]+\[Ended before it was done/,
  );
  expect(tool.runs).toBe(10);
  const asked = result.lines.flatMap(({ tool_calls: own = [] }) => own.map(({ id }) => id));
  const answered = result.lines.flatMap(({ tool_call_id: id }) => (id === undefined ? [] : [id]));
  expect(answered).toEqual(asked);
});

test('section 10 case 1: a task with words answers with the last of them', async () => {
  let answers = 0;
  const { run } = taskRun(() => {
    // The request alone does not tell: older messages of a task become a summary.
    const n = answers;
    answers += 1;
    return { text: n < 4 ? `note ${n}` : '', toolCalls: [call(n)] };
  });
  expect(await runAgent(run)).toMatchObject({
    outcome: { text: 'note 3\n\n[Ended before it was done: this turn reached its limit of 10 model calls.]' },
  });
});

test('section 10 case 2: of seven calls five run and two are skipped, with the ids matched one to one', async () => {
  const { run, tool, model } = taskRun([{ text: '', toolCalls: calls(7) }, 'done']);
  const { lines } = await runAgent(run);
  expect(tool.runs).toBe(5);
  const ids = lines.flatMap(({ tool_calls: own = [] }) => own.map(({ id }) => id));
  expect(new Set(ids).size).toBe(7);
  const results = lines.filter(({ role }) => role === 'tool');
  expect(results.map(({ tool_call_id: id }) => id)).toEqual(ids);
  expect(results.slice(0, 5).map(({ content }) => content)).toEqual(
    calls(5).map(({ arguments: args }) => `echo ${JSON.stringify(args)}`),
  );
  for (const { content } of results.slice(5))
    expect(content).toContain('skipped: too many calls in one answer, only the first 5 ran');
  expect(model.requests).toHaveLength(2);
});

test('duplicates are removed before the first five are counted', async () => {
  const { run, tool } = taskRun([{ text: '', toolCalls: [call(0), call(0), call(0), ...calls(5)] }, 'done']);
  const { lines } = await runAgent(run);
  expect(tool.runs).toBe(5);
  expect(lines.some(({ content }) => content.includes('skipped'))).toBe(false);
});

test('a resumed task skips what it skipped, also where more calls may run by now', async () => {
  const first = taskRun([{ text: '', toolCalls: calls(7) }, 'done']);
  await runAgent(first.run);
  const steps = new MemoryStepLog(first.run.steps.writes.filter(({ kind, n }) => kind === 'tool' || n === 0));
  const again = taskRun(['done'], { steps, limits: { ...TASK, callsRun: 64 } });
  const { lines } = await runAgent(again.run);
  expect(again.tool.runs).toBe(0);
  expect(lines.filter(({ content }) => content.includes('skipped: too many'))).toHaveLength(2);
});

test('a session runs all of seven calls', async () => {
  const { run, tool } = taskRun([{ text: '', toolCalls: calls(7) }, 'done'], { limits: profiles().session });
  await runAgent(run);
  expect(tool.runs).toBe(7);
});

test.each([
  [79, 'base', 'answered'],
  [80, 'told', 'answered'],
  [100, 'ended', 'limit'],
])('section 10 case 8: at %d %% of its token budget a task is %s', async (spent, what, kind) => {
  const usage = { tokensIn: spent, tokensOut: 0, tokensCached: 0 };
  const script: Script = [
    { text: 'half', toolCalls: [call(0)], usage },
    { text: 'whole', usage: { ...usage, tokensIn: 0 } },
  ];
  const { run, model } = taskRun(script, { limits: { ...TASK, maxTokens: 100 } });
  const { outcome } = await runAgent(run);
  expect(outcome.kind).toBe(kind);
  const system = model.requests[1]?.messages[0]?.content;
  if (what === 'base') expect(system).not.toContain('tokens of this task');
  if (what === 'told') expect(system).toContain('80 of the 100 tokens of this task are used up');
  if (what === 'ended') expect(outcome).toMatchObject({ limit: 'tokens', text: expect.stringMatching(/^half\n\n\[Ended/) });
});

test('section 10 case 8: without a budget nothing is said or ended', async () => {
  const usage = { tokensIn: 10_000_000, tokensOut: 0, tokensCached: 0 };
  const { run, model } = taskRun([
    { text: '', toolCalls: [call(0)], usage },
    { text: 'whole', usage },
  ]);
  expect((await runAgent(run)).outcome).toEqual({ kind: 'answered', text: 'whole' });
  expect(model.requests[1]?.messages[0]?.content).not.toContain('tokens of this task');
});

test('a resumed task has the tools it began with: one that is gone is an error result, one that came later is none of its', async () => {
  const first = taskRun([{ text: '', toolCalls: [call(0)] }, 'done'], { keepsTools: true });
  await runAgent(first.run);
  const steps = new MemoryStepLog(first.run.steps.writes.filter(({ kind, n }) => kind === 'tool' || n === 0));
  const later = countingTool({ name: 'later' });
  const model = scriptedModel([
    {
      text: '',
      toolCalls: [
        { name: 'echo', arguments: { n: 1 } },
        { name: 'later', arguments: {} },
      ],
    },
    'done',
  ]);
  const { lines } = await runAgent(agentRun({ tools: [later], model, limits: TASK, keepsTools: true, steps }));
  expect(model.requests[0]?.tools).toEqual([]);
  expect(later.runs).toBe(0);
  const results = lines.filter(({ role }) => role === 'tool').map(({ content }) => content);
  expect(results).toEqual([
    'echo {"n":0}',
    'Error: unknown tool echo. Available: none',
    'Error: unknown tool later. Available: none',
  ]);
});

test('a run of a conversation is offered what there is now', async () => {
  const first = taskRun([{ text: '', toolCalls: [call(0)] }, 'done']);
  await runAgent(first.run);
  const steps = new MemoryStepLog(first.run.steps.writes.filter(({ kind, n }) => kind === 'tool' || n === 0));
  const model = scriptedModel(['done']);
  await runAgent(agentRun({ tools: [countingTool({ name: 'later' })], model, steps }));
  expect(model.requests[0]?.tools?.map(({ name }) => name)).toEqual(['later']);
});

test.each([
  [69, 'base', 'answered'],
  [70, 'told', 'answered'],
  [90, 'ended', 'limit'],
])('at %d tokens of its sub-agents, beside 10 of its own 100, a task is %s', async (below, what, kind) => {
  const usage = { tokensIn: 10, tokensOut: 0, tokensCached: 0 };
  const script: Script = [{ text: 'half', toolCalls: [call(0)], usage }, 'whole'];
  const usedBelow = async () => (model.requests.length === 0 ? 0 : below);
  const { run, model } = taskRun(script, { limits: { ...TASK, maxTokens: 100 }, usedBelow });
  const { outcome } = await runAgent(run);
  expect(outcome.kind).toBe(kind);
  const system = model.requests[1]?.messages[0]?.content;
  if (what === 'base') expect(system).not.toContain('tokens of this task');
  if (what === 'told') expect(system).toContain('80 of the 100 tokens of this task are used up or given to its sub-agents');
  if (what === 'ended') expect(outcome).toMatchObject({ limit: 'tokens', text: expect.stringMatching(/^half\n\n\[Ended/) });
});

test('what sub-agents have used by now ends no run before an answer that is recorded', async () => {
  const steps = new MemoryStepLog();
  const script: Script = [{ text: 'half', toolCalls: [call(0)] }, 'whole'];
  const limits = { ...TASK, maxTokens: 100 };
  await runAgent(taskRun(script, { steps, limits }).run);
  const { run, model } = taskRun([], { steps: new MemoryStepLog(steps.writes), limits, usedBelow: async () => 1_000 });
  expect((await runAgent(run)).outcome).toEqual({ kind: 'answered', text: 'whole' });
  expect(model.requests).toEqual([]);
});
