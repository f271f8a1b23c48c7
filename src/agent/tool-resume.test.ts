// A tool with an effect that waits, and goes on with what it began.
import { expect, test } from 'vitest';
import type { StepRecord } from '../core/step.ts';
import type { Tool, ToolResult } from '../core/tool.ts';
import { agentRun, anyAccess, countingTool, MemoryStepLog } from '../testing/agent-run.ts';
import { scriptedModel } from '../testing/scripted-model.ts';
import { runAgent } from './run.ts';
import { UNKNOWN } from './turn-lines.ts';

const WAIT: ToolResult = { ok: true, output: '', wait: { kind: 'signal', about: 'an answer' } };
const said = (output: string): ToolResult => ({ ok: true, output });
const CALL = 'call_';

/** Asks twice, then says what it was told; `isLost`: this process knows nothing of the call. */
function asking(facts: Partial<Tool> = {}, { isLost = false } = {}) {
  const given: (readonly string[])[] = [];
  const tool = countingTool({
    ...facts,
    run: async () => WAIT,
    async resume(values) {
      given.push(values.map(({ output }) => output));
      if (isLost) return undefined;
      return values.length < 2 ? WAIT : said(`told ${given.at(-1)?.join(' and ')}`);
    },
  });
  return { tool, given };
}

/** One attempt after those whose steps are recorded. */
async function attempt(
  tool: Tool,
  recorded: readonly StepRecord[],
  settled: Readonly<Record<string, string>>,
  more: object = {},
) {
  const model = scriptedModel(recorded.length === 0 ? [{ toolCalls: [{ name: 'echo' }] }, 'done'] : ['done']);
  const values = new Map(Object.entries(settled).map(([id, output]) => [id, said(output)]));
  const run = agentRun({ tools: [tool], model, steps: new MemoryStepLog(recorded), settled: values, ...more });
  const { outcome } = await runAgent(run);
  const result = model.requests.at(-1)?.messages.findLast(({ role }) => role === 'tool')?.content;
  return { outcome, result, run, steps: [...recorded, ...run.steps.writes] };
}

const idOf = (steps: readonly StepRecord[]): string => steps.find(({ kind }) => kind === 'tool')?.callId ?? '';
const unknownEvents = ({ events }: ReturnType<typeof agentRun>) => events.filter(({ type }) => type === 'tool.unknown');

test('a call waits as often as its tool asks, each time under an id of its own, and runs once', async () => {
  const { tool, given } = asking({ reads: 1 });
  const first = await attempt(tool, [], {});
  const id = idOf(first.steps);
  expect(id.startsWith(CALL)).toBe(true);
  expect(first.outcome).toMatchObject({ kind: 'parked', waits: [{ callId: id, kind: 'signal' }] });
  const second = await attempt(tool, first.steps, { [id]: 'a' });
  expect(second.outcome).toMatchObject({ kind: 'parked', waits: [{ callId: `${id}~2` }] });
  const third = await attempt(tool, second.steps, { [id]: 'a', [`${id}~2`]: 'b' });
  expect([third.outcome.kind, third.result]).toEqual(['answered', 'told a and b']);
  expect(third.run.steps.writes.find(({ kind }) => kind === 'tool')).toMatchObject({ state: 'DONE', taint: 1 });
  expect([tool.runs, given]).toEqual([1, [['a'], ['a', 'b']]]);
  // Replayed once more, the recorded result stands.
  const again = await attempt(tool, third.steps, {});
  expect([tool.runs, given.length, unknownEvents(again.run)]).toEqual([1, 2, []]);
});

test('F5 a call that nothing is known of any more has an unknown outcome, and does not run again', async () => {
  const before = await attempt(asking().tool, [], {});
  const { tool, given } = asking({}, { isLost: true });
  const after = await attempt(tool, before.steps, { [idOf(before.steps)]: 'a' });
  expect([after.outcome.kind, after.result, tool.runs, given]).toEqual(['answered', UNKNOWN, 0, [['a']]]);
  expect(unknownEvents(after.run)).toHaveLength(1);
  const [done] = after.run.steps.writes.filter(({ kind }) => kind === 'tool');
  expect([done?.state, done?.endedAt]).toEqual(['DONE', undefined]);
});

test.each([
  ['outside', 0],
  ['none', 1],
] as const)(
  'cut off before anything was settled, a lost call with effect %s runs again only where that is safe',
  async (effect, runs) => {
    const before = await attempt(asking({ effect }).tool, [], {});
    const { tool, given } = asking({ effect }, { isLost: true });
    const after = await attempt(tool, before.steps, {});
    expect([tool.runs, given, after.outcome.kind]).toEqual([runs, [[]], runs === 1 ? 'parked' : 'answered']);
    expect(unknownEvents(after.run)).toHaveLength(1 - runs);
  },
);

test('what a person answered goes to no second run of a call, not even of one without an effect', async () => {
  const before = await attempt(asking({ effect: 'none' }).tool, [], {});
  const { tool } = asking({ effect: 'none' }, { isLost: true });
  const after = await attempt(tool, before.steps, { [idOf(before.steps)]: 'a' });
  expect([tool.runs, after.result]).toEqual([0, UNKNOWN]);
});

test('a call that is forbidden by now is not gone on with', async () => {
  const before = await attempt(asking().tool, [], {});
  const { tool, given } = asking();
  const policy = {
    offered: <T>(tools: readonly T[]) => tools,
    decide: () => ({ kind: 'deny', reason: 'x' }) as const,
  };
  const after = await attempt(tool, before.steps, { [idOf(before.steps)]: 'a' }, { access: anyAccess({ policy }) });
  expect([tool.runs, given, after.result]).toEqual([0, [], UNKNOWN]);
});

test('a tool with an effect that cannot go on must not wait', async () => {
  const { outcome, result } = await attempt(countingTool({ run: async () => WAIT }), [], {});
  expect([outcome.kind, result]).toEqual(['answered', 'Error: echo has an effect, so it cannot wait']);
});
