import { describe, expect, test } from 'vitest';
import { UNTRUSTED } from '../core/authority.ts';
import type { StepRecord } from '../core/step.ts';
import { agentRun, countingTool, line, MemoryStepLog, outboundFile } from '../testing/agent-run.ts';
import { FakeClock } from '../testing/fakes.ts';
import { type ScriptedModel, scriptedModel } from '../testing/scripted-model.ts';
import { onlyTool } from '../testing/tool-scope.ts';
import { offerChoices } from '../tools/offer-choices.ts';
import { runAgent } from './run.ts';

/** Answers by how many tool results it sees, so that it plans the same on every attempt. */
function planner(): ScriptedModel {
  return scriptedModel(({ messages }) => {
    const results = messages.filter(({ role }) => role === 'tool').length;
    const providerState = { provider: 'p', model: 'm', data: { signature: `after ${results}` } };
    if (results === 0)
      return { text: 'look', providerState, toolCalls: [1, 2].map((n) => ({ name: 'write', arguments: { n } })) };
    if (results === 2) return { providerState, toolCalls: [{ id: 'theirs', name: 'read', arguments: { n: 3 } }] };
    return 'finished';
  });
}

function tools() {
  const write = countingTool({
    name: 'write',
    async run(args) {
      const { n } = args as { n: number };
      return { ok: true, output: `wrote ${n}`, files: [{ file: outboundFile(`${n}.txt`) }] };
    },
  });
  return { write, read: countingTool({ name: 'read', effect: 'none' }) };
}

async function uninterrupted() {
  const { write, read } = tools();
  const run = agentRun({ tools: [write, read], model: planner() });
  return { run, result: await runAgent(run) };
}

/** A later attempt, on a later clock, after `recorded`. */
async function resume(recorded: readonly StepRecord[]) {
  const { write, read } = tools();
  const model = planner();
  const run = agentRun({
    tools: [write, read],
    model,
    steps: new MemoryStepLog(recorded),
    clock: new FakeClock(Date.UTC(2026, 5, 5)),
  });
  return { run, model, write, read, result: await runAgent(run) };
}

const withoutTimes = (lines: readonly { timestamp: string }[]) => lines.map(({ timestamp: _, ...rest }) => rest);

describe('replay', () => {
  test('hostile: what the recorded answers were asked with taints a later attempt, which is told nothing of it any more', async () => {
    const first = agentRun({ tools: Object.values(tools()), model: planner() });
    await runAgent(first);
    const [asked] = first.steps.writes;
    if (!asked) throw new Error('nothing was recorded');
    const { result, run } = await resume([{ ...asked, taint: UNTRUSTED }]);
    expect(result).toMatchObject({ outcome: { kind: 'answered' }, taint: UNTRUSTED });
    expect(run.steps.writes.length).toBeGreaterThan(0);
  });

  test('F4 F5 F6 a crash after any number of steps gives the same lines, no second run of a tool that ended, no second paid call', async () => {
    const { run, result: whole } = await uninterrupted();
    const writes = run.steps.writes;
    expect(writes.length).toBe(9);
    for (let cut = 0; cut <= writes.length; cut += 1) {
      const recorded = writes.slice(0, cut);
      const done = (name: string) => recorded.filter((step) => step.state === 'DONE' && toolName(step) === name).length;
      const started = (name: string) => recorded.filter((step) => step.state === 'STARTED' && toolName(step) === name).length;
      const attempt = await resume(recorded);
      const unknown = started('write') - done('write');

      expect(attempt.result.outcome, `cut ${cut}`).toEqual(whole.outcome);
      expect(attempt.write.runs, `cut ${cut}: write`).toBe(2 - started('write'));
      expect(attempt.read.runs, `cut ${cut}: read`).toBe(1 - done('read'));
      expect(attempt.model.requests.length, `cut ${cut}: calls`).toBe(3 - recorded.filter(({ kind }) => kind === 'model').length);
      expect(attempt.run.steps.usage).toHaveLength(attempt.model.requests.length);
      expect(attempt.result.usage).toEqual(whole.usage);

      const changed = withoutTimes(attempt.result.lines).filter((item, i) => {
        return JSON.stringify(item) !== JSON.stringify(withoutTimes(whole.lines)[i]);
      });
      expect(changed, `cut ${cut}`).toHaveLength(unknown);
      for (const item of changed)
        expect(item).toMatchObject({ role: 'tool', content: expect.stringMatching(/^Error: outcome unknown/) });
      expect(attempt.run.events.filter(({ type }) => type === 'tool.unknown')).toHaveLength(unknown);
      expect(attempt.result.files.length).toBe(whole.files.length - unknown);
    }
  });

  test('F6 the complete record gives back the very same result: lines with their times, files, usage', async () => {
    const { run, result } = await uninterrupted();
    const attempt = await resume(run.steps.writes);
    expect(attempt.result).toEqual(result);
    expect(attempt.result.files).toEqual([{ file: outboundFile('1.txt') }, { file: outboundFile('2.txt') }]);
    expect(attempt.run.steps.writes).toEqual([]);
    expect(attempt.run.events).toEqual([]);
  });

  test('F5 an unknown outcome is recorded, so a third attempt says the same without a second look', async () => {
    const { run } = await uninterrupted();
    const second = await resume(run.steps.writes.slice(0, 2));
    const third = await resume([...run.steps.writes.slice(0, 2), ...second.run.steps.writes]);
    expect(third.result.lines).toEqual(second.result.lines);
    expect(third.write.runs + third.model.requests.length).toBe(0);
    expect(third.run.events).toEqual([]);
  });

  test('a journal that keeps one row per step, the newest state, replays alike', async () => {
    const { run, result } = await uninterrupted();
    const rows = new Map(run.steps.writes.map((step) => [step.n, step] as const));
    expect((await resume([...rows.values()].reverse())).result).toEqual(result);
  });

  test('new steps never reuse a recorded number, and a usage id stays the one of the lost attempt', async () => {
    const { run } = await uninterrupted();
    for (let cut = 0; cut <= run.steps.writes.length; cut += 1) {
      const attempt = await resume(run.steps.writes.slice(0, cut));
      const all = [...run.steps.writes.slice(0, cut), ...attempt.run.steps.writes];
      const keys = all.map(({ n, state }) => `${n} ${state}`);
      expect(new Set(keys).size, `cut ${cut}`).toBe(keys.length);
      const ids = new Set([...run.steps.usage, ...attempt.run.steps.usage].map(({ id }) => id));
      expect(ids.size, `cut ${cut}`).toBe(3);
    }
  });

  test('the recorded result is used when its tool is gone; a STARTED one of a vanished tool is unknown', async () => {
    const { run, result } = await uninterrupted();
    const gone = agentRun({ tools: [], model: planner(), steps: new MemoryStepLog(run.steps.writes.slice(0, 7)) });
    const resumed = await runAgent(gone);
    expect(resumed.lines.filter(({ content }) => content.startsWith('wrote'))).toHaveLength(2);
    expect(resumed.lines.find(({ id }) => id.includes('#t2'))?.content).toMatch(/^Error: outcome unknown/);
    expect(resumed.outcome).toEqual(result.outcome);
  });

  test('the history may have grown since', async () => {
    const { run, result } = await uninterrupted();
    const history = [line('user', 'new'), line('assistant', 'x')];
    const steps = new MemoryStepLog(run.steps.writes.slice(0, 5));
    const resumed = await runAgent(agentRun({ tools: Object.values(tools()), model: planner(), steps, history }));
    expect(withoutTimes(resumed.lines)).toEqual(withoutTimes(result.lines));
  });

  test('an answer that cannot be read is asked for again, and a result on other arguments is not taken for the new call', async () => {
    const { run } = await uninterrupted();
    const broken = run.steps.writes.map((step) => (step.n === 0 ? { ...step, value: { text: 1 } } : step));
    const { write, read } = tools();
    const model = scriptedModel([{ toolCalls: [{ name: 'write', arguments: { n: 9 } }] }, 'finished']);
    const resumed = await runAgent(agentRun({ tools: [write, read], model, steps: new MemoryStepLog(broken) }));
    expect(write.runs).toBe(1);
    expect(resumed.lines.find(({ role }) => role === 'tool')?.content).toBe('wrote 9');
  });

  test('F29 recorded empty answers count as tries and are not paid twice', async () => {
    const first = agentRun({ model: scriptedModel(() => ({ text: '' })) });
    const ended = runAgent(first);
    await first.clock.advance(10_000);
    const { outcome } = await ended;
    expect(first.steps.writes).toHaveLength(4);
    const again = agentRun({ model: scriptedModel([]), steps: new MemoryStepLog(first.steps.writes) });
    expect((await runAgent(again)).outcome).toEqual(outcome);
  });
});

function toolName(step: StepRecord): string | undefined {
  const value = step.value;
  return step.kind === 'tool' && typeof value === 'object' && value !== null && 'name' in value
    ? String(value['name'])
    : undefined;
}

describe('choices', () => {
  const offer = (labels: readonly string[], ok = true) =>
    countingTool({
      name: 'offer',
      effect: 'none',
      run: async () => ({ ok, output: '', choices: labels.map((label) => ({ label, value: label })) }),
    });
  const script = () => scriptedModel([{ toolCalls: [{ name: 'offer' }] }, 'Which?']);
  const labelsOf = ({ choices }: { choices: readonly { label: string }[] }) => choices.map(({ label }) => label);

  test('a resumed run offers what the call before the crash offered, and a step of an older journal offers nothing', async () => {
    const run = agentRun({ tools: [offer(['Tea', 'Ale'])], model: script() });
    expect(labelsOf(await runAgent(run))).toEqual(['Tea', 'Ale']);
    for (const cut of [2, 3]) {
      const steps = new MemoryStepLog(run.steps.writes.slice(0, cut));
      const tool = offer(['Tea', 'Ale']);
      const model = scriptedModel(['Which?']);
      expect(labelsOf(await runAgent(agentRun({ tools: [tool], model, steps })))).toEqual(['Tea', 'Ale']);
      expect(tool.runs).toBe(cut === 2 ? 1 : 0);
    }
    const older = run.steps.writes.slice(0, 3).map((step) => {
      const { choices: _, ...value } = Object(step.value);
      return { ...step, value };
    });
    const old = agentRun({ tools: [offer([])], model: scriptedModel(['Which?']), steps: new MemoryStepLog(older) });
    expect(await runAgent(old)).toMatchObject({ outcome: { kind: 'answered' }, choices: [] });
  });

  test('a failed call offers nothing, and neither does one with a word that the gateway answers to', async () => {
    expect(labelsOf(await runAgent(agentRun({ tools: [offer(['Tea', 'Ale'], false)], model: script() })))).toEqual([]);
    const isReserved = (words: string) => words === 'Cancel';
    const model = scriptedModel([
      { toolCalls: [{ name: 'offer_choices', arguments: { choices: ['Tea', 'Cancel'] } }] },
      'Which?',
    ]);
    const run = agentRun({ tools: [onlyTool(offerChoices, { isReserved })], model });
    expect(labelsOf(await runAgent(run))).toEqual([]);
    expect(model.requests[1]?.messages[3]).toMatchObject({ role: 'tool', content: expect.stringMatching(/^Error: "Cancel"/) });
  });
});

test('M6 what the provider wants back, and its own ids, stand on the lines, also after a crash', async () => {
  const { run, result } = await uninterrupted();
  const kept = (lines: typeof result.lines) =>
    lines.filter(({ tool_calls }) => tool_calls).map(({ provider_state, tool_calls }) => [provider_state, tool_calls]);
  expect(kept(result.lines)).toMatchObject([
    [{ data: { signature: 'after 0' } }, [{ provider_ids: ['t0'] }, { provider_ids: ['t1'] }]],
    [{ data: { signature: 'after 2' } }, [{ provider_ids: ['theirs'] }]],
  ]);
  expect(kept((await resume(run.steps.writes)).result.lines)).toEqual(kept(result.lines));
});

test('two calls for the same thing run once, and both of the ids that the provider gave are kept', async () => {
  const { write } = tools();
  const twice = ['x', 'y'].map((id) => ({ id, name: 'write', arguments: { n: 1 } }));
  const model = scriptedModel([{ toolCalls: twice }, 'done']);
  const { lines } = await runAgent(agentRun({ model, tools: [write] }));
  expect(write.runs).toBe(1);
  expect(lines.flatMap(({ tool_calls = [] }) => tool_calls)).toMatchObject([{ provider_ids: ['x', 'y'] }]);
});
