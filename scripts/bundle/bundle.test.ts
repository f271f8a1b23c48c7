// The program as it is published and as `npm start` runs it, each as a process.
import { execFile } from 'node:child_process';
import { mkdir, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { tempDir } from '../../src/simulator/temp-dir.ts';
import { ROOT } from './bundle.ts';
import { buildProgram } from './program.ts';

const run = promisify(execFile);

/** Below node_modules, where imports of packages are resolved and package.json is found as beside `dist`. */
const PARENT = join(ROOT, 'node_modules/.cache');

let dir: Awaited<ReturnType<typeof tempDir>>;

beforeAll(async () => {
  await mkdir(PARENT, { recursive: true });
  dir = await tempDir(PARENT);
  await buildProgram(dir.path);
});

afterAll(() => dir[Symbol.asyncDispose]());

test('the published program knows its version, finds its packages and answers with no configuration', async () => {
  await using home = await tempDir();
  const main = join(dir.path, 'src/cli/main.js');
  const env = { PATH: process.env['PATH'], HOME: home.path };
  const { version } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8')) as { version: string };
  expect((await run(process.execPath, [main, '--version'], { env })).stdout.trim()).toBe(version);
  const answered = run(process.execPath, [main, 'gateway'], { env });
  answered.child.stdin?.end('hello\n');
  expect((await answered).stdout).toContain('[demo]');
  // Commands are called by their name there, and by npm in a checkout.
  const status = run(process.execPath, [main, 'status'], { env, cwd: home.path });
  await expect(status).rejects.toMatchObject({ stderr: expect.stringContaining('gateway`') });
});

test('its files are ASCII, and each package inside has its licence beside them', async () => {
  const chunks = join(dir.path, 'chunks');
  for (const name of await readdir(chunks))
    expect([name, /[^\p{ASCII}]/u.test(await readFile(join(chunks, name), 'utf8'))]).toEqual([name, false]);
  const inside = (await readdir(dir.path)).filter((name) => name.startsWith('LICENSE-'));
  expect(inside).toEqual(
    expect.arrayContaining(['LICENSE-zod.txt', 'LICENSE-pino.txt', 'LICENSE-commander.txt', 'LICENSE-sonic-boom.txt']),
  );
});

test('the published program reads pages in a program of its own, which needs nothing of the others', async () => {
  const reading = run(process.execPath, [join(dir.path, 'src/tools/read-page.js')], { env: {} });
  reading.child.stdin?.end(
    JSON.stringify({ html: '<p>hi <b>you</b>', url: 'http://a.example/', mode: 'markdown', maxChars: 50 }),
  );
  expect(JSON.parse((await reading).stdout)).toEqual({ title: '', text: 'hi **you**', isComplete: true });
});

test('the published program checks its journal in a process that loads next to nothing of it', async () => {
  await using home = await tempDir();
  const main = join(dir.path, 'src/cli/main.js');
  const env = { PATH: process.env['PATH'], HOME: home.path };
  const answered = run(process.execPath, [main, 'gateway', '--data-dir', home.path], { env });
  answered.child.stdin?.end('hello\n');
  await answered;
  const check = join(dir.path, 'src/journal/file-check.js');
  const program = `
    const { FileCheck } = await import(${JSON.stringify(check)});
    console.log(JSON.stringify(await new FileCheck(${JSON.stringify(join(home.path, 'journal.db'))}).state));
  `;
  const { stdout } = await run(process.execPath, ['--input-type=module', '-e', program], { env });
  expect(JSON.parse(stdout)).toEqual({ kind: 'sound' });
  expect(await readFile(check, 'utf8')).not.toContain('gateway');
});
