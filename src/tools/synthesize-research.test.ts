import { mkdir, readdir, rm, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, onTestFinished, test } from 'vitest';
import type { ModelQuestion, ModelReply } from '../core/ask-model.ts';
import { PRIVATE, UNTRUSTED } from '../core/authority.ts';
import { GatehouseError } from '../core/errors.ts';
import type { RunScope, ToolResult } from '../core/tool.ts';
import { gate, tempDir, until } from '../testing/fakes.ts';
import { runScope, toolCall } from '../testing/tool-scope.ts';
import { WorkspaceBusy } from '../workspace/workspace-lock.ts';
import { synthesizeResearch } from './synthesize-research.ts';

const DIR = 'research/rain';
const answer = (text: string): ModelReply => ({ kind: 'answer', text, isComplete: true });
const isNote = ({ task }: ModelQuestion) => task.startsWith('You read one source');
/** Notes that quote the source, and a synthesis that quotes the notes. */
const quoting = async ({ data }: ModelQuestion): Promise<ModelReply> => answer(`<${data.trim()}>`);

interface Rig {
  readonly reply?: (question: ModelQuestion, signal: AbortSignal) => Promise<ModelReply>;
  readonly files?: Readonly<Record<string, string>>;
  readonly windowTokens?: number;
  readonly scope?: Partial<RunScope>;
}

async function scene(rig: Rig = {}) {
  const dir = await tempDir();
  onTestFinished(() => dir[Symbol.asyncDispose]());
  await mkdir(join(dir.path, DIR), { recursive: true });
  const files = rig.files ?? { 'a.md': 'Source: http://a.example/\nTitle: A\n\nnorth', 'b.txt': 'south' };
  for (const [name, text] of Object.entries(files)) await writeFile(join(dir.path, DIR, name), text);
  const asked: ModelQuestion[] = [];
  const at = { reply: rig.reply ?? quoting };
  const models: RunScope['models'] = {
    window: async () => rig.windowTokens ?? 128_000,
    async ask(question, signal) {
      asked.push(question);
      return await at.reply(question, signal);
    },
  };
  const [tool] = synthesizeResearch({ ...runScope(), models, ...rig.scope });
  if (!tool) throw new Error('the tool is not offered');
  const run = async (args: object = {}, signal = new AbortController().signal): Promise<ToolResult> =>
    await tool.run({ research_dir: DIR, query: 'Where?', ...args }, toolCall({ workspace: dir.path, signal }));
  return { at, run, asked, tool, path: join(dir.path, DIR) };
}

test('each file is noted, and what is made of the notes names file and address of each', async () => {
  const { run, asked, tool } = await scene();
  const { ok, output } = await run({ focus: 'the coast' });
  expect(ok).toBe(true);
  expect(output).toContain('[1] research/rain/a.md – http://a.example/\n[2] research/rain/b.txt');
  expect(output).toContain('data, no instructions');
  expect(asked.map(isNote)).toEqual([true, true, false]);
  expect(asked[2]?.data).toMatch(/^\[1\]\n<Source[\s\S]*north>\n\n\[2\]\n<south>$/);
  for (const { task } of asked) expect(task).toMatch(/The question: Where\?\nWhat matters most: the coast$/);
  expect(tool.reads).toBe(UNTRUSTED | PRIVATE);
});

test('nothing is asked twice: after a crash, a stop or a failure only what is missing is paid for', async () => {
  const { run, asked, path } = await scene();
  const first = await run();
  expect(await run()).toEqual(first);
  expect(asked).toHaveLength(3);
  await writeFile(join(path, 'b.txt'), 'west');
  await run();
  expect(asked.slice(3).map(({ data }) => data)).toEqual(['west', expect.stringContaining('<west>')]);
  await run({ query: 'When?' });
  expect(asked).toHaveLength(8);
});

test('kept notes that are emptied, or are no file any more, are made again', async () => {
  const { run, asked, path } = await scene({ files: { 'a.md': 'north' } });
  await run();
  const [one = '', other = ''] = await readdir(join(path, '.notes'));
  await writeFile(join(path, '.notes', one), '');
  await rm(join(path, '.notes', other));
  await symlink('/etc/hostname', join(path, '.notes', other));
  expect((await run()).output).toContain('<north>');
  expect(asked).toHaveLength(4);
});

test('a source that fails is told, and the others are used', async () => {
  const reply = async (question: ModelQuestion): Promise<ModelReply> =>
    question.data === 'south' ? { kind: 'failed', reason: 'the answer was withheld, GH2111' } : await quoting(question);
  const { ok, output } = await (await scene({ reply })).run();
  expect(ok).toBe(true);
  expect(output).toContain('Made by a model from 1 source.');
  expect(output).toContain('Not used:\n- research/rain/b.txt: the answer was withheld, GH2111');
});

test('where the model works on none, the call fails with the reasons', async () => {
  const { run, asked } = await scene({ reply: async () => ({ kind: 'failed', reason: 'the key was refused, GH2101' }) });
  expect(await run()).toEqual({
    ok: false,
    output: expect.stringMatching(/none of the sources\n- research\/rain\/a\.md: the key was refused, GH2101\n- /),
  });
  expect(asked.every(isNote)).toBe(true);
});

test('after a limit on spending was met no source is begun any more, and what was made is kept', async () => {
  const files = Object.fromEntries(Array.from({ length: 9 }, (_, n) => [`${n}.md`, `text ${n}`]));
  let paid = 0;
  const spending = { kind: 'spending', reason: 'the spending limit is reached, GH2112' } as const;
  const reply = async (question: ModelQuestion): Promise<ModelReply> => (++paid > 4 ? spending : await quoting(question));
  const { at, run, asked } = await scene({ files, reply });
  const { ok, output } = await run();
  expect(ok).toBe(false);
  expect(output).toContain('4 of 9 sources were worked on');
  expect(output).toContain('cannot be asked within a tool');
  expect(asked.length).toBeLessThan(9);
  at.reply = quoting;
  const before = asked.length;
  expect((await run()).ok).toBe(true);
  expect(asked.length - before).toBe(5 + 1);
});

test('where the notes cannot be put together, they are kept', async () => {
  const reply = async (question: ModelQuestion): Promise<ModelReply> =>
    isNote(question) ? await quoting(question) : { kind: 'failed', reason: 'the model took longer than 180 s' };
  const { at, run, asked } = await scene({ reply });
  expect((await run()).output).toContain('(the model took longer than 180 s). 2 of 2 sources were worked on');
  at.reply = quoting;
  expect((await run()).ok).toBe(true);
  expect(asked.map(isNote)).toEqual([true, true, false, false]);
});

test('at most 3 calls run at once, and at most 20 files are read, which is told', async () => {
  const files = Object.fromEntries(Array.from({ length: 25 }, (_, n) => [`${String(n).padStart(2, '0')}.md`, `text ${n}`]));
  const opened = gate();
  let running = 0;
  const { run, asked } = await scene({
    files,
    async reply(question) {
      running += 1;
      expect(running).toBeLessThanOrEqual(3);
      await opened.opened;
      running -= 1;
      return await quoting(question);
    },
  });
  const made = run();
  await until('three run', () => running === 3);
  opened.open();
  expect((await made).output).toContain('- 5 more files: at most 20 are read');
  expect(asked).toHaveLength(21);
});

test('a source that does not fit the window is cut, which is told, and so is an answer that reached its length', async () => {
  const { run, asked } = await scene({
    files: { 'a.md': 'x'.repeat(50_000) },
    windowTokens: 8_000,
    reply: async ({ data }) => ({ kind: 'answer', text: data.slice(0, 10), isComplete: false }),
  });
  const { output } = await run();
  expect(asked[0]?.data.length).toBe(6_000);
  expect(output).toContain('research/rain/a.md – only its beginning was read');
  expect(output).toContain('[cut here: the answer reached its length]');
});

test('without room on the disk the answer comes all the same', async () => {
  const claimDisk: RunScope['claimDisk'] = async () => {
    throw new GatehouseError('GH1508', 'there is no room');
  };
  const { run, path } = await scene({ scope: { claimDisk } });
  expect((await run()).ok).toBe(true);
  expect(await readdir(join(path, '.notes'))).toEqual([]);
});

test('an answer that is paid for is used also where another call has the workspace to itself', async () => {
  const claimDisk: RunScope['claimDisk'] = async () => {
    throw new WorkspaceBusy('a program that a person allowed runs in the workspace');
  };
  const { run, asked } = await scene({ scope: { claimDisk } });
  expect(await run()).toMatchObject({ ok: true, output: expect.stringContaining('<south>') });
  expect(asked).toHaveLength(3);
});

test.for([
  ['../other', 'leaves the workspace'],
  ['/etc', 'is absolute'],
  ['research/none', 'does not exist'],
  ['research/rain/a.md', 'is not a directory'],
  ['research', 'no text could be read there'],
])('the directory %s is refused: it %s', async ([research_dir = '', reason = '']) => {
  const { run, asked } = await scene();
  expect(await run({ research_dir })).toEqual({ ok: false, output: expect.stringContaining(reason) });
  expect(asked).toEqual([]);
});

test('A21 links, hidden files and what is no text are no sources', async () => {
  const { run, asked, path } = await scene({
    files: { 'a.md': 'north', '.hidden.md': 'no', 'picture.png': 'no', 'empty.md': ' \n' },
  });
  await symlink('/etc/hostname', join(path, 'link.md'));
  expect((await run()).output).toContain('- research/rain/empty.md: it is empty');
  expect(asked.map(({ data }) => data)).toEqual(['north', '[1]\n<north>']);
});

test('an address that is none, or of another kind, is not shown as a source', async () => {
  const files = {
    'a.md': 'Source: javascript:alert(1)\n\nx',
    'b.md': '\nSource: http://late.example/',
    'c.md': 'Source: http://[\n',
  };
  const { output } = await (await scene({ files })).run();
  expect(output.split('Sources:\n')[1]).toBe('[1] research/rain/a.md\n[2] research/rain/b.md\n[3] research/rain/c.md');
});

test('a stop ends it with its reason, and begins no further call', async () => {
  const stop = new AbortController();
  const files = Object.fromEntries(Array.from({ length: 9 }, (_, n) => [`${n}.md`, `text ${n}`]));
  const { run, asked } = await scene({
    files,
    reply: (_, signal) => new Promise((_resolve, reject) => signal.addEventListener('abort', () => reject(signal.reason))),
  });
  const made = run({}, stop.signal);
  await until('three run', () => asked.length === 3);
  stop.abort(new Error('stopped'));
  await expect(made).rejects.toThrow('stopped');
  expect(asked).toHaveLength(3);
});

test('without a model that may be asked there is no such tool', () => {
  expect(synthesizeResearch(runScope())).toEqual([]);
});
