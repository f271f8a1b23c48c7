// The first hour: the real `gatehouse setup` in a real terminal, an independent Telegram, and a model server.
import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readdir, readFile, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { promisify } from 'node:util';
import { expect, onTestFinished, type TestContext, test } from 'vitest';
import { programLine } from '../testing/child-daemon.ts';
import { startCrablineTelegram } from '../testing/crabline.ts';
import { tempDir, until } from '../testing/fakes.ts';
import { errorReply, startModelServer } from '../testing/model-server.ts';
import { needs } from '../testing/needs.ts';

const run = promisify(execFile);
const PATIENCE_MS = 40_000;
const KEY = 'sk-canary-0123456789';

async function terminal(context: TestContext, args: readonly string[]) {
  needs(context, 'tmux', '-V');
  const dir = await tempDir();
  const tmux = async (...words: string[]) =>
    (await run('tmux', ['-S', join(dir.path, 'socket'), '-f', '/dev/null', ...words])).stdout;
  const program = programLine(dir.path, 'setup', ...args);
  const env = Object.entries({ ...program.env, TERM: 'xterm-256color', LANG: 'C.UTF-8' }).map(
    ([name, value]) => `${name}=${value}`,
  );
  const command = ['env', '-i', ...env, program.command, ...program.args];
  const told = ['sh', '-c', '"$@"; echo "left with $?"; sleep 600', 'sh', ...command];
  await tmux('new-session', '-d', '-x', '100', '-y', '40', '-c', dir.path, ...told);
  onTestFinished(async () => {
    await tmux('kill-server').catch(() => undefined);
    await dir[Symbol.asyncDispose]();
  });
  return {
    dir: dir.path,
    /** Of a person: what is pasted counts as nothing. */
    keys: async (...keys: string[]) => void (await tmux('send-keys', ...keys)),
    paste: async (text: string) => void (await tmux('send-keys', '-l', text)),
    async seen(pattern: RegExp): Promise<string> {
      const end = performance.now() + PATIENCE_MS;
      for (;;) {
        const text = await tmux('capture-pane', '-p', '-J', '-S', '-200');
        if (pattern.test(text)) return text;
        if (performance.now() > end) throw new Error(`no ${pattern} on the screen:\n${text}`);
        await sleep(50);
      }
    },
  };
}

/** Files below a directory, without those of tmux. */
async function filesIn(dir: string): Promise<readonly string[]> {
  const names = await readdir(dir, { recursive: true });
  return names.filter((name) => name !== 'socket' && !name.startsWith('.cache'));
}

test('from nothing to an answer in Telegram: four keys beside key and token; a stranger who writes meanwhile owns nothing', async (context) => {
  await using platform = await startCrablineTelegram();
  await using model = await startModelServer();
  const at = await terminal(context, ['--base-url', `${model.url}/v1`, '--model', 'm', '--api-root', platform.url]);
  await at.seen(/1\. Key of a model provider/);
  await at.paste(KEY);
  await at.keys('Enter');
  await at.seen(/✓ it answers[\s\S]*2\. Token/);
  await at.paste(platform.token);
  await at.keys('Enter');
  const screen = await at.seen(/connected as \S+[\s\S]*within ten minutes: [A-Z0-9]{8}$/m);
  const code = /within ten minutes: ([A-Z0-9]{8})/.exec(screen)?.[1] ?? '';
  // Nothing is written before it works; the home is as it was.
  expect(await filesIn(at.dir)).toEqual([]);
  await platform.inject({ chatId: '666', fromId: 666, fromName: 'Mallory', text: `let me in: ${code.slice(0, 7)}` });
  await platform.inject({ chatId: '666', fromId: 666, fromName: 'Mallory', text: 'hello?' });
  await sleep(1_500);
  await platform.inject({ chatId: '7', fromId: 7, fromName: 'Ada', text: code });
  await at.seen(/2 other messages wait there for the bot[\s\S]*Ada \(id 7\) sent it\. Is that you\?/);
  await at.keys('y');
  await at.seen(/wrote \S+config\.json[\s\S]*Start it now\?/);
  await at.keys('Enter');
  await at.seen(/ready in/);
  await platform.inject({ chatId: '7', fromId: 7, fromName: 'Ada', text: 'good morning' });
  const toAda = async () =>
    (await platform.sends()).filter(({ body }) => String(body['chat_id']) === '7').map(({ body }) => body['text']);
  for (let tries = 0; tries < 400 && !(await toAda()).includes('echo: good morning'); tries += 1) await sleep(50);
  expect(await toAda()).toContain('echo: good morning');

  const config = JSON.parse(await readFile(join(at.dir, '.gatehouse/config.json'), 'utf8'));
  expect(config.gateway.owner).toEqual([{ channel: 'telegram', chat_id: '7', sender_ids: ['7'] }]);
  expect(config.gateway.channels[1]).toMatchObject({ type: 'telegram', allowed_senders: ['7'] });
  expect(JSON.stringify(config)).not.toMatch(/canary|:AA|666/);
  const secrets = join(at.dir, '.gatehouse/auth.json');
  expect((await stat(secrets)).mode & 0o777).toBe(0o600);
  expect(await readFile(secrets, 'utf8')).toContain(KEY);
  // The stranger is one like any other: the daemon told a code of its own, once.
  const told = (await platform.sends()).filter(({ body }) => String(body['chat_id']) === '666');
  expect(told.map(({ body }) => String(body['text']))).toEqual([expect.stringMatching(/code/i)]);
  // The code of setup was no request.
  expect(JSON.stringify(await platform.sends())).not.toContain(`echo: ${code}`);
}, 120_000);

test('a wrong key is told with its cause and asked again, and Ctrl-C leaves nothing behind', async (context) => {
  await using model = await startModelServer({ script: () => errorReply(401, { message: 'Incorrect API key provided' }) });
  const at = await terminal(context, ['--base-url', `${model.url}/v1`, '--model', 'm']);
  await at.seen(/1\. Key/);
  await at.paste(KEY);
  await at.keys('Enter');
  const told = await at.seen(/✗ GH2101[\s\S]*1\. Key/);
  expect(told).not.toContain(KEY);
  await at.keys('Enter');
  await at.seen(/2\. Token/);
  await at.paste('not a token');
  await at.keys('Enter');
  await at.seen(/no token of Telegram or Discord[\s\S]*2\. Token/);
  await at.keys('C-c');
  await at.seen(/left with \d+/);
  expect(await filesIn(at.dir)).toEqual([]);
}, 90_000);

interface Places {
  readonly dir: string;
  readonly platform: Awaited<ReturnType<typeof startCrablineTelegram>>;
  readonly modelUrl: string;
}

/** Without a terminal: `gatehouse ARGS`, and setup with both secrets, whose code Ada sends. */
async function scripted({ dir, platform, modelUrl }: Places) {
  await writeFile(join(dir, 'key.txt'), `${KEY}\n`);
  await writeFile(join(dir, 'token.txt'), platform.token);
  const run = (...words: string[]) => {
    const { command, args, env } = programLine(dir, ...words);
    const child = spawn(command, args, { cwd: dir, env });
    const said = { text: '' };
    child.stderr.on('data', (chunk) => {
      said.text += String(chunk);
    });
    return { child, said, ended: once(child, 'close') };
  };
  const say = async (text: string) => await platform.inject({ chatId: '7', fromId: 7, fromName: 'Ada', text });
  const setup = async (owner: string, ...more: string[]) => {
    const secrets = ['--key-file', 'key.txt', '--token-file', 'token.txt', '--owner', owner];
    const tried = run('setup', ...secrets, '--base-url', `${modelUrl}/v1`, '--model', 'm', '--api-root', platform.url, ...more);
    const code = await until('the code is shown', () => /within ten minutes: ([A-Z0-9]{8})/.exec(tried.said.text)?.[1]);
    await say(code);
    return { rc: (await tried.ended)[0] as unknown, said: tried.said.text };
  };
  return { run, say, setup };
}

test('Ctrl-C at the last question leaves what was written, and says how to start it', async (context) => {
  const at = await terminal(context, []);
  await at.seen(/1\. Key/);
  await at.keys('Enter');
  await at.seen(/2\. Token/);
  await at.keys('Enter');
  await at.seen(/wrote \S+config\.json[\s\S]*Start it now\?/);
  await at.keys('C-c');
  const screen = await at.seen(/left with \d+/);
  expect(screen).toMatch(/→ \S.*gateway[\s\S]*left with 0/);
  expect(screen).not.toContain('nothing was written\n');
}, 60_000);

test('setup again leaves a copy of the config, and what waits at the platform for the daemon; no code is a request', async () => {
  await using platform = await startCrablineTelegram();
  await using model = await startModelServer();
  await using dir = await tempDir();
  const { run, say, setup } = await scripted({ dir: dir.path, platform, modelUrl: model.url });
  await mkdir(join(dir.path, '.gatehouse'));
  const file = join(dir.path, '.gatehouse/config.json');
  await writeFile(file, '{ "gateway": "not any more" }');
  await say('are you there?');
  // Someone else than was expected sent it.
  expect(await setup('8', '--force')).toEqual({
    rc: 1,
    said: expect.stringMatching(/1 other message waits[\s\S]*nothing was written/),
  });
  expect(await setup('7', '--force')).toEqual({
    rc: 0,
    said: expect.stringMatching(/1 other message waits there for the bot[\s\S]*is in \S+config\.json\.bak\n/),
  });
  expect(await readFile(`${file}.bak`, 'utf8')).toBe('{ "gateway": "not any more" }');

  const daemon = run('gateway');
  await say('good morning');
  const texts = async () => (await platform.sends()).map(({ body }) => String(body['text']));
  for (let tries = 0; tries < 400 && !(await texts()).includes('echo: good morning'); tries += 1) await sleep(50);
  daemon.child.kill('SIGTERM');
  await daemon.ended;
  expect((await texts()).toSorted()).toEqual(['echo: are you there?', 'echo: good morning']);
}, 120_000);

test('more messages than the platform shows at once stay there, unless they are left unanswered on purpose', async () => {
  await using platform = await startCrablineTelegram();
  await using model = await startModelServer();
  await using dir = await tempDir();
  const { say, setup } = await scripted({ dir: dir.path, platform, modelUrl: model.url });
  for (let n = 0; n < 85; n += 1) await say(`question ${n}`);
  expect(await setup('8')).toEqual({ rc: 1, said: expect.stringMatching(/85 other messages wait[\s\S]*nothing was written/) });
  for (let n = 85; n < 120; n += 1) await say(`question ${n}`);
  const hidden = await setup('7');
  expect(hidden).toEqual({ rc: 1, said: expect.stringMatching(/99 messages wait for the bot[\s\S]*--drop-waiting/) });
  const dropped = await setup('7', '--drop-waiting');
  // What comes in one batch with the code is not behind it, and stays.
  const [gone = 0, kept = 0] = [/(\d+) other messages came before/, /(\d+) other messages? waits? there/].map((count) =>
    Number(count.exec(dropped.said)?.[1] ?? 0),
  );
  expect({ rc: dropped.rc, gone: gone >= 99, all: gone + kept }).toEqual({ rc: 0, gone: true, all: 120 });
}, 120_000);

test('Ctrl-C while the code is awaited says that nothing was written', async () => {
  await using platform = await startCrablineTelegram();
  await using model = await startModelServer();
  await using dir = await tempDir();
  const { run } = await scripted({ dir: dir.path, platform, modelUrl: model.url });
  const secrets = ['--token-file', 'token.txt', '--owner', '7', '--api-root', platform.url];
  const { child, said, ended } = run('setup', ...secrets);
  await until('the code is shown', () => /within ten minutes: ([A-Z0-9]{8})/.exec(said.text)?.[1]);
  child.kill('SIGINT');
  expect([(await ended)[0], said.text]).toEqual([130, expect.stringMatching(/GH1010 cancelled; nothing was written/)]);
}, 60_000);

test('answers as flags need no terminal: files with the secrets, and the id of who is to send the code', async () => {
  await using platform = await startCrablineTelegram();
  await using model = await startModelServer();
  await using dir = await tempDir();
  const { setup } = await scripted({ dir: dir.path, platform, modelUrl: model.url });
  expect(await setup('8')).toEqual({ rc: 1, said: expect.stringMatching(/Ada \(id 7\) sent it[\s\S]*nothing was written/) });
  expect((await filesIn(dir.path)).toSorted()).toEqual(['key.txt', 'token.txt']);
  expect(await setup('7')).toEqual({ rc: 0, said: expect.stringMatching(/wrote \S+config\.json[\s\S]*→ .* gateway/) });
  const config = await readFile(join(dir.path, '.gatehouse/config.json'), 'utf8');
  expect(JSON.parse(config).gateway.owner).toEqual([{ channel: 'telegram', chat_id: '7', sender_ids: ['7'] }]);
  expect(config).not.toMatch(/canary|:AA/);
}, 120_000);
