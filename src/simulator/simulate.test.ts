import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { expect, onTestFinished, test } from 'vitest';
import { programLine, startChild } from '../testing/child-daemon.ts';
import { tempDir, until } from '../testing/fakes.ts';
import { missing } from '../testing/needs.ts';
import { ircMissing } from './irc/server.ts';
import type { SimulatorInfo } from './options.ts';
import type { ChatMessage } from './transcript.ts';

/** The real program; `about` is the document it prints once it can be talked to. */
async function simulate(dir: string, ...args: string[]) {
  return await simulateWith(dir, [], ...args, '--json');
}

async function simulateWith(dir: string, nodeArgs: readonly string[], ...args: string[]) {
  const program = programLine(dir, 'simulate', ...args);
  const child = spawn(program.command, [...nodeArgs, ...program.args], {
    cwd: dir,
    env: program.env,
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  let [stdout, stderr] = ['', ''];
  child.stdout.on('data', (chunk) => {
    stdout += String(chunk);
  });
  child.stderr.on('data', (chunk) => {
    stderr += String(chunk);
  });
  const ended = once(child, 'close') as Promise<[number | null, NodeJS.Signals | null]>;
  onTestFinished(async () => {
    if (child.exitCode === null && child.signalCode === null) child.kill('SIGTERM');
    await ended;
  });
  const about = async () =>
    await until(
      'the simulator is ready',
      () => {
        if (child.exitCode !== null) throw new Error(`it ended with ${child.exitCode}: ${stderr}`);
        return stdout.endsWith('}\n') ? (JSON.parse(stdout) as SimulatorInfo) : undefined;
      },
      15_000,
    );
  return { child, ended, about, stdout: () => stdout, stderr: () => stderr };
}

function client({ url }: Pick<SimulatorInfo, 'url'>) {
  const post = async (path: string, body: object) => {
    const headers = { 'content-type': 'application/json', connection: 'close' };
    const response = await fetch(`${url}${path}`, { method: 'POST', headers, body: JSON.stringify(body) });
    expect(response.status).toBe(200);
  };
  const messages = async () => {
    const response = await fetch(`${url}/messages`, { headers: { connection: 'close' } });
    return (await response.json()) as { messages: ChatMessage[]; waiting: number };
  };
  const answers = async (person: number) =>
    (await messages()).messages.filter((one) => one.by === 'bot' && one.person === person);
  return { post, messages, answers };
}

test('a person chats with a real daemon by the API, every fault of the platform costs neither an answer nor a second one, and Ctrl-C leaves nothing', async () => {
  await using dir = await tempDir();
  const simulator = await simulate(dir.path, 'telegram', '--run');
  const about = await simulator.about();
  const { post, messages, answers } = client(about);
  await post('/people/0/messages', { text: 'hello' });
  await until('the first answer', async () => (await answers(0)).length === 1);

  const faults = about.faults;
  expect(faults).toEqual(['limit', 'lose-reply', 'duplicate', 'reorder', 'slow', 'disconnect']);
  for (const [index, kind] of faults.entries()) {
    await post('/faults', { kind, times: 1 });
    // Two people: a reordering needs two messages.
    const people = [10 + 2 * index, 11 + 2 * index];
    for (const person of people) await post(`/people/${person}/messages`, { text: `during ${kind}` });
    for (const person of people) await until(`${kind} is answered`, async () => (await answers(person)).length > 0);
  }
  const everybody = [0, ...faults.flatMap((_kind, index) => [10 + 2 * index, 11 + 2 * index])];
  for (const person of everybody) expect([person, (await answers(person)).length]).toEqual([person, 1]);
  expect((await messages()).waiting).toBe(0);

  const made = dirname(about.configFile);
  expect(existsSync(made)).toBe(true);
  const { pid } = JSON.parse(await readFile(join(about.dataDir, 'daemon.json'), 'utf8')) as { pid: number };
  simulator.child.kill('SIGINT');
  expect(await simulator.ended).toEqual([0, null]);
  expect(existsSync(made)).toBe(false);
  expect(() => process.kill(pid, 0)).toThrow('ESRCH');
});

test('a daemon that somebody else starts with the printed config and environment answers too, and a fault given at the start is played', async () => {
  await using dir = await tempDir();
  const simulator = await simulate(dir.path, 'telegram', '--fault', 'limit:1', '--fault', 'duplicate');
  const about = await simulator.about();
  await using daemon = await startChild({ dir: dir.path, config: about.config, env: about.env });
  await daemon.ready();
  const { post, answers } = client(about);
  await post('/people/3/messages', { text: 'hello' });
  await until('the answer', async () => (await answers(3)).length === 1);
  expect((await daemon.settled(1)).journal.inbox).toMatchObject({ DONE: 1, DEAD: 0 });
  expect(await answers(3)).toHaveLength(1);
});

test('in a group the bot answers what is said to it, and reads a file; of strangers it answers none before they are let in', async () => {
  await using dir = await tempDir();
  const simulator = await simulate(dir.path, 'telegram', '--strangers');
  const about = await simulator.about();
  const model = (about.config as { gateway: { channels: [object] } }).gateway;
  await using daemon = await startChild({ dir: dir.path, config: about.config, env: about.env });
  await daemon.ready();
  const { post, answers, messages } = client(about);
  expect(model.channels[0]).toMatchObject({ allowed_senders: [] });
  await post('/people/0/messages', { text: 'let me in' });
  const [told] = await until('a code', async () => ((await answers(0)).length === 1 ? await answers(0) : undefined));
  const code = /\b[A-Z0-9]{6,8}\b/.exec(told?.text ?? '')?.[0] ?? '';
  const { command, args, env } = programLine(dir.path, 'pair', 'approve', code, '--data-dir', daemon.dataDir);
  await promisify(execFile)(command, args, { env });
  await post('/people/0/files', { name: 'note.txt', type: 'text/plain', base64: 'aGk=', text: 'look at this' });
  const files = () => readdir(join(daemon.dataDir, 'workspaces'), { recursive: true }).catch(() => []);
  await until('the file is in the workspace', async () => (await files()).some((name) => name.endsWith('.txt')));
  await until('it is answered', async () => (await answers(0)).some(({ text }) => text.includes('[demo]')));
  await post('/groups/0/messages', { person: 0, text: 'not to you', addressed: false });
  await post('/groups/0/messages', { person: 0, text: 'to you' });
  const inGroup = async () => (await messages()).messages.filter((one) => one.inGroup === true && one.by === 'bot');
  await until('the group is answered', async () => (await inGroup()).length > 0);
  expect(await inGroup()).toHaveLength(1);
});

test('the commands that a checkout prints work as they are printed, from any directory, and a daemon on IRC answers', async (context) => {
  const reason = ircMissing();
  if (reason !== undefined) missing(context, reason);
  await using dir = await tempDir();
  const simulator = await simulateWith(dir.path, [], 'irc', '--run');
  const said = async () =>
    await until('it says where', () => /^ {2}(npm .* status --data-dir \S+)$/m.exec(simulator.stdout())?.[1]);
  const command = await said();
  expect(simulator.stderr()).not.toContain('~/');
  const { stdout } = await promisify(execFile)('sh', ['-c', `${command} --json`], { cwd: dir.path });
  expect(JSON.parse(stdout)).toMatchObject({ running: true, status: { channels: [{ name: 'irc', state: 'healthy' }] } });
  const url = /http:\S+/.exec(simulator.stdout())?.[0] ?? '';
  const { post, answers } = client({ url });
  await post('/people/0/messages', { text: 'hello' });
  await until('the answer', async () => (await answers(0)).length > 0);
});

test('what cannot be simulated ends at once with what there is', async () => {
  await using dir = await tempDir();
  const unknown = await simulate(dir.path, 'telegrm');
  expect(await unknown.ended).toEqual([2, null]);
  expect(JSON.parse(unknown.stdout())).toMatchObject({
    error: { code: 'GH1001', hint: expect.stringMatching(/^did you mean telegram\? there are telegram, /) },
  });
  const fault = await simulate(dir.path, 'telegram', '--fault', 'earthquake');
  expect(await fault.ended).toEqual([2, null]);
  expect(JSON.parse(fault.stdout())).toMatchObject({ error: { hint: expect.stringContaining('limit, lose-reply') } });
});

test('names of the language are no platforms, and what a killed simulator left goes with the next one', async () => {
  await using dir = await tempDir();
  const left = await mkdtemp(join(tmpdir(), 'gatehouse-simulate-4194305-'));
  for (const name of ['__proto__', 'constructor']) {
    const simulator = await simulate(dir.path, name);
    await simulator.ended;
    expect(simulator.stdout()).toMatch(/there is no simulator for .*"hint": "there are /s);
  }
  expect(existsSync(left)).toBe(false);
});

test('a development package that the installed program lacks is named with what to do', async () => {
  await using dir = await tempDir();
  const script = `
    import { registerHooks } from 'node:module';
    registerHooks({
      resolve: (name, context, next) => next(name.startsWith('@openclaw/') ? '@openclaw/not-installed' : name, context),
    });`;
  const hook = `data:text/javascript,${encodeURIComponent(script)}`;
  const simulator = await simulateWith(dir.path, ['--import', hook], 'discord', '--json');
  expect(await simulator.ended).toEqual([1, null]);
  expect(JSON.parse(simulator.stdout())).toMatchObject({
    error: {
      code: 'GH1004',
      message: 'the simulator for discord needs the package @openclaw/not-installed, which is not installed',
      hint: expect.stringContaining('npm ci'),
    },
  });
});

test('no death of the simulator leaves its daemon behind', async () => {
  await using dir = await tempDir();
  const simulator = await simulate(dir.path, 'telegram', '--run');
  const { dataDir } = await simulator.about();
  const { pid } = JSON.parse(await readFile(join(dataDir, 'daemon.json'), 'utf8')) as { pid: number };
  expect(isAlive(pid)).toBe(true);
  // What nothing can catch.
  simulator.child.kill('SIGKILL');
  await simulator.ended;
  await until('the daemon is gone', () => !isAlive(pid), 5_000);
  await rm(dirname(dataDir), { recursive: true, force: true });
});

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

test('a running daemon has loaded nothing of src/testing', async () => {
  await using dir = await tempDir();
  // Its sources: of the program in one file nothing could be told.
  const main = join(import.meta.dirname, '../cli/main.ts');
  const script = `
    import { registerHooks } from 'node:module';
    const seen = [];
    registerHooks({ load: (url, context, next) => { seen.push(url); return next(url, context); } });
    process.argv.splice(1, Infinity, ${JSON.stringify(main)}, 'gateway', '--data-dir', ${JSON.stringify(dir.path)});
    process.on('exit', () => process.stderr.write('LOADED ' + seen.join(' ')));
    await import(${JSON.stringify(main)});`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', script], {
    cwd: dir.path,
    env: { PATH: process.env['PATH'], HOME: dir.path },
    stdio: ['pipe', 'pipe', 'pipe'],
  });
  let stderr = '';
  child.stderr.on('data', (chunk) => {
    stderr += String(chunk);
  });
  child.stdout.resume();
  child.stdin.end('hello\n');
  expect(((await once(child, 'close')) as [number])[0]).toBe(0);
  const loaded = (stderr.split('LOADED ')[1] ?? '').split(' ');
  expect(loaded.filter((url) => url.includes('/src/app/daemon.ts'))).toHaveLength(1);
  expect(loaded.filter((url) => url.includes('/testing/'))).toEqual([]);
});
