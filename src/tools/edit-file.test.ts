import { chmod, link, mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { GatehouseError } from '../core/errors.ts';
import type { ClaimDisk } from '../core/ports.ts';
import { cpuMs } from '../testing/cpu-time.ts';
import { tempDir } from '../testing/fakes.ts';
import { runScope, toolCall } from '../testing/tool-scope.ts';
import { editFile } from './edit-file.ts';
import { runTool } from './run.ts';

async function setUp(claimDisk?: ClaimDisk) {
  const dir = await tempDir();
  const [tool] = editFile({ ...runScope(), ...(claimDisk ? { claimDisk } : {}) });
  if (!tool) throw new Error('the kit makes no tool');
  const context = toolCall({ workspace: dir.path });
  const file = join(dir.path, 'a.txt');
  const edit = (old: string, fresh: string, path = 'a.txt') =>
    runTool(tool, JSON.stringify({ path, old_string: old, new_string: fresh }), context, { timeoutMs: 10_000 });
  /** What becomes of a file with this text, or why nothing. */
  const edited = async (text: string, old: string, fresh: string) => {
    await writeFile(file, text);
    const { ok, output } = await edit(old, fresh);
    const now = await readFile(file, 'utf8');
    if (!ok) expect(now).toBe(text);
    return ok ? now : output;
  };
  return { path: dir.path, file, edit, edited, [Symbol.asyncDispose]: () => dir[Symbol.asyncDispose]() };
}

test.each([
  ['one of several lines', 'one\ntwo\nthree\n', 'two', '2', 'one\n2\nthree\n'],
  ['several lines', 'one\ntwo\nthree\n', 'one\ntwo', '1', '1\nthree\n'],
  ['to nothing', 'one\ntwo\n', 'two\n', '', 'one\n'],
  ['signs that a replacement could take for its own', 'price: X\n', 'X', "$& $1 $$ $`$'", "price: $& $1 $$ $`$'\n"],
  ['line ends of Windows, asked for without', 'a\r\nb\r\nc\r\n', 'a\nb', 'x\ny\nz', 'x\r\ny\r\nz\r\nc\r\n'],
  ['line ends of Windows, asked for with them', 'a\r\nb\r\n', 'a\r\nb', 'x\r\ny', 'x\r\ny\r\n'],
  ['a file without a last line end', 'one\ntwo', 'two', '2', 'one\n2'],
  ['a byte order mark and characters of four bytes', '\ufeffgrüße 😀\n', '😀', '🎉', '\ufeffgrüße 🎉\n'],
])('replaces the one place: %s', async (_, text, old, fresh, expected) => {
  await using at = await setUp();
  expect(await at.edited(text, old, fresh)).toBe(expected);
});

test('a text that stands there several times is counted, overlapping ones too, and nothing is changed', async () => {
  await using at = await setUp();
  expect(await at.edited('x\ny\nx\n', 'x', 'z')).toBe(
    'Error: old_string stands there 2 times (lines 1, 3). Give more of the text around the place that is meant',
  );
  expect(await at.edited('aaa', 'aa', 'b')).toContain('2 times (lines 1, 1)');
  expect(await at.edited('a'.repeat(100_000), 'a', 'b')).toContain('1000 times or more');
});

test('for a text that is not there the nearest lines are named', async () => {
  await using at = await setUp();
  const text = 'import a\n\n  const total = sum(items);\nreturn total;\n';
  const output = await at.edited(text, 'const total = sum(item);', 'x');
  expect(output).toMatch(/not found\. The nearest lines:\nline 3: {3}const total = sum\(items\);/);
  expect(await at.edited(text, 'const  total\t= sum(items);', 'x')).toContain('line 3:');
  expect(await at.edited(text, '3│   const total', 'x')).toContain('Leave out what read_file puts before');
  expect(await at.edited(text, 'ZZZZ', 'x')).toContain('no line of the 5 is like it');
});

test('refuses what is no text, what is not there, links, directories, hard links, .git, and edits that change nothing', async () => {
  await using at = await setUp();
  expect(await at.edited('x', 'x', 'x')).toContain('are the same');
  expect(await at.edited('x', '', 'y')).toContain('old_string: ');
  await mkdir(join(at.path, '.git'));
  await writeFile(join(at.path, '.git/config'), 'x');
  await symlink('a.txt', join(at.path, 'link'));
  await writeFile(join(at.path, 'nul'), 'x\0');
  await writeFile(join(at.path, 'latin1'), Buffer.from([0x78, 0xe4]));
  await link(at.file, join(at.path, 'hard'));
  const reason = async (path: string) => (await at.edit('x', 'y', path)).output;
  expect(await reason('none')).toBe('Error: "none" does not exist');
  expect(await reason('.git/config')).toContain('.git directory');
  expect(await reason('.GIT /config')).toContain('.git directory');
  expect(await reason('.git')).toContain('.git');
  expect(await reason('link')).toContain('symbolic link');
  expect(await reason('nul')).toContain('binary file');
  expect(await reason('latin1')).toContain('not UTF-8');
  expect(await reason('hard')).toContain('hard links');
  expect(await reason('.')).toContain('directory');
  expect(await readFile(join(at.path, '.git/config'), 'utf8')).toBe('x');
  expect(await readdir(at.path)).toHaveLength(6);
});

test('keeps the mode and leaves no temporary file', async () => {
  await using at = await setUp();
  await writeFile(at.file, '#!/bin/sh\n');
  await chmod(at.file, 0o750);
  expect(await at.edit('/bin/sh', '/bin/bash')).toEqual({ ok: true, output: 'Edited a.txt at line 1' });
  expect((await stat(at.file)).mode & 0o777).toBe(0o750);
  expect(await readdir(at.path)).toEqual(['a.txt']);
});

test('fifty edits of one file that come together are all in it', async () => {
  await using at = await setUp();
  const names = Array.from({ length: 50 }, (_, i) => `<${i}>`);
  await writeFile(at.file, names.join('\n'));
  const results = await Promise.all(names.map((name) => at.edit(name, name.toUpperCase().replace('<', '[done '))));
  expect(results.every(({ ok }) => ok)).toBe(true);
  expect(await readFile(at.file, 'utf8')).toBe(names.map((name) => name.replace('<', '[done ')).join('\n'));
});

test('what the file grows by is claimed first, and where there is no room it stays as it was', async () => {
  const stored: number[] = [];
  await using at = await setUp(async (_workspace, bytes) => {
    if (bytes > 10) throw new GatehouseError('GH1508', 'there is no room for the file: files of this chat may take up 1 MB');
    return { cover: async () => undefined, stored: (more) => void stored.push(more), [Symbol.dispose]: () => undefined };
  });
  expect(await at.edited('one', 'one', 'eleven')).toBe('eleven');
  expect(await at.edited('eleven', 'eleven', '1')).toBe('1');
  expect(await at.edited('one', 'one', 'x'.repeat(50))).toMatch(/^Error: there is no room .*\(GH1508\)$/);
  expect(stored).toEqual([3]);
});

test('a file does not grow beyond 10 MiB', async () => {
  await using at = await setUp();
  await writeFile(at.file, `${'x\n'.repeat(5 * 1024 * 1024 - 2)}END`);
  expect((await at.edit('END', 'much more than there is room for')).output).toContain('larger than 10 MiB');
  await writeFile(at.file, Buffer.alloc(10 * 1024 * 1024 + 1, 'x'));
  expect((await at.edit('END', 'y')).output).toContain('larger than 10 MiB');
});

test.each([
  ['with line feeds', 'a'.repeat(200_000), `ab${'a'.repeat(20_000)}`],
  ['with returns', `\r\n${'a'.repeat(200_000)}`, `ab${'a'.repeat(20_000)}`],
  ['and with line numbers', 'a'.repeat(200_000), `12│ ab${'a'.repeat(20_000)}`],
])('A45 a text that begins alike everywhere is looked for in one pass, %s', async (_, text, old) => {
  await using at = await setUp();
  await writeFile(at.file, text);
  const before = cpuMs();
  expect(await at.edit(old, 'x')).toMatchObject({ ok: false, output: expect.stringContaining('was not found') });
  expect(cpuMs() - before).toBeLessThan(500);
});
