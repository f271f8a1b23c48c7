import { describe, expect, test } from 'vitest';
import { z } from 'zod';
import type { Tool, ToolResult } from '../core/tool.ts';
import { FakeClock } from '../testing/fakes.ts';
import { toolCall } from '../testing/tool-scope.ts';
import { defineTool, ToolFailure } from './define.ts';
import { parseArguments, runTool } from './run.ts';

const WORKSPACE = '/srv/data/users/u/workspace';

const contextWith = (signal?: AbortSignal) => toolCall({ workspace: WORKSPACE, ...(signal ? { signal } : {}) });

function toolThat(run: Tool['run'], outputBytes = 1000): Tool {
  return { name: 'probe', description: '', parameters: {}, tags: [], effect: 'none', outputBytes, run };
}

const echo = toolThat(async (args) => ({ ok: true, output: JSON.stringify(args) }));
const run = (tool: Tool, args: string, signal?: AbortSignal) => runTool(tool, args, contextWith(signal), { timeoutMs: 5000 });

describe('arguments', () => {
  test('are parsed once and handed over', async () => {
    expect(await run(echo, '{"a":[1]}')).toEqual({ ok: true, output: '{"a":[1]}' });
  });

  test('that are nested too deeply to be written again never reach the tool, or what decides on it', async () => {
    const deep = `${'{"a":'.repeat(5_000)}1${'}'.repeat(5_000)}`;
    expect(await run(echo, deep)).toEqual({ ok: false, output: 'Error: the arguments of probe are nested too deeply.' });
    expect(parseArguments('probe', deep)).toMatchObject({ ok: false });
  });

  test('with a whole number that would become another one never reach the tool, or what decides on it', async () => {
    const json = '{"id":725653563933458437,"text":"725653563933458437"}';
    expect(await run(echo, json)).toMatchObject({ ok: false, output: expect.stringContaining('725653563933458437') });
    expect(parseArguments('probe', json)).toMatchObject({ ok: false });
    expect(await run(echo, '{"ids":[1,-9007199254740993]}')).toMatchObject({ ok: false });
    // Held exactly, and written otherwise all the same: as 725653563933458400.
    expect(await run(echo, '{"id":725653563933458432}')).toMatchObject({
      ...{ ok: false, output: expect.stringContaining('725653563933458432') },
    });
    // Written as they were, or by the rules of floating point.
    const kept = '{"id":9007199254740991,"even":9007199254740994,"float":3.141592653589793116,"text":"725653563933458437"}';
    expect((await run(echo, kept)).output).toBe(JSON.stringify(JSON.parse(kept)));
    expect((await run(echo, '{"n":1e30,"m":1e400}')).ok).toBe(true);
  });

  test('that are no JSON become a failed result that tells the model', async () => {
    const result = await run(echo, '{"a": tru');
    expect(result.ok).toBe(false);
    expect(result.output).toMatch(/^Error: the arguments of probe are not valid JSON \(.+\)\. Send one JSON object\.$/);
  });

  test('of nothing but blanks are an empty object', async () => {
    expect((await run(echo, ' ')).output).toBe('{}');
  });

  test('larger than 1 MiB are refused before they are parsed', async () => {
    const limit = 1024 * 1024;
    const text = (bytes: number) => `"${'é'.repeat((bytes - 2) / 2)}"`;
    expect((await run(echo, text(limit))).ok).toBe(true);
    expect(await run(echo, text(limit + 2))).toMatchObject({ ok: false, output: expect.stringContaining('1 MiB') });
    expect((await run(echo, `${text(limit + 2)}{not json`)).output).toContain('1 MiB');
  });

  test('A45 nested a hundred thousand deep harm nobody', async () => {
    expect(typeof (await run(echo, '['.repeat(100_000) + ']'.repeat(100_000))).ok).toBe('boolean');
  });
});

describe('time and aborts', () => {
  test('a tool that ignores its signal is given up after the time-out, and its signal is aborted', async () => {
    const clock = new FakeClock();
    let seen: AbortSignal | undefined;
    const deaf = toolThat((_, context) => {
      seen = context.signal;
      return new Promise<ToolResult>(() => {});
    });
    const pending = runTool(deaf, '{}', contextWith(), { timeoutMs: 5000, clock });
    await clock.advance(4999);
    expect(seen?.aborted).toBe(false);
    await clock.advance(1);
    expect(await pending).toEqual({ ok: false, output: 'Error: probe timed out after 5 s; whether it took effect is unknown' });
    expect(seen?.aborted).toBe(true);
  });

  test('an abort of the turn reaches the tool, and what the tool makes of it is the result', async () => {
    const turn = new AbortController();
    const obedient = toolThat(
      (_, context) =>
        new Promise((_resolve, reject) => context.signal.addEventListener('abort', () => reject(context.signal.reason))),
    );
    const pending = run(obedient, '{}', turn.signal);
    turn.abort(new Error('stopped'));
    expect(await pending).toEqual({ ok: false, output: 'Error: probe failed: stopped' });
  });

  test('a tool that fails after it was given up disturbs nobody', async () => {
    const clock = new FakeClock();
    let fail = (_: Error) => {};
    const late = toolThat(() => new Promise((_, reject) => (fail = reject)));
    const pending = runTool(late, '{}', contextWith(), { timeoutMs: 10, clock });
    await clock.advance(10);
    expect((await pending).ok).toBe(false);
    fail(new Error('late')); // an unhandled rejection would fail this file
    await new Promise((resolve) => setImmediate(resolve));
  });
});

describe('failures', () => {
  test('an exception becomes a failed result', async () => {
    const result = await run(
      toolThat(async () => {
        throw new Error('boom');
      }),
      '{}',
    );
    expect(result).toEqual({ ok: false, output: 'Error: probe failed: boom' });
  });

  test.each([
    [`ENOENT: no such file, open '${WORKSPACE}/notes/a.md'`, "ENOENT: no such file, open 'notes/a.md'"],
    ["EACCES: permission denied, open '/srv/data/config file.json'", "EACCES: permission denied, open '[path]'"],
    ["ENOSPC, write '/proc/self/fd/17/a.txt'", "ENOSPC, write 'a.txt'"],
    ['cannot read /root/.ssh/id_rsa, sorry', 'cannot read [path], sorry'],
    ['at C:\\Users\\me\\x.txt', 'at [path]'],
    ['GET https://example.org/a/b failed 1/2', 'GET https://example.org/a/b failed 1/2'],
  ])('A48 an exception shows no path outside the workspace: %s', async (message, shown) => {
    const result = await run(
      toolThat(async () => {
        throw new Error(message);
      }),
      '{}',
    );
    expect(result.output).toBe(`Error: probe failed: ${shown}`);
  });

  test('A29 credentials leave neither results nor exceptions', async () => {
    const secret = `sk-ant-api03-${'x'.repeat(40)}`;
    const answers = await run(
      toolThat(async () => ({ ok: true, output: `found ${secret}` })),
      '{}',
    );
    const throws = await run(
      toolThat(async () => {
        throw new Error(`401 for ${secret}`);
      }),
      '{}',
    );
    for (const { output } of [answers, throws]) expect(output).not.toContain(secret);
  });

  test('a failed result always begins with "Error: "', async () => {
    expect(
      await run(
        toolThat(async () => ({ ok: false, output: 'no' })),
        '{}',
      ),
    ).toEqual({ ok: false, output: 'Error: no' });
  });

  test('output is cut to the limit of the tool', async () => {
    const result = await run(
      toolThat(async () => ({ ok: true, output: 'z'.repeat(9000) }), 500),
      '{}',
    );
    expect(Buffer.byteLength(result.output)).toBeLessThanOrEqual(500);
    expect(result.output).toContain('bytes omitted');
  });
});

describe('defineTool', () => {
  const tool = defineTool({
    name: 'add',
    description: 'Adds.',
    schema: z.strictObject({ a: z.int().describe('first'), b: z.int().default(1) }),
    tags: ['math'],
    effect: 'none',
    async run({ a, b }) {
      if (a < 0) throw new ToolFailure('a is negative');
      return String(a + b);
    },
  });

  test('describes its arguments as JSON Schema: what has a default is not required', () => {
    expect(tool.parameters).toMatchObject({
      type: 'object',
      properties: { a: { type: 'integer', description: 'first' }, b: { default: 1 } },
      required: ['a'],
    });
    expect(tool.outputBytes).toBe(50_000);
  });

  test('runs with checked arguments and defaults', async () => {
    expect(await run(tool, '{"a":2}')).toEqual({ ok: true, output: '3' });
  });

  test('names every problem of invalid arguments', async () => {
    const result = await run(tool, '{"a":"2","b":1.5,"c":0}');
    expect(result.ok).toBe(false);
    for (const part of ['invalid arguments for add', 'a: ', 'b: ', '"c"']) expect(result.output).toContain(part);
    expect((await run(tool, '[]')).output).toContain('invalid arguments for add');
    expect((await run(tool, '{"__proto__":{"a":1}}')).ok).toBe(false);
  });

  test('turns a ToolFailure into its text and leaves other exceptions to runTool', async () => {
    expect(await run(tool, '{"a":-1}')).toEqual({ ok: false, output: 'Error: a is negative' });
  });
});
