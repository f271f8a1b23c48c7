import { once } from 'node:events';
import { chmod, mkdir, readdir, readFile, stat, symlink, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { GatehouseError } from '../core/errors.ts';
import { tempDir } from '../testing/fakes.ts';
import { expectQuick } from '../testing/quick.ts';
import { readAttachments, runScope, toolCall } from '../testing/tool-scope.ts';
import { attachmentName } from './attachment-name.ts';
import { builtInTools } from './index.ts';
import { runTool } from './run.ts';

async function setUp() {
  const dir = await tempDir();
  const { attach, contents: attached } = readAttachments();
  const context = toolCall({ workspace: dir.path });
  const tools = builtInTools(runScope({ attach }));
  const run = (name: string, args: unknown) => {
    const tool = tools.find((candidate) => candidate.name === name);
    if (!tool) throw new Error(`no tool ${name}`);
    return runTool(tool, JSON.stringify(args), context, { timeoutMs: 10_000 });
  };
  return { path: dir.path, attached, run, [Symbol.asyncDispose]: () => dir[Symbol.asyncDispose]() };
}

test('the built-in tools have unique names, a description per argument, and say which of them change nothing', () => {
  const tools = builtInTools(runScope({ react: async () => undefined }));
  expect(tools.map(({ name, effect, idempotent = false }) => [name, effect, idempotent])).toEqual([
    ['read_file', 'none', false],
    ['write_file', 'workspace', false],
    ['edit_file', 'workspace', false],
    ['diff_edit', 'workspace', false],
    ['list_dir', 'none', false],
    ['glob', 'none', false],
    ['code_structure', 'none', false],
    ['send_file', 'outside', true],
    ['offer_choices', 'none', false],
    ['react', 'outside', true],
    ['wait', 'none', false],
  ]);
  for (const { parameters, description } of tools) {
    expect(description).toBeTruthy();
    for (const property of Object.values(parameters['properties'] ?? {})) expect(property).toHaveProperty('description');
  }
});

describe('read_file', () => {
  test('a picture is shown instead of being called a binary file', async () => {
    await using it = await setUp();
    await writeFile(join(it.path, 'a.png'), Buffer.from('89504e470d0a1a0a0000', 'hex'));
    expect(await it.run('read_file', { path: 'a.png' })).toEqual({
      ok: true,
      output: '"a.png" is a picture (10 bytes)',
      media: ['a.png'],
    });
  });

  test('numbers lines, from start_line to end_line inclusive', async () => {
    await using it = await setUp();
    await writeFile(join(it.path, 'a.txt'), 'one\ntwo\nthree\n');
    expect((await it.run('read_file', { path: 'a.txt' })).output).toBe('1│ one\n2│ two\n3│ three\n');
    expect((await it.run('read_file', { path: 'a.txt', start_line: 2, end_line: 2 })).output).toBe('2│ two\n');
    expect((await it.run('read_file', { path: 'a.txt', start_line: 3, end_line: 99 })).output).toBe('3│ three\n');
    await writeFile(join(it.path, 'b.txt'), 'no newline');
    expect((await it.run('read_file', { path: 'b.txt' })).output).toBe('1│ no newline\n');
    await writeFile(join(it.path, 'c.txt'), '');
    expect((await it.run('read_file', { path: 'c.txt' })).output).toBe('(empty file)');
  });

  test.each([
    [{ offset: 2, limit: 1 }, '2│ two\n'],
    [{ offset: 0, limit: 1 }, '1│ one\n'],
    [{ limit: 2 }, '1│ one\n2│ two\n'],
    [{ offset: 3 }, '3│ three\n'],
    [{ offset: 'x', limit: 1 }, 'Error: invalid arguments for read_file'],
    [{ offset: 1, start_line: 1 }, 'Error: invalid arguments for read_file'],
  ])('takes the lines as agents of other platforms name them: %j', async (args, shown) => {
    await using it = await setUp();
    await writeFile(join(it.path, 'a.txt'), 'one\ntwo\nthree\n');
    expect((await it.run('read_file', { path: 'a.txt', ...args })).output).toContain(shown);
  });

  test('says what is wrong: missing, directory, not regular, binary, beyond the end, reversed, too large', async () => {
    await using it = await setUp();
    await mkdir(join(it.path, 'dir'));
    await writeFile(join(it.path, 'a.txt'), 'one\n');
    await writeFile(join(it.path, 'bin'), 'a\0b');
    await writeFile(join(it.path, 'big'), Buffer.alloc(10 * 1024 * 1024 + 1, 'x'));
    await using socket = createServer().listen(join(it.path, 'socket'));
    await once(socket, 'listening');
    const output = async (args: unknown) => (await it.run('read_file', args)).output;
    expect(await output({ path: 'nope' })).toBe('Error: "nope" does not exist');
    expect(await output({ path: 'nope/deep' })).toBe('Error: "nope" does not exist');
    expect(await output({ path: 'dir' })).toBe('Error: "dir" is a directory');
    expect(await output({ path: '.' })).toContain('is a directory');
    expect(await output({ path: 'a.txt/b' })).toContain('is not a directory');
    expect(await output({ path: 'socket' })).toBe('Error: "socket" is not a regular file');
    expect(await output({ path: 'bin' })).toContain('binary');
    expect(await output({ path: 'a.txt', start_line: 2 })).toContain('the file has 1 lines');
    expect(await output({ path: 'a.txt', start_line: 3, end_line: 2 })).toContain('lies before');
    expect(await output({ path: 'a.txt', start_line: 0 })).toContain('start_line: ');
    expect(await output({ path: 'big' })).toContain('larger than 10 MiB');
  });

  test('stops at 50,000 bytes and says where to go on, so that nothing is cut out of the middle', async () => {
    await using it = await setUp();
    await writeFile(join(it.path, 'long'), `${'y'.repeat(98)}\n`.repeat(5000));
    const { output } = await it.run('read_file', { path: 'long' });
    const goOn = Number(/go on with start_line (\d+)\]$/.exec(output)?.[1]);
    expect(goOn).toBeGreaterThan(450);
    expect(Buffer.byteLength(output)).toBeLessThanOrEqual(50_000);
    expect(output).not.toContain('omitted');
    expect((await it.run('read_file', { path: 'long', start_line: goOn, end_line: goOn })).output).toMatch(/^\d+│ y+\n$/);
    await writeFile(join(it.path, 'wide'), `${'w'.repeat(200_000)}\nnext`);
    expect((await it.run('read_file', { path: 'wide' })).output).toContain('go on with start_line 2');
  });
});

describe('write_file', () => {
  test('what a file grows by is claimed first, and where there is no room nothing is written', async () => {
    await using dir = await tempDir();
    const claimed: number[] = [];
    const claimDisk = async (_workspace: string, bytes: number) => {
      if (bytes > 10) throw new GatehouseError('GH1508', 'there is no room for the file: files of this chat may take up 1 MB');
      return {
        cover: async () => undefined,
        stored: (stored: number) => void claimed.push(stored),
        [Symbol.dispose]: () => undefined,
      };
    };
    const tool = builtInTools({ ...runScope({}), claimDisk }).find(({ name }) => name === 'write_file');
    if (!tool) throw new Error('no tool');
    const write = (content: string) =>
      runTool(tool, JSON.stringify({ path: 'a', content }), toolCall({ workspace: dir.path }), { timeoutMs: 10_000 });
    for (const content of ['12345', '12345678', '1']) expect((await write(content)).ok).toBe(true);
    expect(claimed).toEqual([5, 3]);
    const refused = await write('x'.repeat(50));
    expect(refused).toMatchObject({ ok: false, output: expect.stringMatching(/^Error: there is no room .* 1 MB \(GH1508\)$/) });
    expect(await readFile(join(dir.path, 'a'), 'utf8')).toBe('1');
  });

  test('creates parents, replaces content, keeps the mode and leaves no temporary file', async () => {
    await using it = await setUp();
    expect(await it.run('write_file', { path: 'a/b/run.sh', content: 'é\n' })).toEqual({
      ok: true,
      output: 'Wrote 3 bytes to a/b/run.sh (new file)',
    });
    expect((await stat(join(it.path, 'a/b/run.sh'))).mode & 0o777).toBe(0o600);
    await chmod(join(it.path, 'a/b/run.sh'), 0o755);
    await it.run('write_file', { path: 'a/b/run.sh', content: 'new' });
    expect(await readFile(join(it.path, 'a/b/run.sh'), 'utf8')).toBe('new');
    expect((await stat(join(it.path, 'a/b/run.sh'))).mode & 0o777).toBe(0o755);
    expect(await readdir(join(it.path, 'a/b'))).toEqual(['run.sh']);
  });

  test('a name of 255 bytes is written', async () => {
    await using it = await setUp();
    expect((await it.run('write_file', { path: 'n'.repeat(255), content: 'x' })).ok).toBe(true);
  });

  test('refuses a directory, a symbolic link, a missing argument', async () => {
    await using it = await setUp();
    await mkdir(join(it.path, 'dir'));
    await writeFile(join(it.path, 'target'), 'old');
    await symlink('target', join(it.path, 'link'));
    expect((await it.run('write_file', { path: 'dir', content: '' })).output).toContain('is a directory');
    expect((await it.run('write_file', { path: 'link', content: 'x' })).output).toContain('symbolic link');
    expect((await it.run('write_file', { path: 'target/x', content: 'x' })).output).toContain('not a directory');
    expect((await it.run('write_file', { path: 'x' })).output).toContain('content: ');
    expect(await readFile(join(it.path, 'target'), 'utf8')).toBe('old');
    expect((await readdir(it.path)).sort()).toEqual(['dir', 'link', 'target']);
  });
});

describe('list_dir', () => {
  test('lists sorted, marks directories, follows no link, and shows a name with a newline as one line', async () => {
    await using it = await setUp();
    await mkdir(join(it.path, 'b'));
    await writeFile(join(it.path, 'c'), '');
    await writeFile(join(it.path, 'a\n[dir] fake'), '');
    await symlink('/etc', join(it.path, 'd'));
    const expected = '[file] "a\\n[dir] fake"\n[dir] b\n[file] c\n[file] d (symbolic link, not followed)';
    expect((await it.run('list_dir', {})).output).toBe(expected);
    expect((await it.run('list_dir', { path: './' })).output).toBe(expected);
    expect((await it.run('list_dir', { path: 'b' })).output).toBe('(empty directory)');
    expect((await it.run('list_dir', { path: 'c' })).output).toContain('not a directory');
    expect((await it.run('list_dir', { path: 'd' })).output).toContain('symbolic link');
  });
});

describe('send_file', () => {
  test('attaches a file of the workspace with its caption', async () => {
    await using it = await setUp();
    await mkdir(join(it.path, 'out'));
    await writeFile(join(it.path, 'out/report.txt'), 'figures');
    const result = await it.run('send_file', { file_path: 'out/report.txt', caption: 'Here' });
    const file = { path: '/copy', name: 'report.txt', mime: 'text/plain', kind: 'document', bytes: 7 };
    const output = 'Attached report.txt (7 bytes) to the answer';
    expect(result).toEqual({ ok: true, output, files: [{ file, caption: 'Here' }] });
    expect(it.attached).toEqual(['figures']);
    expect((await it.run('send_file', { file_path: 'nope' })).ok).toBe(false);
    expect((await it.run('send_file', { file_path: 'out' })).ok).toBe(false);
  });
});

describe('A23 the name a file travels under', () => {
  test.each([
    ['report.pdf', 'report.pdf'],
    ['../../x', 'x'],
    ['..\\..\\x', 'x'],
    ['CON', '_CON'],
    ['con.txt', '_con.txt'],
    ['console.txt', 'console.txt'],
    ['-rf', '_rf'],
    ['.bashrc', '_bashrc'],
    ['..', 'file'],
    ['', 'file'],
    ['a\r\nContent-Type: x', 'a__Content-Type_ x'],
    ['\u202egpj.exe', '_gpj.exe'],
    ['page.html', 'page.html'],
    ['grüße 😀.txt', 'grüße 😀.txt'],
    ['name. . ', 'name'],
  ])('%j becomes %j', (name, expected) => {
    expect(attachmentName(name)).toBe(expected);
  });

  test('300 bytes are shortened between characters, and the extension stays', () => {
    const name = attachmentName(`${'é'.repeat(150)}.pdf`);
    expect(name).toMatch(/^é+\.pdf$/);
    expect(Buffer.byteLength(name)).toBeLessThanOrEqual(120);
    expect(Buffer.byteLength(attachmentName('x'.repeat(300)))).toBe(120);
  });

  test('reads a name of dots at once', () => {
    expectQuick('.', (dots) => attachmentName(`${dots}x`));
  });
});
