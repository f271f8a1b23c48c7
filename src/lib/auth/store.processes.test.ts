import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { tempDir, until } from '../../testing/fakes.ts';
import { CLIENT_ID, FormBrowser, startOidcServer } from '../../testing/oidc-server.ts';
import { systemClock } from '../clock.ts';
import { loginWithBrowser } from './oauth.ts';
import { openAuthStore } from './store.ts';

const never = new AbortController().signal;
const GUARD = join(import.meta.dirname, '../../cli/node-guard.mjs');

/** A process that opens the store of `dir` as `store`, says `ready`, waits for a line, and runs `work`. */
function startProcess(dir: string, work: string): { child: ChildProcess; output: () => string; ended: Promise<number | null> } {
  const code = `
    const { openAuthStore } = await import(${JSON.stringify(join(import.meta.dirname, 'store.ts'))});
    const { systemClock } = await import(${JSON.stringify(join(import.meta.dirname, '../clock.ts'))});
    const store = openAuthStore({ dir: ${JSON.stringify(dir)}, clock: systemClock });
    const signal = new AbortController().signal;
    const key = (provider) => ({ provider, accessToken: 'key-of-' + provider, authMethod: 'paste_token' });
    console.log('ready');
    await new Promise((resolve) => process.stdin.once('data', resolve));
    ${work}
    process.exit(0);`;
  const child = spawn(process.execPath, ['--import', GUARD, '--input-type=module', '-e', code], {
    stdio: ['pipe', 'pipe', 'inherit'],
  });
  let output = '';
  child.stdout?.on('data', (chunk) => {
    output += String(chunk);
  });
  const ended = once(child, 'close').then(([exit]: unknown[]) => exit as number | null);
  return { child, output: () => output, ended };
}

/** Both at the same instant: starting a process takes longer than what they do. */
async function go(...processes: readonly ReturnType<typeof startProcess>[]): Promise<void> {
  await until('all processes are ready', () => processes.every((one) => one.output().includes('ready')));
  for (const { child } of processes) child.stdin?.write('go\n');
}

test('two processes that write at the same time lose none of their entries', async () => {
  await using dir = await tempDir();
  const write = (name: string) => `for (let i = 10; i < 35; i += 1) await store.set(key('${name}' + i), signal);`;
  const [a, b] = [startProcess(dir.path, write('a')), startProcess(dir.path, write('b'))];
  await go(a, b);
  expect(await Promise.all([a.ended, b.ended])).toEqual([0, 0]);
  const names = (await openAuthStore({ dir: dir.path, clock: systemClock }).list()).map((login) => login.provider);
  const expected = ['a', 'b'].flatMap((name) => Array.from({ length: 25 }, (_, index) => `${name}${index + 10}`));
  expect(names).toEqual(expected);
});

test('F16 a process killed while it writes leaves the old file or the new one, and no lock', async () => {
  await using dir = await tempDir();
  const writer = startProcess(
    dir.path,
    "for (let i = 0; ; i += 1) { await store.set(key('p' + i), signal); console.log('n' + i); }",
  );
  await go(writer);
  await until('some entries are written', () => writer.output().includes('n8'));
  writer.child.kill('SIGKILL');
  await writer.ended;
  const last = Number(/n(\d+)\n$/.exec(writer.output())?.[1]);
  const store = openAuthStore({ dir: dir.path, clock: systemClock });
  const count = (await store.list()).length;
  expect([last + 1, last + 2]).toContain(count);
  await store.set({ provider: 'after', accessToken: 'key', authMethod: 'paste_token' }, never);
  expect((await store.list()).length).toBe(count + 1);
});

test('two processes that need a renewal at the same time send the refresh token once and both have the new one', async () => {
  await using server = await startOidcServer();
  await using dir = await tempDir();
  const shown = Promise.withResolvers<string>();
  const { issuer } = server;
  const login = loginWithBrowser({
    issuer,
    clientId: CLIENT_ID,
    clock: systemClock,
    signal: never,
    port: 0,
    show: shown.resolve,
  });
  await new FormBrowser().logIn(await shown.promise);
  const expiresAt = Date.now() - 1_000;
  const credential = {
    ...(await login),
    expiresAt,
    provider: 'openai',
    authMethod: 'oauth',
    issuer,
    clientId: CLIENT_ID,
  } as const;
  await openAuthStore({ dir: dir.path, clock: systemClock }).set(credential, never);
  const get = "console.log('token ' + (await store.get('openai', signal)));";
  const [a, b] = [startProcess(dir.path, get), startProcess(dir.path, get)];
  await go(a, b);
  expect(await Promise.all([a.ended, b.ended])).toEqual([0, 0]);
  expect(server.tokens.length).toBe(2);
  const token = `token ${String(server.tokens[1]?.['access_token'])}`;
  expect([a.output(), b.output()]).toEqual([`ready\n${token}\n`, `ready\n${token}\n`]);
  const file = JSON.parse(await readFile(join(dir.path, 'auth.json'), 'utf8'));
  expect(file.credentials.openai.refresh_token).toBe(server.tokens[1]?.['refresh_token']);
});
