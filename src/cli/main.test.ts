import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { packageVersion } from '../lib/package-info.ts';
import { tempDir } from '../testing/fakes.ts';

const MAIN = join(import.meta.dirname, 'main.ts');

async function run(args: string[], cwd: string): Promise<{ code: number; stdout: string; stderr: string; ms: number }> {
  const start = performance.now();
  const env = { PATH: process.env['PATH'], HOME: cwd };
  try {
    const { stdout, stderr } = await promisify(execFile)(process.execPath, [MAIN, ...args], { cwd, env });
    return { code: 0, stdout, stderr, ms: performance.now() - start };
  } catch (error) {
    const { code, stdout, stderr } = error as { code: number; stdout: string; stderr: string };
    return { code, stdout, stderr, ms: performance.now() - start };
  }
}

test('the real program shows help, its version and a usage error', async () => {
  await using dir = await tempDir();
  const help = await run(['--help'], dir.path);
  expect(help).toMatchObject({ code: 0, stderr: '' });
  expect(help.stdout).toContain('gatehouse gateway');
  expect(await run(['--version'], dir.path)).toMatchObject({ code: 0, stdout: `${packageVersion()}\n` });
  expect(await run(['status', '--jsn'], dir.path)).toMatchObject({ code: 2, stdout: '' });
});

test('help loads neither the schema library nor the logger nor any channel', async () => {
  const script = `
    import { registerHooks } from 'node:module';
    const seen = [];
    registerHooks({ resolve: (name, context, next) => { seen.push(name); return next(name, context); } });
    process.argv.splice(1, Infinity, ${JSON.stringify(MAIN)}, '--help');
    process.on('exit', () => process.stderr.write(seen.join(' ')));
    await import(${JSON.stringify(MAIN)});`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], { stdio: ['ignore', 'ignore', 'pipe'] });
  const chunks: Buffer[] = [];
  child.stderr.on('data', (chunk: Buffer) => chunks.push(chunk));
  const [code] = (await once(child, 'close')) as [number];
  const loaded = Buffer.concat(chunks).toString().split(' ');
  expect(code).toBe(0);
  expect(loaded).toContain('commander');
  expect(loaded.filter((name) => /^(zod|pino|grammy|imapflow|openai)/.test(name))).toEqual([]);
});

test('a reader that leaves early gets no stack trace', async () => {
  await using dir = await tempDir();
  const child = spawn(process.execPath, [MAIN, 'config', 'schema'], { cwd: dir.path, stdio: ['ignore', 'pipe', 'pipe'] });
  child.stdout.destroy();
  const chunks: Buffer[] = [];
  child.stderr.on('data', (chunk: Buffer) => chunks.push(chunk));
  await once(child, 'close');
  expect(Buffer.concat(chunks).toString()).toBe('');
});

test('a directory that was removed under the program is one line with what to do, not a stack trace', async () => {
  await using dir = await tempDir();
  const gone = join(dir.path, 'gone');
  await mkdir(gone);
  const script = `rmdir ${gone} && exec ${process.execPath} ${MAIN} status`;
  const result = await promisify(execFile)('/bin/sh', ['-c', script], { cwd: gone }).catch((error: unknown) => error);
  expect(result).toMatchObject({ code: 1, stdout: '' });
  expect((result as { stderr: string }).stderr).toBe(
    '✗ GH1004 the current directory does not exist any more\n  → change to another directory\n',
  );
});

test('a log that nobody reads any more does not end the daemon', async () => {
  await using dir = await tempDir();
  const config = join(dir.path, 'c.json');
  await writeFile(config, '{"gateway":{"http":{"port":0},"channels":[{"type":"cli"}]}}');
  const env = { PATH: process.env['PATH'], HOME: dir.path };
  const child = spawn(process.execPath, [MAIN, 'gateway', '--config', config], { cwd: dir.path, env });
  child.stderr.once('data', () => child.stderr.destroy());
  const [first] = (await once(child.stderr, 'close')) as [unknown];
  expect(first).toBeFalsy();
  for (const line of ['one', 'two', 'three']) child.stdin.write(`${line}\n`);
  child.stdin.end();
  let answers = '';
  child.stdout.on('data', (chunk: Buffer) => {
    answers += String(chunk);
  });
  expect(await once(child, 'close')).toEqual([0, null]);
  expect(answers.match(/I received message/g)).toHaveLength(3);
});
