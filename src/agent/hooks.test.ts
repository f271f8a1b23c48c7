import { expect, test } from 'vitest';
import type { HookAnswer, HookEvent, HookFacts, Hooks } from '../core/hooks.ts';
import { agentRun, anyAccess, countingTool, MemoryStepLog } from '../testing/agent-run.ts';
import { until } from '../testing/fakes.ts';
import { scriptedModel } from '../testing/scripted-model.ts';
import { runAgent } from './run.ts';

const ASK = { toolCalls: [{ name: 'echo', arguments: { a: 1 } }] };

/** Answers as given for each event, and allows the others. */
function hooks(answers: Partial<Record<HookEvent, HookAnswer>> = {}): Hooks & { readonly heard: HookFacts[] } {
  const heard: HookFacts[] = [];
  const hear = (facts: HookFacts): void => {
    heard.push(facts);
  };
  return {
    ...{ heard, has: () => true, tell: hear },
    async ask(facts) {
      hear(facts);
      return answers[facts.event] ?? { kind: 'allow' };
    },
  };
}

test('hooks hear of each model call and each tool call, before and after it', async () => {
  const at = hooks();
  await runAgent(agentRun({ tools: [countingTool()], hooks: at, model: scriptedModel([ASK, 'done']) }));

  const about = { run_id: 'test/bot/m-1', session_id: '_main:test:chat-1', channel: 'test', principal: 'test:user-1' };
  const call = { tool_name: 'echo', tool_id: expect.any(String), arguments: { a: 1 } };
  const answer = { event: 'after_llm_call', provider_name: 'scripted', model: 'model', latency_ms: 0 };
  expect(at.heard).toEqual([
    { ...about, event: 'before_llm_call', model: 'scripted/model', iteration: 1, message_count: 1 },
    expect.objectContaining({ ...about, ...answer, iteration: 1, has_tool_calls: true, cumulative_input_tokens: 10 }),
    { ...about, ...call, event: 'before_tool_call' },
    { ...about, ...call, event: 'after_tool_call', result: 'echo {"a":1}', success: true, duration_ms: 0 },
    { ...about, event: 'before_llm_call', model: 'scripted/model', iteration: 2, message_count: 3 },
    expect.objectContaining({ ...about, ...answer, iteration: 2, has_tool_calls: false, cumulative_input_tokens: 20 }),
  ]);
});

test('a call that a hook refuses never begins, and the model reads why', async () => {
  const echo = countingTool();
  const at = hooks({ before_tool_call: { kind: 'deny', reason: 'not on Sundays', key: 'hooks[2]' } });
  const run = agentRun({ tools: [echo], hooks: at, model: scriptedModel([ASK, 'done']) });
  const { lines } = await runAgent(run);

  expect(echo.runs).toBe(0);
  expect(lines.find(({ role }) => role === 'tool')?.content).toBe('[HOOK DENIED] not on Sundays');
  expect(run.events).toContainEqual(
    expect.objectContaining({ type: 'tool.denied', reason: 'a hook said: not on Sundays', key: 'hooks[2]' }),
  );
  expect(run.steps.writes.some(({ state }) => state === 'STARTED')).toBe(false);
});

test('the policy decides on the arguments that a hook gave, and the tool runs with them', async () => {
  const echo = countingTool();
  const judged: unknown[] = [];
  const decide = ({ args }: { readonly args: unknown }) => {
    judged.push(args);
    return { kind: 'allow', reason: '' } as const;
  };
  const access = anyAccess();
  const at = hooks({ before_tool_call: { kind: 'replace', args: '{"a":2}' } });
  const run = agentRun({
    tools: [echo],
    hooks: at,
    access: { ...access, policy: { ...access.policy, decide } },
    model: scriptedModel([ASK, 'done']),
  });
  const { lines } = await runAgent(run);

  expect(judged).toEqual([{ a: 2 }]);
  expect(lines.find(({ role }) => role === 'tool')?.content).toBe('echo {"a":2}');
  expect(lines.find(({ tool_calls: calls }) => calls)?.tool_calls?.[0]?.arguments).toBe('{"a":1}');
});

test('after a crash a call that may run again runs with the arguments it began with, and no hook is asked', async () => {
  const echo = countingTool({ idempotent: true });
  const first = agentRun({
    tools: [echo],
    hooks: hooks({ before_tool_call: { kind: 'replace', args: '{"a":2}' } }),
    model: scriptedModel([ASK, 'done']),
  });
  await runAgent(first);
  const started = first.steps.writes.findIndex(({ state }) => state === 'STARTED');
  const steps = new MemoryStepLog(first.steps.writes.slice(0, started + 1));
  const later = hooks({ before_tool_call: { kind: 'deny', reason: '', key: '' } });
  const { lines } = await runAgent(agentRun({ tools: [echo], hooks: later, steps, model: scriptedModel(['done']) }));

  expect(lines.find(({ role }) => role === 'tool')?.content).toBe('echo {"a":2}');
  expect(later.heard.map(({ event }) => event)).not.toContain('before_tool_call');
});

test('a model call that a hook refuses ends the turn with an error, and is not made', async () => {
  const model = scriptedModel(['never']);
  const at = hooks({ before_llm_call: { kind: 'deny', reason: 'the month is over', key: 'hooks[0]' } });
  const { outcome } = await runAgent(agentRun({ hooks: at, model }));

  expect(model.requests).toEqual([]);
  expect(outcome).toMatchObject({
    kind: 'failed',
    failure: { code: 'GH2121', message: expect.stringContaining('the month is over') },
  });
});

test('a stop while a hook is asked ends the run as stopped', async () => {
  const stop = new AbortController();
  let isAsked = false;
  const waiting: Hooks = {
    ...{ has: () => true, tell: () => undefined },
    ask: (_, signal) =>
      new Promise((_resolve, reject) => {
        isAsked = true;
        signal.addEventListener('abort', () => reject(signal.reason));
      }),
  };
  const running = runAgent(agentRun({ hooks: waiting, model: scriptedModel(['never']), signal: stop.signal }));
  await until('the hook is asked', () => isAsked);
  stop.abort(new Error('stopped'));
  expect((await running).outcome).toEqual({ kind: 'aborted' });
});
