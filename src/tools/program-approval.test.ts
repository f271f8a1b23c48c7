import { spawnSync } from 'node:child_process';
import { rmSync } from 'node:fs';
import { chmod, mkdir, symlink, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it, onTestFinished } from 'vitest';
import type { Bounds } from '../core/process.ts';
import { cpuMs } from '../testing/cpu-time.ts';
import { tempDir } from '../testing/fakes.ts';
import { ToolFailure } from './define.ts';
import { programApproval } from './program-approval.ts';

const { signal } = new AbortController();

async function workspace(): Promise<string> {
  const dir = await tempDir();
  onTestFinished(() => dir[Symbol.asyncDispose]());
  await writeFile(join(dir.path, 'run.sh'), 'echo a\n');
  await mkdir(join(dir.path, 'lib'));
  await writeFile(join(dir.path, 'lib', 'x.py'), 'print(1)\n');
  return dir.path;
}

const BWRAP: Bounds = { mode: 'bwrap', network: false, readable: [] };

const digestOf = async (path: string, command = './run.sh', bounds = BWRAP) =>
  (await programApproval({ command, bounds }, { workspace: path, signal })).digest;

it('the same workspace has the same digest', async () => {
  const path = await workspace();
  expect(await digestOf(path)).toEqual(await digestOf(path));
});

it('a file that is changed, also with its time set back, one that is made, a link and a changed mode make another digest', async () => {
  const changes: readonly ((path: string) => Promise<unknown>)[] = [
    (path) => writeFile(join(path, 'run.sh'), 'echo b\n').then(() => utimes(join(path, 'run.sh'), 0, 0)),
    (path) => writeFile(join(path, 'lib', 'y.py'), ''),
    (path) => symlink('/bin/sh', join(path, 'git')),
  ];
  for (const change of changes) {
    const path = await workspace();
    const before = await digestOf(path);
    await change(path);
    expect(await digestOf(path)).not.toEqual(before);
  }
});

it('another sandbox, the network, a readable directory and another image make another digest, are shown and end a rule', async () => {
  const path = await workspace();
  const all: readonly Bounds[] = [
    ...([BWRAP, { ...BWRAP, mode: 'macos' }, { ...BWRAP, mode: 'none' }, { ...BWRAP, network: true }] as const),
    ...[
      { ...BWRAP, readable: ['/srv/a'] },
      { ...BWRAP, readable: ['/srv/a', '/srv/b'] },
    ],
    ...([
      { ...BWRAP, mode: 'docker', image: 'one' },
      { ...BWRAP, mode: 'docker', image: 'two' },
    ] as const),
  ];
  const facts = await Promise.all(all.map((bounds) => programApproval({ command: 'ls', bounds }, { workspace: path, signal })));
  const rules = facts.flatMap(({ rule }) => (rule === undefined ? [] : [rule]));
  for (const kinds of [facts.map(({ digest }) => JSON.stringify(digest)), facts.map(({ shown }) => shown), rules])
    expect(new Set(kinds).size).toBe(kinds.length);
  expect(facts.map(({ shown }) => shown.split('\n')[1])).toEqual([
    'in a sandbox (bwrap) without the network',
    'in a sandbox (macos) without the network',
    'without a sandbox, with all that the user of the daemon may do',
    'in a sandbox (bwrap) with the network',
    'in a sandbox (bwrap) without the network, where it may also read /srv/a',
    'in a sandbox (bwrap) without the network, where it may also read /srv/a, /srv/b',
    'in a sandbox (docker, image one) without the network',
    'in a sandbox (docker, image two) without the network',
  ]);
});

it('a file that goes while the workspace is read is none of it', async () => {
  const path = await workspace();
  const before = await digestOf(path);
  // All names of the directory are known before the first of them is looked at.
  const going = new AbortController().signal;
  await writeFile(join(path, '.run.sh.tmp'), '');
  going.throwIfAborted = () => rmSync(join(path, '.run.sh.tmp'), { force: true });
  const { digest, shown } = await programApproval({ command: './run.sh', bounds: BWRAP }, { workspace: path, signal: going });
  expect(shown).toContain('its 3 files');
  expect(digest).toEqual(before);
  going.throwIfAborted = () => rmSync(join(path, 'lib'), { force: true, recursive: true });
  await programApproval({ command: './run.sh', bounds: BWRAP }, { workspace: path, signal: going });
});

it('A48 what cannot be read is named by its place in the workspace, and the command is refused', async () => {
  const path = await workspace();
  // Longer than a path may be, but each directory can be made in the one above it.
  const name = 'd'.repeat(250);
  const deep = `i=0; while [ $i -lt 17 ]; do mkdir ${name}; cd ${name}; i=$((i + 1)); done`;
  expect(spawnSync('sh', ['-c', deep], { cwd: path }).status).toBe(0);
  onTestFinished(() => void spawnSync('rm', ['-rf', join(path, name)]));
  const refusal = await digestOf(path).catch((error: unknown) => error);
  expect(refusal).toBeInstanceOf(ToolFailure);
  expect(String(refusal)).toMatch(
    /"d{200}…" in the workspace cannot be read \(ENAMETOOLONG\), so what would run cannot be vouched for/,
  );
  expect(String(refusal)).not.toContain(path);
});

it.skipIf(process.getuid?.() === 0)('so is a directory that a program has locked', async () => {
  const path = await workspace();
  await chmod(join(path, 'lib'), 0);
  onTestFinished(() => chmod(join(path, 'lib'), 0o700));
  await expect(digestOf(path)).rejects.toThrow('"lib" in the workspace cannot be read (EACCES)');
});

it('a directory that is not there yet is an empty one', async () => {
  const path = join(await workspace(), 'later');
  expect(await programApproval({ command: 'ls', bounds: BWRAP }, { workspace: path, signal })).toMatchObject({
    shown: expect.stringContaining('its 0 files'),
  });
});

it('a yes for the session is offered for plain words, and not for a program that runs others', async () => {
  const path = await workspace();
  const ruleOf = async (command: string) => (await programApproval({ command, bounds: BWRAP }, { workspace: path, signal })).rule;
  expect(await ruleOf('cat a.txt -n')).toContain('"cat a.txt"');
  expect(await ruleOf('ls -la')).toContain('"ls"');
  for (const command of [
    'sh run.sh',
    './run.sh',
    'python3 x.py',
    'git log; rm x',
    'ls $(x)',
    'A=1 ls',
    'ls > x',
    'find . -delete',
    "ls 'a'",
  ])
    expect(await ruleOf(command), command).toBeUndefined();
});

it('a yes for the session is never about a program that an option or a file can make run or write more', async () => {
  const path = await workspace();
  const rules = async (command: string, bounds = BWRAP) =>
    (await programApproval({ command, bounds }, { workspace: path, signal })).rule;
  for (const command of [
    ...[
      '. run.sh',
      'git status -s',
      'rg --pre x y',
      'tar --to-command x',
      'stdbuf -o0 x',
      'pytest',
      'mawk -f x',
      'sort -o x',
      'uniq a b',
    ],
    ...[
      'command ls',
      'builtin ls',
      'busybox ls',
      'xargs ls',
      'file -C',
      'tree -o x',
      'diff -l a b',
      'date -s x',
      'tee x',
      'cp a b',
      'gcc x',
    ],
    ...[
      'less x',
      'man x',
      'ssh-keygen -D x',
      'zip -T -TT x',
      'openssl x',
      'jq x',
      'unknown',
      '/bin/ls',
      'bin/ls',
      'LD_PRELOAD=x ls',
    ],
    ...['ls\nrm x', '\u00a0ls', 'ls & x', 'ls | x', 'ls *', 'ls ~', 'constructor'],
  ])
    expect(await rules(command), command).toBeUndefined();
  expect(await rules('ls', { ...BWRAP, network: true })).toBeUndefined();
  expect(await rules('ls', { ...BWRAP, mode: 'none' })).toBeUndefined();
});

it('reads a command with many blanks in one pass', async () => {
  const path = await workspace();
  const before = cpuMs();
  await programApproval({ command: `ls ${' '.repeat(60_000)}x`, bounds: BWRAP }, { workspace: path, signal });
  expect(cpuMs() - before).toBeLessThan(300);
});
