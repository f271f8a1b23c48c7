import { describe, expect, test } from 'vitest';
import { GatehouseError } from '../core/errors.ts';
import { agentRun, countingTool, line, MemoryStepLog, outboundFile } from '../testing/agent-run.ts';
import { scriptedModel } from '../testing/scripted-model.ts';
import { runAgent } from './run.ts';

const call = (name: string, args: Record<string, unknown> | string = {}) => ({ name, arguments: args });

describe('the loop', () => {
  test('three legs: two rounds of tools, then the answer; every line is valid and its id derives from the run', async () => {
    const echo = countingTool();
    const model = scriptedModel([
      { text: 'first I look', toolCalls: [call('echo', { a: 1 })] },
      { toolCalls: [call('echo', { a: 2 })], reasoning: 'hm' },
      'all done',
    ]);
    const run = agentRun({ tools: [echo], model });
    const result = await runAgent(run);

    expect(result.outcome).toEqual({ kind: 'answered', text: 'all done' });
    expect(result.iterations).toBe(3);
    expect(result.usage).toEqual({ tokensIn: 30, tokensOut: 15, tokensCached: 0 });
    expect(result.lines.map(({ role, content }) => [role, content])).toEqual([
      ['user', 'please work'],
      ['assistant', 'first I look'],
      ['tool', 'echo {"a":1}'],
      ['assistant', ''],
      ['tool', 'echo {"a":2}'],
      ['assistant', 'all done'],
    ]);
    const ids = result.lines.map(({ id }) => id);
    expect(new Set(ids).size).toBe(ids.length);
    expect(ids.every((id) => id.startsWith('test/bot/m-1'))).toBe(true);
    expect(result.lines[3]?.reasoning_content).toBe('hm');
    expect(result.lines.every(({ timestamp }) => new Date(timestamp).toISOString() === timestamp)).toBe(true);
    const callIds = result.lines.flatMap((item) => item.tool_calls ?? []).map(({ id }) => id);
    expect(result.lines.filter(({ role }) => role === 'tool').map((item) => item.tool_call_id)).toEqual(callIds);
    expect(callIds.every((id) => /^call_[0-9a-f]{16}_\d_0$/.test(id))).toBe(true);
  });

  test('a request holds one system message first, the history, the input and the tool schemas', async () => {
    const model = scriptedModel(['ok']);
    const history = [line('user', 'before'), line('assistant', 'indeed')];
    await runAgent(agentRun({ model, history, tools: [countingTool()], queuedMs: 7 }));
    const request = model.requests[0];
    expect(request?.messages.map(({ role, content }) => [role, content])).toEqual([
      ['system', 'You are a test.'],
      ['user', 'before'],
      ['assistant', 'indeed'],
      ['user', 'please work'],
    ]);
    const parameters = { type: 'object', properties: {} };
    expect(request?.tools).toEqual([{ name: 'echo', description: 'Repeats its arguments.', parameters }]);
    expect(request?.context).toEqual({
      session: '_main:test:chat-1',
      channel: 'test',
      sender: 'test:user-1',
      purpose: 'turn',
      queuedMs: 7,
    });
    expect(request?.maxOutputTokens).toBe(4096);
  });

  test('three tool calls of one answer run at the same time and their results keep the order of the calls', async () => {
    let running = 0;
    let peak = 0;
    const all = Promise.withResolvers<void>();
    const tool = countingTool({
      async run(args) {
        running += 1;
        peak = Math.max(peak, running);
        if (running === 3) all.resolve();
        await all.promise; // no call can end before all three began
        return { ok: true, output: JSON.stringify(args) };
      },
    });
    const toolCalls = [call('echo', { n: 1 }), call('echo', { n: 2 }), call('echo', { n: 3 })];
    const result = await runAgent(agentRun({ tools: [tool], model: scriptedModel([{ toolCalls }, 'ok']) }));
    expect(peak).toBe(3);
    expect(result.lines.filter(({ role }) => role === 'tool').map(({ content }) => content)).toEqual([
      '{"n":1}',
      '{"n":2}',
      '{"n":3}',
    ]);
  });

  test('STARTED is durable before a tool runs and DONE before the model is called again', async () => {
    const steps = new MemoryStepLog();
    const seen: string[][] = [];
    const snapshot = () => seen.push(steps.writes.map(({ kind, state }) => `${kind} ${state}`));
    const tool = countingTool({
      async run() {
        snapshot();
        return { ok: true, output: 'x' };
      },
    });
    const model = scriptedModel([
      { toolCalls: [call('echo')] },
      () => {
        snapshot();
        return 'ok';
      },
    ]);
    await runAgent(agentRun({ tools: [tool], model, steps }));
    expect(seen).toEqual([
      ['model DONE', 'tool STARTED'],
      ['model DONE', 'tool STARTED', 'tool DONE'],
    ]);
    expect(steps.writes.map(({ n }) => n)).toEqual([0, 1, 1, 2]);
    expect(steps.writes[1]?.argsHash).toMatch(/^[0-9a-f]{32}$/);
  });

  test('each call has one usage row with a unique id; the demo model has none', async () => {
    const script = [{ toolCalls: [call('echo')] }, 'ok'];
    const paid = agentRun({ tools: [countingTool()], model: scriptedModel(script, { id: 'acme/large' }) });
    await runAgent(paid);
    expect(paid.steps.usage).toEqual(
      [0, 2].map((n) => ({
        id: `test/bot/m-1#u${n}`,
        at: paid.clock.now(),
        provider: 'acme',
        model: 'large',
        tokensIn: 10,
        tokensOut: 5,
        tokensCached: 0,
        costUsd: null,
        session: '_main:test:chat-1',
        channel: 'test',
        sender: 'test:user-1',
        purpose: 'turn',
      })),
    );
    const demo = agentRun({ tools: [countingTool()], model: scriptedModel(script, { demo: true }) });
    await runAgent(demo);
    expect(demo.steps.usage).toEqual([]);
    expect(demo.steps.writes).toHaveLength(4);
  });

  test('of an answer with thousands of calls the first 64 run, and the others leave nothing behind', async () => {
    const echo = countingTool();
    const toolCalls = Array.from({ length: 8_000 }, (_, n) => call('echo', { n }));
    const steps = new MemoryStepLog();
    const result = await runAgent(agentRun({ tools: [echo], model: scriptedModel([{ toolCalls }, 'ok']), steps }));
    expect([echo.runs, result.outcome.kind, result.lines.length]).toEqual([64, 'answered', 64 + 3]);
    expect(result.lines[1]?.tool_calls).toHaveLength(64);
    expect(steps.writes).toHaveLength(2 + 2 * 64);
  });

  test('the model is told how many calls of its answer were not run, and again when the turn resumes', async () => {
    const toolCalls = Array.from({ length: 70 }, (_, n) => call('echo', { n }));
    const providerState = { provider: 'p', model: 'm', data: 'speaks of all 70 calls' };
    const told = async (script: Parameters<typeof scriptedModel>[0], steps: MemoryStepLog) => {
      const result = await runAgent(agentRun({ tools: [countingTool()], model: scriptedModel(script), steps }));
      const outputs = result.lines.filter(({ role }) => role === 'tool').map(({ content }) => content);
      return { outputs, state: result.lines[1]?.provider_state };
    };
    const steps = new MemoryStepLog();
    const first = await told([{ toolCalls, providerState }, 'ok'], steps);
    expect(first.outputs).toHaveLength(64);
    expect(first.outputs[62]).toBe('echo {"n":62}');
    expect(first.outputs[63]).toBe(
      'echo {"n":63}\n[6 more calls of this answer were not run: at most 64 run per answer. Ask again for those that are still needed.]',
    );
    // It names calls that have no result: a provider would refuse it.
    expect(first.state).toBeUndefined();
    const beforeTheEnd = steps.writes.filter(({ n }) => n < 65);
    expect(await told(['ok'], new MemoryStepLog(beforeTheEnd))).toEqual(first);
  });

  test('of the calls of one answer eight run at a time', async () => {
    let running = 0;
    let peak = 0;
    const tool = countingTool({
      async run() {
        running += 1;
        peak = Math.max(peak, running);
        await new Promise((resolve) => setImmediate(resolve));
        running -= 1;
        return { ok: true, output: 'done' };
      },
    });
    const toolCalls = Array.from({ length: 30 }, (_, n) => call('echo', { n }));
    const result = await runAgent(agentRun({ tools: [tool], model: scriptedModel([{ toolCalls }, 'ok']) }));
    expect([peak, result.lines.filter(({ role }) => role === 'tool').length]).toEqual([8, 30]);
  });

  test('an identical call in the same answer runs once, whatever the order of its keys', async () => {
    const echo = countingTool();
    const toolCalls = [call('echo', '{"a":1,"b":2}'), call('echo', '{ "b": 2, "a": 1 }'), call('echo', '{"a":2}')];
    const result = await runAgent(agentRun({ tools: [echo], model: scriptedModel([{ toolCalls }, 'ok']) }));
    expect(echo.runs).toBe(2);
    expect(result.lines.filter(({ role }) => role === 'tool')).toHaveLength(2);
    expect(result.lines[1]?.tool_calls).toHaveLength(2);
  });

  test('an unknown tool and malformed arguments become results the model can act on', async () => {
    const echo = countingTool();
    const toolCalls = [call('nope'), call('echo', '{"cut')];
    const model = scriptedModel([{ toolCalls }, 'sorry']);
    const result = await runAgent(agentRun({ tools: [echo, countingTool({ name: 'other' })], model }));
    expect(result.outcome).toEqual({ kind: 'answered', text: 'sorry' });
    const outputs = result.lines.filter(({ role }) => role === 'tool').map(({ content }) => content);
    expect(outputs[0]).toBe('Error: unknown tool nope. Available: echo, other');
    expect(outputs[1]).toMatch(/^Error: .*JSON/);
    expect(echo.runs).toBe(0);
    const sent = model.requests[1]?.messages.flatMap((message) => message.tool_calls ?? []) ?? [];
    expect(sent.map((item) => typeof JSON.parse(item.arguments))).toEqual(['object', 'object']);
  });

  test('a tool that throws is a failed result and the turn goes on', async () => {
    const bad = countingTool({ run: () => Promise.reject(new Error('boom')) });
    const result = await runAgent(agentRun({ tools: [bad], model: scriptedModel([{ toolCalls: [call('echo')] }, 'I see']) }));
    expect(result.outcome.kind).toBe('answered');
    expect(result.lines[2]?.content).toMatch(/^Error: /);
  });

  test('files of calls that succeeded are in the result in call order; those of a failed call are not', async () => {
    const tool = countingTool({
      async run(args) {
        const { name } = args as { name: string };
        const files = [{ file: outboundFile(name), ...(name === 'b' ? { caption: 'look' } : {}) }];
        return name === 'bad' ? { ok: false, output: 'Error: no', files } : { ok: true, output: 'attached', files };
      },
    });
    const toolCalls = ['a', 'bad', 'b'].map((name) => call('echo', { name }));
    const result = await runAgent(agentRun({ tools: [tool], model: scriptedModel([{ toolCalls }, 'ok']) }));
    expect(result.files).toEqual([{ file: outboundFile('a') }, { file: outboundFile('b'), caption: 'look' }]);
  });

  test('events carry the message id and tell of every call', async () => {
    const run = agentRun({
      tools: [countingTool()],
      model: scriptedModel([{ toolCalls: [call('echo')] }, { chunks: ['o', 'k'] }]),
    });
    await runAgent(run);
    expect(run.events.map(({ type }) => type)).toEqual([
      ...['model.started', 'model.done', 'tool.started', 'tool.done'],
      ...['model.started', 'model.text', 'model.text', 'model.done'],
    ]);
    expect(run.events.every((event) => event.messageId === 'test/bot/m-1' && event.session === run.session)).toBe(true);
  });

  test('a journal that cannot write rejects with its error, and no tool runs', async () => {
    const steps = new MemoryStepLog();
    const echo = countingTool();
    const model = scriptedModel([{ toolCalls: [call('echo')] }]);
    const record = steps.record.bind(steps);
    steps.record = async (step, usage) => {
      if (step.kind === 'tool') throw new GatehouseError('GH1301', 'disk full');
      return record(step, usage);
    };
    await expect(runAgent(agentRun({ tools: [echo], model, steps }))).rejects.toMatchObject({ code: 'GH1301' });
    expect(echo.runs).toBe(0);
  });
});

test('a journal that fails during a batch stops the other calls of the batch before the error is handed on', async () => {
  let stopped = false;
  const steps = new MemoryStepLog();
  const record = steps.record.bind(steps);
  steps.record = async (step, usage) => {
    if (step.kind === 'tool' && step.state === 'DONE') throw new GatehouseError('GH1301', 'disk full');
    return record(step, usage);
  };
  const slow = countingTool({
    name: 'slow',
    async run(_args, { signal }) {
      await new Promise((resolve) => signal.addEventListener('abort', resolve));
      stopped = true;
      return { ok: false, output: 'Error: stopped' };
    },
  });
  const model = scriptedModel([{ toolCalls: [call('echo'), call('slow')] }]);
  await expect(runAgent(agentRun({ tools: [countingTool(), slow], model, steps }))).rejects.toMatchObject({ code: 'GH1301' });
  expect(stopped).toBe(true);
});

describe('provider failures', () => {
  test('a failed call is an outcome; finished tool pairs stay in the lines and an assistant line follows them', async () => {
    const model = scriptedModel([{ toolCalls: [call('echo')] }, { fail: 'overloaded' }]);
    const result = await runAgent(agentRun({ tools: [countingTool()], model }));
    expect(result.outcome).toMatchObject({ kind: 'failed', failure: { kind: 'overloaded', code: 'GH2103' } });
    expect(result.lines.map(({ role }) => role)).toEqual(['user', 'assistant', 'tool', 'assistant']);
  });

  test('A48 the line of a failed turn shows the code and none of the failure detail', async () => {
    const failure = { kind: 'auth', code: 'GH2101', message: 'key sk-secret at /etc/x', hint: '', retryable: false } as const;
    const result = await runAgent(agentRun({ model: scriptedModel([{ fail: failure }]) }));
    expect(result.lines.at(-1)?.content).toBe('[no answer: the model refused the key, GH2101]');
  });

  test('a model that throws, or ends without an end, is a failed call', async () => {
    const throwing = await runAgent(agentRun({ model: scriptedModel(() => Promise.reject(new Error('bug'))) }));
    expect(throwing.outcome).toMatchObject({ kind: 'failed', failure: { code: 'GH2109' } });
    const silent = await runAgent(agentRun({ model: scriptedModel([{ events: [{ type: 'text', text: 'half' }] }]) }));
    expect(silent.outcome).toMatchObject({ kind: 'failed', failure: { code: 'GH2109' } });
  });
});

describe('F29 empty answers', () => {
  const empty = { text: ' ', reasoning: 'only thoughts' };

  test('F29 are asked for again after 1, 2 and 4 s, then the turn fails with kind empty', async () => {
    const model = scriptedModel(() => empty);
    const run = agentRun({ model });
    const started = run.clock.now();
    const at: number[] = [];
    const done = runAgent({ ...run, emit: (event) => event.type === 'model.started' && at.push(event.at - started) });
    await run.clock.advance(60_000);
    expect((await done).outcome).toMatchObject({ kind: 'failed', failure: { kind: 'empty', code: 'GH2108' } });
    expect(at).toEqual([0, 1_000, 3_000, 7_000]);
  });

  test('F29 a later answer of the same call counts, and the forwarder is told to start over', async () => {
    const run = agentRun({ model: scriptedModel([empty, { fail: 'empty' }, 'here']) });
    const done = runAgent(run);
    await run.clock.advance(10_000);
    expect((await done).outcome).toEqual({ kind: 'answered', text: 'here' });
    expect((await done).iterations).toBe(1);
    expect(run.events.filter(({ type }) => type === 'model.restart')).toHaveLength(2);
  });

  test('F29 a call that a person let pass a limit is not made a second time on the same word', async () => {
    const model = scriptedModel(() => ({ fail: 'empty' }));
    const run = agentRun({ model, settled: new Map([['model/0', { ok: true, output: 'allow' }]]) });
    const done = runAgent(run);
    await run.clock.advance(60_000);
    expect((await done).outcome).toMatchObject({ kind: 'failed', failure: { kind: 'empty' } });
    expect(model.requests).toHaveLength(1);
  });

  test('F29 nothing is retried when the model says so', async () => {
    const failure = { kind: 'empty', code: 'GH2108', message: 'tried four times', hint: '', retryable: false } as const;
    const model = scriptedModel([{ fail: failure }]);
    expect((await runAgent(agentRun({ model }))).outcome).toEqual({ kind: 'failed', failure });
    expect(model.requests).toHaveLength(1);
  });

  test.each([
    ['filtered', 'content-filter', 'GH2111'],
    ['length', 'malformed', 'GH2109'],
  ] as const)(
    'F29 nothing that ended by %s is not asked for again: it would end, and cost, the same',
    async (stop, kind, code) => {
      const model = scriptedModel(() => ({ stop, reasoning: 'thoughts' }));
      const result = await runAgent(agentRun({ model }));
      expect(result.outcome).toMatchObject({ kind: 'failed', failure: { kind, code } });
      expect(model.requests).toHaveLength(1);
    },
  );

  test('the text is kept when the output limit ended it, and the half call behind it is not run', async () => {
    const echo = countingTool();
    const model = scriptedModel([{ text: 'so far', stop: 'length', toolCalls: [call('echo', '{"a":')] }]);
    const result = await runAgent(agentRun({ model, tools: [echo] }));
    expect(result.outcome).toMatchObject({
      kind: 'answered',
      text: expect.stringMatching(/^so far\n\n\[The answer was cut here/),
    });
    expect(result.lines.at(-1)?.content).toBe('so far');
    expect(result.lines.at(-1)).not.toHaveProperty('tool_calls');
    expect(echo.runs).toBe(0);
  });

  test('tool calls under the stop reason `end` run all the same', async () => {
    const echo = countingTool();
    const model = scriptedModel([{ stop: 'end', toolCalls: [call('echo')] }, 'ok']);
    await runAgent(agentRun({ model, tools: [echo] }));
    expect(echo.runs).toBe(1);
  });
});
