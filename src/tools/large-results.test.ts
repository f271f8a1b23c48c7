import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { Tool, ToolResult } from '../core/tool.ts';
import { tempDir } from '../testing/fakes.ts';
import { toolCall } from '../testing/tool-scope.ts';
import { keepingLarge } from './large-results.ts';
import { readFileTool } from './read-file.ts';
import { runTool } from './run.ts';

async function setUp() {
  const dir = await tempDir();
  const context = toolCall({ workspace: dir.path });
  const call = (tool: Tool, shape: 'session' | 'task', args: unknown = {}) =>
    runTool(keepingLarge(tool, { shape }), JSON.stringify(args), context, { timeoutMs: 10_000 });
  const says = (output: string, more: Partial<ToolResult> = {}): Tool => ({
    ...{ name: 'probe', description: '', parameters: {}, tags: [], effect: 'none', outputBytes: 5_000 },
    run: async () => ({ ok: true, output, ...more }),
  });
  /** The file that a result names, or undefined. */
  const kept = async ({ output }: ToolResult) => {
    const [path] = /\.gatehouse\/outputs\/[\w-]+\.txt/.exec(output) ?? [];
    return path === undefined ? undefined : await readFile(join(dir.path, path), 'utf8');
  };
  return { path: dir.path, call, says, kept, [Symbol.asyncDispose]: () => dir[Symbol.asyncDispose]() };
}

describe('a conversation', () => {
  test('is shown what fits, and of more head, tail and the file that read_file pages', async () => {
    await using at = await setUp();
    expect(await at.call(at.says('short'), 'session')).toEqual({ ok: true, output: 'short' });
    expect(await readdir(at.path)).toEqual([]);
    const text = Array.from({ length: 2_000 }, (_, i) => `line ${i + 1}`).join('\n');
    const result = await at.call(at.says(text), 'session');
    expect(Object.keys(result)).toEqual(['ok', 'output']);
    expect(result.output).toMatch(/^line 1\n[\s\S]*line 2000$/);
    expect(Buffer.byteLength(result.output)).toBeLessThanOrEqual(5_000);
    expect(await at.kept(result)).toBe(text);
    const [path] = /\.gatehouse\/\S+\.txt/.exec(result.output) ?? [];
    const page = await at.call(readFileTool, 'session', { path, start_line: 1_234, end_line: 1_235 });
    expect(page.output).toBe('1234│ line 1234\n1235│ line 1235\n');
  });

  test('is shown a failure with one mark of what is missing', async () => {
    await using at = await setUp();
    const result = await at.call(at.says('x'.repeat(20_000), { ok: false }), 'session');
    expect(result).toMatchObject({ ok: false, output: expect.stringMatching(/^Error: x/) });
    expect(result.output.match(/omitted/g)).toHaveLength(1);
    expect(await at.kept(result)).toBe('x'.repeat(20_000));
  });

  test('pages a stored output of any size, but no other file beyond 10 MiB', async () => {
    await using at = await setUp();
    await mkdir(join(at.path, '.gatehouse/outputs'), { recursive: true });
    const large = 'y'.repeat(99).concat('\n').repeat(150_000);
    for (const path of ['.gatehouse/outputs/x.txt', 'x.txt']) await writeFile(join(at.path, path), large);
    const read = async (path: string) =>
      (await at.call(readFileTool, 'session', { path, start_line: 149_999, end_line: 149_999 })).output;
    expect(await read('.gatehouse/outputs/x.txt')).toMatch(/^149999│ y+\n$/);
    expect(await read('x.txt')).toBe('Error: "x.txt" is larger than 10 MiB');
  });

  test('is not given credentials of a stored output when it reads it', async () => {
    await using at = await setUp();
    const key = `sk-ant-api03-${'Ab3-'.repeat(6)}`;
    const result = await at.call(at.says(`${'x\n'.repeat(4_000)}${key}\n${'x\n'.repeat(4_000)}`), 'session');
    const [path] = /\.gatehouse\/\S+\.txt/.exec(result.output) ?? [];
    const page = await at.call(readFileTool, 'session', { path, start_line: 4_001, end_line: 4_001 });
    expect(page.output).toBe('4001│ sk-a[credential-redacted]\n');
  });
});

describe('P13 a task', () => {
  test('is shown 4,000 characters as they are', async () => {
    await using at = await setUp();
    expect((await at.call(at.says('x'.repeat(4_000)), 'task')).output).toBe('x'.repeat(4_000));
    expect(await readdir(at.path)).toEqual([]);
  });

  test('is shown the first 4,000 of up to 12,000, and where the rest is', async () => {
    await using at = await setUp();
    const result = await at.call(at.says('xy'.repeat(3_000)), 'task');
    expect(result.output).toMatch(
      /^(xy){2000}\n\[4000 characters of an output of 6000 bytes\. All of it is in \S+: read_file pages it/,
    );
    expect(await at.kept(result)).toBe('xy'.repeat(3_000));
  });

  test('is shown twenty lines of more, and 4,000 characters of those', async () => {
    await using at = await setUp();
    const lines = await at.call(at.says('line\n'.repeat(4_000)), 'task');
    expect(lines.output.split('\n[')[0]?.split('\n')).toHaveLength(20);
    expect(await at.kept(lines)).toBe('line\n'.repeat(4_000));
    const wide = await at.call({ ...at.says('😀'.repeat(10_000)), outputBytes: 50_000 }, 'task');
    expect(wide.output).toMatch(/^(?:😀){2000}\n\[4000 characters of an output of 40000 bytes/u);
  });

  test('section 10 case 3: 4,000 characters are shown whole, 4,001 and 12,000 cut, 12,001 by their first lines, a line of 20,000 cut', async () => {
    await using at = await setUp();
    const shown = async (text: string): Promise<string> => (await at.call(at.says(text), 'task')).output;
    const lines = (chars: number): string => `${'0123456789\n'.repeat(Math.ceil(chars / 11))}`.slice(0, chars);
    expect(await shown(lines(4_000))).toBe(lines(4_000));
    for (const chars of [4_001, 12_000])
      expect((await shown(lines(chars))).startsWith(`${lines(4_000)}\n[4000 characters of an output of ${chars} bytes.`)).toBe(
        true,
      );
    const many = await shown(lines(12_001));
    expect(many.split('\n[')[0]?.split('\n')).toHaveLength(20);
    const one = await shown('x'.repeat(20_000));
    expect(one.startsWith(`${'x'.repeat(4_000)}\n[4000 characters of an output of 20000 bytes.`)).toBe(true);
  });

  test('reads a file in pages of 4,000 characters that say where to go on, and stores nothing for it', async () => {
    await using at = await setUp();
    await writeFile(join(at.path, 'a'), 'line\n'.repeat(10_000));
    let next = 1;
    for (let pages = 0; pages < 3; pages += 1) {
      const { output } = await at.call(readFileTool, 'task', { path: 'a', start_line: next });
      const goOn = Number(/go on with start_line (\d+)\]$/.exec(output)?.[1]);
      expect(output.startsWith(`${next}│ line\n`)).toBe(true);
      expect(output.split('\n')).toHaveLength(goOn - next + 1);
      expect(goOn).toBeGreaterThan(next + 300);
      next = goOn;
    }
    expect(await readdir(at.path)).toEqual(['a']);
  });

  test('goes on behind a long line of a file that is not UTF-8', async () => {
    await using at = await setUp();
    await writeFile(join(at.path, 'a'), Buffer.from(`short\n\xe9${'x'.repeat(6_000)}\nend\n`, 'latin1'));
    const read = async (start_line: number) => (await at.call(readFileTool, 'task', { path: 'a', start_line })).output;
    expect(await read(1)).toMatch(/^\[not valid UTF-8: .*\]\n1│ short\n\[cut at 4000 characters; go on with start_line 2\]$/);
    expect(await read(2)).toMatch(/^\[not valid UTF-8: .*\]\n2│ �x+\n\[cut at 4000 characters; go on with start_line 3\]$/);
    expect(await read(3)).toMatch(/3│ end\n$/);
  });
});
