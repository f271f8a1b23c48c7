import { describe, expect, test } from 'vitest';
import type { Model } from '../core/model.ts';
import type { AgentRun } from '../core/turn.ts';
import { ABORT_GRACE_MS } from '../lib/settle-or-leave.ts';
import { agentRun, countingTool, MemoryStepLog, outboundFile, type TestRun } from '../testing/agent-run.ts';
import { FakeClock } from '../testing/fakes.ts';
import { scriptedModel } from '../testing/scripted-model.ts';
import { interrupted } from './interrupted.ts';
import { runAgent } from './run.ts';

/** A new call each time, so that the loop detection stays quiet. */
function busyModel() {
  let n = 0;
  return scriptedModel(() => {
    n += 1;
    return { text: `step ${n}`, toolCalls: [{ name: 'echo', arguments: { n } }] };
  });
}

/** What the session keeps of a run that was aborted. */
function left({ runId, input, steps, clock }: TestRun) {
  return [input, ...interrupted(runId, steps.writes, clock.now()).lines];
}

/** Every call has its result right after it, and the last line is the assistant's. */
function expectComplete(lines: Awaited<ReturnType<typeof runAgent>>['lines']) {
  const calls = lines.flatMap((item) => item.tool_calls ?? []).map(({ id }) => id);
  expect(lines.filter(({ role }) => role === 'tool').map((item) => item.tool_call_id)).toEqual(calls);
  expect(lines.at(-1)?.role).toBe('assistant');
}

describe('F32 limits', () => {
  const limits = (override: Partial<AgentRun['limits']>) => ({ ...agentRun().limits, ...override });

  test('F32 iterations: the text names the limit and what was done, and closes the lines', async () => {
    const result = await runAgent(
      agentRun({ model: busyModel(), tools: [countingTool()], limits: limits({ maxIterations: 3 }) }),
    );
    expect(result.outcome).toEqual({
      kind: 'limit',
      limit: 'iterations',
      text: [
        'I stopped before I was done: this turn reached its limit of 3 model calls.',
        'So far: 3 model calls, tools used: echo (3 times).',
        'My last note: step 3',
        'Write "continue" if I should go on.',
      ].join('\n'),
    });
    expect(result.lines.at(-1)?.content).toBe(result.outcome.kind === 'limit' ? result.outcome.text : '');
    expectComplete(result.lines);
  });

  test('F32 tokens: the budget counts in and out over the whole run', async () => {
    const result = await runAgent(agentRun({ model: busyModel(), tools: [countingTool()], limits: limits({ maxTokens: 31 }) }));
    expect(result.outcome).toMatchObject({
      kind: 'limit',
      limit: 'tokens',
      text: expect.stringContaining('budget of 31 tokens'),
    });
    expect(result.iterations).toBe(3);
  });

  test('time: a model that is still at work is stopped and the text names the limit', async () => {
    const run = agentRun({ model: scriptedModel([{ hang: true }]), limits: limits({ wallClockMs: 600_000 }) });
    const done = runAgent(run);
    await run.clock.advance(599_999);
    expect(run.events.some(({ type }) => type === 'model.failed')).toBe(false);
    await run.clock.advance(1);
    expect((await done).outcome).toMatchObject({
      kind: 'limit',
      limit: 'time',
      text: expect.stringContaining('time limit of 10 minutes.\nSo far: 1 model call, no tools.'),
    });
  });

  test('time: a tool that is still at work is stopped, and the finished one keeps its result', async () => {
    const quick = countingTool({ name: 'quick' });
    const slow = countingTool({
      name: 'slow',
      async run(_args, { signal }) {
        await new Promise((resolve) => signal.addEventListener('abort', resolve));
        return { ok: false, output: 'Error: stopped half way' };
      },
    });
    const model = scriptedModel([{ toolCalls: [{ name: 'quick' }, { name: 'slow' }] }]);
    const run = agentRun({ model, tools: [quick, slow], limits: limits({ wallClockMs: 1_000 }) });
    const done = runAgent(run);
    await run.clock.advance(1_000);
    const result = await done;
    expect(result.outcome).toMatchObject({ kind: 'limit', limit: 'time' });
    expect(result.lines.filter(({ role }) => role === 'tool').map(({ content }) => content)).toEqual([
      'echo {}',
      'Error: stopped half way',
    ]);
    expectComplete(result.lines);
  });

  test('step: its time counts from the model call on, the tools included, and anew for each step', async () => {
    const clock = new FakeClock();
    const wait = countingTool({
      name: 'wait',
      async run(_args, { signal }) {
        await clock.sleep(200_000, signal);
        return { ok: true, output: 'waited' };
      },
    });
    const ask = { delayMs: 99_999, toolCalls: [{ name: 'wait' }] };
    const model = scriptedModel([ask, { ...ask, text: 'again' }, { ...ask, delayMs: 100_001 }], { clock });
    const run = agentRun({ model, clock, tools: [wait], limits: limits({ stepMs: 300_000 }) });
    const done = runAgent(run);
    await clock.advance(900_000);
    const result = await done;
    expect(result.outcome).toMatchObject({ kind: 'limit', limit: 'step', text: expect.stringContaining('limit of 5 minutes') });
    expect(model.requests).toHaveLength(3);
    expectComplete(result.lines);
  });

  test('F32 loop: a repeated call is warned about once, then ends the turn without running again', async () => {
    const echo = countingTool();
    const model = scriptedModel(() => ({ toolCalls: [{ name: 'echo', arguments: { same: true } }] }));
    const result = await runAgent(agentRun({ model, tools: [echo] }));
    expect(result.outcome).toMatchObject({
      kind: 'limit',
      limit: 'loop',
      text: expect.stringContaining('repeating the same tool calls'),
    });
    expect(echo.runs).toBe(4);
    const warning = model.requests.at(-1)?.messages.at(-1);
    expect(warning).toMatchObject({ role: 'user', content: expect.stringMatching(/^\[System note\] You are repeating/) });
    expect(result.lines.filter(({ role }) => role === 'system')).toHaveLength(1);
    expectComplete(result.lines);
  });
});

describe('abort', () => {
  test('in the model call: prompt, no text after it, and the lines end with the note', async () => {
    const stop = new AbortController();
    const model = scriptedModel([{ toolCalls: [{ name: 'echo' }] }, { hang: true }]);
    const run = agentRun({ model, tools: [countingTool()], signal: stop.signal });
    const done = runAgent(run);
    await run.clock.advance(5_000);
    stop.abort(new Error('/stop'));
    const result = await done;
    expect(result.outcome).toEqual({ kind: 'aborted' });
    expect(result.lines).toEqual([]);
    expect(left(run).map(({ role, content }) => [role, content])).toEqual([
      ['user', 'please work'],
      ['assistant', ''],
      ['tool', 'echo {}'],
      ['assistant', '[interrupted]'],
    ]);
    expectComplete(left(run));
  });

  test('text that a model still streams after the stop is shown to nobody', async () => {
    const stop = new AbortController();
    const failure = { kind: 'aborted', code: 'GH2105', message: '', hint: '', retryable: false } as const;
    const model: Model = {
      id: 'slow/ender',
      contextWindow: 1_000,
      async *call() {
        yield { type: 'text', text: 'before' };
        stop.abort(new Error('/stop'));
        yield { type: 'text', text: 'after' };
        yield { type: 'failed', failure };
      },
    };
    const run = agentRun({ model, signal: stop.signal });
    expect((await runAgent(run)).outcome).toEqual({ kind: 'aborted' });
    expect(run.events.flatMap((event) => (event.type === 'model.text' ? [event.text] : []))).toEqual(['before']);
  });

  test('before the start: no model call at all', async () => {
    const model = scriptedModel([]);
    const run = agentRun({ model, signal: AbortSignal.abort(new Error('shutdown')) });
    expect((await runAgent(run)).outcome).toEqual({ kind: 'aborted' });
    expect(left(run).map(({ content }) => content)).toEqual(['please work', '[interrupted]']);
    expect(model.requests).toHaveLength(0);
  });

  test('while waiting to ask again after an empty answer', async () => {
    const stop = new AbortController();
    const run = agentRun({ model: scriptedModel([{ text: '' }]), signal: stop.signal });
    const done = runAgent(run);
    await run.clock.advance(500);
    stop.abort(new Error('/stop'));
    expect((await done).outcome).toEqual({ kind: 'aborted' });
  });

  test('F30 a model that ignores the signal is left behind after the grace', async () => {
    const stop = new AbortController();
    const run = agentRun({ model: scriptedModel([{ hang: 'deaf' }]), signal: stop.signal });
    const done = runAgent(run);
    await run.clock.advance(1);
    stop.abort(new Error('/stop'));
    await run.clock.advance(ABORT_GRACE_MS);
    expect((await done).outcome).toEqual({ kind: 'aborted' });
  });

  test('F30 a tool that ignores the signal is left behind, its step stays STARTED, and its late file joins nothing', async () => {
    const stop = new AbortController();
    const late = Promise.withResolvers<void>();
    let refused: unknown;
    const deaf = countingTool({
      async run(_args, context) {
        await late.promise;
        // What `AnswerScope.attach` looks at before it copies a file.
        refused = context.signal.reason;
        return { ok: true, output: 'too late', files: [{ file: outboundFile('x') }] };
      },
    });
    const toolCalls = [{ name: 'echo' }, { name: 'quick' }];
    const model = scriptedModel([{ toolCalls }]);
    const run = agentRun({ model, tools: [deaf, countingTool({ name: 'quick' })], signal: stop.signal });
    const done = runAgent(run);
    await run.clock.advance(1);
    stop.abort(new Error('/stop'));
    await run.clock.advance(ABORT_GRACE_MS);
    const result = await done;
    late.resolve();
    await new Promise((resolve) => setImmediate(resolve));

    expect(result.outcome).toEqual({ kind: 'aborted' });
    expect(left(run)[2]?.content).toMatch(/^Error: outcome unknown/);
    expect(left(run)[3]?.content).toBe('echo {}');
    expectComplete(left(run));
    expect(interrupted(run.runId, run.steps.writes, 0).tools).toEqual([
      { name: 'echo', isKnown: false },
      { name: 'quick', isKnown: true },
    ]);
    const states = run.steps.writes
      .filter(({ kind }) => kind === 'tool')
      .map(({ callId, state }) => `${callId?.slice(-1)} ${state}`);
    expect(states).toEqual(['0 STARTED', '1 STARTED', '1 DONE']);
    expect(run.events.filter(({ type }) => type === 'tool.unknown')).toHaveLength(1);
    expect(refused).toBeInstanceOf(Error);
    expect(result.files).toEqual([]);
  });

  test('F30 a tool that hangs is cut at the limit of its own call and the turn goes on', async () => {
    const hung = countingTool({ run: () => new Promise(() => undefined) });
    const toolCalls = [{ name: 'echo' }, { name: 'quick' }];
    const model = scriptedModel([{ toolCalls }, 'went on']);
    const limits = { ...agentRun().limits, toolTimeoutMs: 5_000 };
    const run = agentRun({ model, tools: [hung, countingTool({ name: 'quick' })], limits });
    const done = runAgent(run);
    await run.clock.advance(5_000);
    const result = await done;
    expect(result.outcome).toEqual({ kind: 'answered', text: 'went on' });
    expect(result.lines.filter(({ role }) => role === 'tool').map(({ content }) => content.slice(0, 7))).toEqual([
      'Error: ',
      'echo {}',
    ]);
  });

  test('a stop while STARTED is being written: the call does not run, and a resumed turn knows that it did not', async () => {
    const stop = new AbortController();
    const echo = countingTool();
    const steps = new MemoryStepLog();
    const record = steps.record.bind(steps);
    steps.record = async (step, usage) => {
      await record(step, usage);
      if (step.state === 'STARTED') stop.abort(new Error('shutdown'));
    };
    const script = [{ toolCalls: [{ name: 'echo' }] }, 'ok'];
    await runAgent(agentRun({ model: scriptedModel(script), tools: [echo], steps, signal: stop.signal }));
    const resumed = agentRun({ model: scriptedModel(['ok']), tools: [echo], steps: new MemoryStepLog(steps.writes) });
    const result = await runAgent(resumed);
    expect(result.lines[2]?.content).toMatch(/^Error: not run/);
    expect(echo.runs).toBe(0);
  });

  test('an answer that arrives as the stop does is recorded but not given', async () => {
    const stop = new AbortController();
    const model = scriptedModel([
      () => {
        stop.abort(new Error('shutdown'));
        return 'just in time';
      },
    ]);
    const run = agentRun({ model, signal: stop.signal });
    expect((await runAgent(run)).outcome).toEqual({ kind: 'aborted' });
    expect(run.steps.writes).toHaveLength(1);
    const resumed = await runAgent(agentRun({ model: scriptedModel([]), steps: new MemoryStepLog(run.steps.writes) }));
    expect(resumed.outcome).toEqual({ kind: 'answered', text: 'just in time' });
  });

  test('a fenced step log ends the run as aborted, with nothing run', async () => {
    const stop = new AbortController();
    const echo = countingTool();
    const steps = new MemoryStepLog();
    const model = scriptedModel([
      () => {
        steps.failWith = () => {
          stop.abort(new Error('fenced'));
          return stop.signal.reason;
        };
        return { toolCalls: [{ name: 'echo' }] };
      },
    ]);
    const run = agentRun({ model, tools: [echo], steps, signal: stop.signal });
    expect((await runAgent(run)).outcome).toEqual({ kind: 'aborted' });
    expect(echo.runs).toBe(0);
    expectComplete(left(run));
  });

  test('the lines made of the steps are those of the run itself, down to ids, times and what the provider wants back', async () => {
    const providerState = { provider: 'scripted', model: 'model', data: ['signed'] };
    const toolCalls = [{ name: 'echo', arguments: { n: 1 } }, { name: 'look' }, { name: 'nonsense' }];
    const script = [{ text: '' }, { text: 'first', reasoning: 'hm', toolCalls, providerState }, { text: 'then', providerState }];
    const look = countingTool({ name: 'look', run: async () => ({ ok: true, output: 'seen', media: ['a.png'] }) });
    const run = agentRun({ model: scriptedModel(script), tools: [countingTool(), look] });
    const done = runAgent(run);
    await run.clock.advance(10_000);
    const { lines } = await done;
    expect(lines).toHaveLength(6);
    const { input, lines: kept, tools } = interrupted(run.runId, run.steps.writes, 0);
    expect(kept.slice(0, -1)).toEqual(lines.slice(1));
    expect(input).toEqual({ content: 'please work', media: [] });
    expect(tools.map(({ name }) => name)).toEqual(['echo', 'look']);
  });

  test('a call by another name of its tool is remembered as it ran', async () => {
    const toolCalls = [{ name: 'list_directory' }];
    const run = agentRun({ model: scriptedModel([{ toolCalls }, 'done']), tools: [countingTool({ name: 'list_dir' })] });
    const { lines } = await runAgent(run);
    const kept = interrupted(run.runId, run.steps.writes, 0);
    expect(kept.lines.find(({ role }) => role === 'tool')).toEqual(lines.find(({ role }) => role === 'tool'));
    expect(kept.tools).toHaveLength(1);
  });

  test('steps that cannot be read leave the closing line alone', () => {
    const steps = [{ n: 0, kind: 'model', state: 'DONE', value: { text: 7, input: ['x'] } } as const];
    expect(interrupted('r', steps, 0)).toEqual({
      lines: [{ id: 'r#end', role: 'assistant', content: '[interrupted]', timestamp: '1970-01-01T00:00:00.000Z' }],
      tools: [],
    });
  });
});
