import { existsSync } from 'node:fs';
import { link, mkdir, readdir, readFile, rename, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { tempDir } from '../testing/fakes.ts';
import { racingRenamer } from '../testing/racing-renamer.ts';
import { onlyTool, readAttachments, toolCall } from '../testing/tool-scope.ts';
import { diffEdit } from '../tools/diff-edit.ts';
import { editFile } from '../tools/edit-file.ts';
import { globTool } from '../tools/glob.ts';
import { listDirTool } from '../tools/list-dir.ts';
import { readFileTool } from '../tools/read-file.ts';
import { runTool } from '../tools/run.ts';
import { sendFile } from '../tools/send-file.ts';
import { writeFile as writeFileKit } from '../tools/write-file.ts';
import { openParent, splitWorkspacePath, WorkspaceDirectory } from './path.ts';

const SECRET = 'OUTSIDE SECRET';

const writeFileTool = onlyTool(writeFileKit);

/** A workspace next to a directory that must not be reached. Attachments are read at once. */
async function setUp() {
  const dir = await tempDir();
  const workspace = join(dir.path, 'data', 'users', 'u', 'workspace');
  const outside = join(dir.path, 'outside');
  await mkdir(workspace, { recursive: true });
  await mkdir(outside);
  await writeFile(join(outside, 'secret.txt'), SECRET);
  await writeFile(join(dir.path, 'data', 'config.json'), SECRET);
  const { contents: attached, attach } = readAttachments();
  const sendFileTool = onlyTool(sendFile, { attach });
  const context = toolCall({ workspace });
  const run = (tool: Parameters<typeof runTool>[0], args: unknown) =>
    runTool(tool, JSON.stringify(args), context, { timeoutMs: 10_000 });
  return { dir, workspace, outside, sendFileTool, attached, run, [Symbol.asyncDispose]: () => dir[Symbol.asyncDispose]() };
}

const UP = '../'.repeat(8);
const REFUSED = [
  '',
  '..',
  '../outside/secret.txt',
  'a/../../outside/secret.txt',
  './../x',
  'a/..',
  `${UP}etc/passwd`,
  '/etc/passwd',
  '//etc/passwd',
  '/proc/self/environ',
  '/proc/self/fd/0',
  '~',
  '~/.ssh/id_rsa',
  '~root/.bashrc',
  'a\0.txt',
  'a\nb',
  '..\\..\\x',
  '\\\\server\\share\\x',
  'C:\\Windows',
  'C:/Windows',
  'c:x',
  '..\u2215outside',
  '..\u2044outside',
  '\uff0fetc\uff0fpasswd',
  '..\uff3coutside',
  'x'.repeat(256),
  `${'a/'.repeat(2100)}b`,
];

describe('A20 the text of a path', () => {
  test.each(REFUSED.map((path) => [path]))('%j is refused by every file tool', async (path) => {
    expect(() => splitWorkspacePath(path)).toThrow();
    await using it = await setUp();
    for (const [tool, args] of [
      [readFileTool, { path }],
      [writeFileTool, { path, content: 'x' }],
      [listDirTool, { path }],
      [it.sendFileTool, { file_path: path }],
    ] as const) {
      const result = await it.run(tool, args);
      expect(result).toMatchObject({ ok: false });
      expect(result.output).toMatch(/^Error: /);
    }
    expect(await readdir(it.workspace)).toEqual([]);
    expect(it.attached).toEqual([]);
  });

  test('percent-encoding is not decoded: such a name is a file like any other', async () => {
    await using it = await setUp();
    for (const path of ['%2e%2e/x', '..%2foutside', '%00', '.../x', '..a', 'a..', 'ünï/😀.txt', ' ', '-rf']) {
      expect((await it.run(writeFileTool, { path, content: path })).ok, path).toBe(true);
      expect((await it.run(readFileTool, { path })).output).toBe(`1│ ${path}\n`);
    }
    expect(await readdir(it.outside)).toEqual(['secret.txt']);
  });

  test('empty names and single dots mean nothing', () => {
    expect(splitWorkspacePath('./a//b/./c/')).toEqual(['a', 'b', 'c']);
    expect(splitWorkspacePath('.')).toEqual([]);
  });
});

test('a file is written no deeper than a path of the system can lead to', async () => {
  await using at = await setUp();
  const deep = (bytes: number): string => `${'d'.repeat(199)}/`.repeat((bytes - 1) / 200).padEnd(bytes, 'f');
  const room = 4_095 - at.workspace.length - 1;
  const written = await at.run(writeFileTool, { path: deep(room), content: 'x' });
  expect(written).toMatchObject({ ok: true });
  expect(await readFile(join(at.workspace, deep(room)), 'utf8')).toBe('x');
  const refused = await at.run(writeFileTool, { path: deep(room + 1), content: 'x' });
  expect(refused).toMatchObject({ ok: false, output: expect.stringContaining('is too long') });
});

test('A22 what the daemon and the system run from lies out of reach, and .git inside is refused', async () => {
  await using it = await setUp();
  const targets = [
    '../../../config.json',
    '../../../journal.db',
    '../../../skills/x',
    '../../../cron.json',
    '/etc/cron.d/x',
    '~/.bashrc',
  ];
  targets.push('/proc/self/mem', '.git/hooks/pre-commit', 'repo/.GIT/config', 'repo/.git');
  for (const path of targets) expect((await it.run(writeFileTool, { path, content: 'pwned' })).ok, path).toBe(false);
  expect(await readFile(join(it.workspace, '../../../config.json'), 'utf8')).toBe(SECRET);
  expect(await readdir(join(it.dir.path, 'data'))).toEqual(['config.json', 'users']);
  expect(await readdir(it.workspace)).toEqual([]);
});

test('A22 what another file system takes for .git is refused, and names that only look alike are written', async () => {
  await using it = await setUp();
  const variants = [
    '.git ',
    '.git.',
    '.git. .',
    '.GIT  ',
    '.git::$INDEX_ALLOCATION',
    '.git:x',
    'git~1',
    'GIT~2',
    '.g\u200cit',
    '.gi\u200dt ',
  ];
  for (const name of [...variants, '\ufeff.git', '．git', '.ｇｉｔ'])
    for (const path of [`${name}/hooks/pre-commit`, name, `a/${name}/config`])
      expect((await it.run(writeFileTool, { path, content: 'pwned' })).ok, path).toBe(false);
  for (const path of ['.gitignore', '.github/x.yml', 'git', 'my.git', '.git2/x', 'git~', '.gitx'])
    expect((await it.run(writeFileTool, { path, content: 'x' })).ok, path).toBe(true);
});

describe.each([
  ['through descriptors', true],
  ['by checked paths', false],
])('A21 links, %s', (_, procFd) => {
  const supported = !procFd || existsSync('/proc/self/fd');
  test.skipIf(!supported)(
    'a symbolic link is refused at every place of the path (/proc/self/fd is needed for one way)',
    async () => {
      await using it = await setUp();
      await mkdir(join(it.workspace, 'a/b'), { recursive: true });
      await symlink(it.outside, join(it.workspace, 'a/b/out'));
      await symlink(it.outside, join(it.workspace, 'out'));
      await symlink(join(it.outside, 'secret.txt'), join(it.workspace, 'a/file'));
      for (const path of ['out/secret.txt', 'a/b/out/secret.txt', 'a/file']) {
        await expect(
          (async () => {
            const { parent, name } = await openParent(it.workspace, path, { procFd });
            await using _parent = parent;
            await using _file = await parent.openFile(name);
          })(),
        ).rejects.toThrow(/symbolic link/);
      }
      await expect(WorkspaceDirectory.open(it.workspace, ['out', 'new'], { create: true, procFd })).rejects.toThrow(
        /symbolic link/,
      );
      expect(await readdir(it.outside)).toEqual(['secret.txt']);
    },
  );

  test.skipIf(!supported)('plain files and new directories are reached (/proc/self/fd is needed for one way)', async () => {
    await using it = await setUp();
    const { parent, name } = await openParent(it.workspace, 'new/deep/f.txt', { create: true, procFd });
    await using _ = parent;
    await writeFile(parent.child(name), 'inside');
    await using file = await parent.openFile(name);
    expect(await file.readFile('utf8')).toBe('inside');
    expect(await readFile(join(it.workspace, 'new/deep/f.txt'), 'utf8')).toBe('inside');
  });
});

test('A21 without descriptors, a directory swapped for a link between the steps is noticed', async () => {
  await using it = await setUp();
  await mkdir(join(it.workspace, 'sub'));
  await writeFile(join(it.workspace, 'sub/secret.txt'), 'inside');
  const { parent } = await openParent(it.workspace, 'sub/secret.txt', { procFd: false });
  await using _ = parent;
  await rename(join(it.workspace, 'sub'), join(it.workspace, 'moved'));
  await symlink(it.outside, join(it.workspace, 'sub'));
  await expect(parent.openFile('secret.txt')).rejects.toThrow(/leads out/);
});

test('A21 a file with a second name is not written, and the other name keeps its content', async () => {
  await using it = await setUp();
  await link(join(it.outside, 'secret.txt'), join(it.workspace, 'hard.txt'));
  const result = await it.run(writeFileTool, { path: 'hard.txt', content: 'pwned' });
  expect(result.output).toContain('hard links');
  expect(await readFile(join(it.outside, 'secret.txt'), 'utf8')).toBe(SECRET);
});

async function racedWorkspace(it: Awaited<ReturnType<typeof setUp>>) {
  await mkdir(join(it.workspace, 'sub'));
  await writeFile(join(it.workspace, 'sub/secret.txt'), 'inside');
}

test.skipIf(!existsSync('/proc/self/fd'))(
  'A21 a renamer that swaps a directory for a link 10,000 times never makes a tool read, list, send or write outside (needs /proc)',
  async () => {
    await using it = await setUp();
    await racedWorkspace(it);
    await writeFile(join(it.outside, 'outside-only'), '');
    const renamer = racingRenamer(it.workspace, it.outside, 10_000);
    let over = false;
    const ended = renamer.done.finally(() => {
      over = true;
    });
    const seen = { inside: 0, refused: 0, written: 0 };
    while (!over) {
      const read = await it.run(readFileTool, { path: 'sub/secret.txt' });
      expect(read.output).not.toContain(SECRET);
      if (read.ok) seen.inside += 1;
      else seen.refused += 1;
      if ((await it.run(writeFileTool, { path: 'sub/out.txt', content: 'x' })).ok) seen.written += 1;
      await it.run(it.sendFileTool, { file_path: 'sub/secret.txt' });
      const list = await it.run(listDirTool, { path: 'sub' });
      expect(list.output).not.toContain('outside-only');
    }
    await ended;
    expect(await readdir(it.outside)).toEqual(['outside-only', 'secret.txt']);
    expect(await readFile(join(it.outside, 'secret.txt'), 'utf8')).toBe(SECRET);
    expect(it.attached.filter((text) => text !== 'inside')).toEqual([]);
    expect(seen.inside).toBeGreaterThan(0);
    expect(seen.refused).toBeGreaterThan(0);
    expect(seen.written).toBeGreaterThan(0);
  },
);

test.skipIf(!existsSync('/proc/self/fd'))('A21 nor does it make an edit or a search reach outside (needs /proc)', async () => {
  await using it = await setUp();
  await mkdir(join(it.workspace, 'sub'));
  await writeFile(join(it.workspace, 'sub/edited.txt'), 'inside\n');
  // The edit below fits it, too, and the diff does not: what was changed here would stay so.
  await writeFile(join(it.outside, 'edited.txt'), 'inside no workspace\n');
  await writeFile(join(it.outside, 'outside-only'), '');
  const [edit, diffed] = [onlyTool(editFile), onlyTool(diffEdit)];
  const renamer = racingRenamer(it.workspace, it.outside, 10_000);
  let over = false;
  const ended = renamer.done.finally(() => {
    over = true;
  });
  const seen = { edited: 0, back: 0, found: 0, refused: 0 };
  while (!over) {
    const path = 'sub/edited.txt';
    const one = await it.run(edit, { path, old_string: 'inside', new_string: 'changed' });
    if (one.ok) seen.edited += 1;
    else seen.refused += 1;
    if ((await it.run(diffed, { path, diff: '@@ -1 +1 @@\n-changed\n+inside\n' })).ok) seen.back += 1;
    const found = await it.run(globTool, { pattern: '**/*' });
    expect(found.output).not.toContain('outside-only');
    if (found.output.includes(path)) seen.found += 1;
  }
  await ended;
  expect((await readdir(it.outside)).sort()).toEqual(['edited.txt', 'outside-only', 'secret.txt']);
  expect(await readFile(join(it.outside, 'edited.txt'), 'utf8')).toBe('inside no workspace\n');
  for (const count of Object.values(seen)) expect(count).toBeGreaterThan(0);
});

test('A21 the same renamer does fool a tool that follows paths, so the race is real', async () => {
  await using it = await setUp();
  await racedWorkspace(it);
  const renamer = racingRenamer(it.workspace, it.outside, 10_000_000);
  const end = performance.now() + 10_000;
  let fooled = false;
  while (!fooled && performance.now() < end) {
    const text = await readFile(join(it.workspace, 'sub/secret.txt'), 'utf8').catch(() => '');
    fooled = text === SECRET;
  }
  await renamer.stop();
  expect(fooled).toBe(true);
});
