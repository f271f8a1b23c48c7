import { expect, test } from 'vitest';
import type { StepRecord } from '../core/step.ts';
import type { Tool } from '../core/tool.ts';
import { agentRun, countingTool, MemoryStepLog } from '../testing/agent-run.ts';
import { FakeClock } from '../testing/fakes.ts';
import { scriptedModel } from '../testing/scripted-model.ts';
import { runAgent } from './run.ts';

const script = () => scriptedModel([{ toolCalls: [{ name: 'echo' }] }, 'done']);
const ofCalls = (steps: readonly StepRecord[]) => steps.filter(({ kind }) => kind === 'tool');

test('the steps of a call say which tool began, what it changes, when it began and when it ended', async () => {
  const clock = new FakeClock(1_000);
  const echo = countingTool({
    effect: 'workspace',
    async run() {
      await clock.advance(20);
      return { ok: true, output: 'x' };
    },
  });
  const run = agentRun({ tools: [echo], model: script(), clock });
  await runAgent(run);
  const [started, done] = ofCalls(run.steps.writes);
  expect(started).toMatchObject({ state: 'STARTED', tool: 'echo', effect: 'workspace', startedAt: 1_000 });
  expect(done).toMatchObject({ state: 'DONE', endedAt: 1_020 });
  expect(echo.contexts[0]).toMatchObject({ callId: started?.callId, idempotencyKey: `${run.runId}#${started?.callId}` });
});

test.each<[string, Pick<Tool, 'effect' | 'idempotent'>, number]>([
  ['a call that changes nothing', { effect: 'none' }, 2],
  ['a call that says it is idempotent', { effect: 'outside', idempotent: true }, 2],
  ['a call that changes files', { effect: 'workspace' }, 1],
  ['a call with an effect outside', { effect: 'outside' }, 1],
])('F5 %s, cut off by a crash, runs again only when that is safe; else its end is not known', async (_name, facts, runs) => {
  const echo = countingTool(facts);
  const run = agentRun({ tools: [echo], model: script() });
  await runAgent(run);
  const recorded = run.steps.writes.slice(0, 2);
  expect(ofCalls(recorded)).toMatchObject([{ state: 'STARTED' }]);
  const resumed = agentRun({ tools: [echo], model: scriptedModel(['done']), steps: new MemoryStepLog(recorded) });
  await runAgent(resumed);
  expect(echo.runs).toBe(runs);
  const [done] = ofCalls(resumed.steps.writes);
  expect([done?.state, done?.endedAt !== undefined]).toEqual(['DONE', runs === 2]);
  expect(resumed.events.filter(({ type }) => type === 'tool.unknown')).toHaveLength(2 - runs);
});

test('a call that was stopped before it ran is recorded as without effect', async () => {
  const stop = new AbortController();
  const steps = new MemoryStepLog();
  const record = steps.record.bind(steps);
  steps.record = async (step, usage) => {
    await record(step, usage);
    if (step.state === 'STARTED') stop.abort(new Error('/stop'));
  };
  await runAgent(agentRun({ tools: [countingTool()], model: script(), steps, signal: stop.signal }));
  expect(ofCalls(steps.writes)).toMatchObject([
    { state: 'STARTED', effect: 'outside' },
    { state: 'DONE', effect: 'none' },
  ]);
});

test('a call by a name that other platforms have for a tool runs it, and is recorded under its own', async () => {
  const list = countingTool({ name: 'list_dir', effect: 'none' });
  const run = agentRun({ tools: [list], model: scriptedModel([{ toolCalls: [{ name: 'list_directory' }] }, 'done']) });
  await runAgent(run);
  expect(list.contexts).toHaveLength(1);
  expect(ofCalls(run.steps.writes)[0]).toMatchObject({ tool: 'list_dir', value: { name: 'list_dir' } });
});

test('a tool that really has such a name is the one that is meant', async () => {
  const [own, other] = [countingTool({ name: 'attach_file' }), countingTool({ name: 'send_file' })];
  const run = agentRun({ tools: [own, other], model: scriptedModel([{ toolCalls: [{ name: 'attach_file' }] }, 'done']) });
  await runAgent(run);
  expect([own.contexts.length, other.contexts.length]).toEqual([1, 0]);
});
