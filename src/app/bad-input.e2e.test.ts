// What operators and platforms get wrong: each ends in a message with code and fix where its reader looks,
// and the rest goes on.
import { execFile, execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test, vi } from 'vitest';
import { programLine, startChild } from '../testing/child-daemon.ts';
import { tempDir, until } from '../testing/fakes.ts';
import { startInline } from '../testing/inline-daemon.ts';
import { chunk, errorReply, type Reply, sse, stream, textPieces, userText } from '../testing/model-server.ts';
import { needs } from '../testing/needs.ts';
import { telegramScene } from '../testing/telegram/scene.ts';

/**
 * Ten megabytes are read beside the other tests of this file, in one process: on a busy machine that takes
 * this long, ms.
 */
const PATIENCE = 60_000;
vi.setConfig({ testTimeout: 2 * PATIENCE });

/** A server whose certificate ended yesterday, and the file that makes a client trust who signed it. */
async function expiredServer(): Promise<{ port: number; caFile: string } & AsyncDisposable> {
  const dir = await tempDir();
  const [key, request, cert] = ['key.pem', 'request.pem', 'cert.pem'].map((name) => join(dir.path, name)) as [
    string,
    string,
    string,
  ];
  const openssl = (...args: string[]) => execFileSync('openssl', args, { stdio: 'pipe' });
  openssl('req', '-newkey', 'rsa:2048', '-nodes', '-keyout', key, '-out', request, '-subj', '/CN=localhost');
  openssl('x509', '-req', '-in', request, '-signkey', key, '-days', '-1', '-out', cert);
  const server = createServer({ key: readFileSync(key), cert: readFileSync(cert) });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    caFile: cert,
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await dir[Symbol.asyncDispose]();
    },
  };
}

const MAIL = {
  imap_host: 'localhost',
  smtp_host: 'localhost',
  smtp_port: 1,
  from_address: 'bot@example.test',
  trust_from: true,
};

test.concurrent('wrong token, missing secret, wrong host and expired TLS: each channel says what to do, and the good one answers', async (context) => {
  needs(context, 'openssl', 'version');
  await using expired = await expiredServer();
  await using at = await telegramScene({
    channels: [
      { type: 'telegram', name: 'wrong-token', settings: { token_env: 'WRONG_TOKEN', api_root: 'API_ROOT' } },
      { type: 'telegram', name: 'no-token', settings: { token_env: 'UNSET_TOKEN' } },
      { type: 'telegram', name: 'no-such-token', settings: { token_env: 'BROKEN_TOKEN' } },
      { type: 'telegram', name: 'wrong-host', settings: { token_env: 'OTHER_TOKEN', api_root: 'http://127.0.0.1:1' } },
      {
        type: 'telegram',
        name: 'expired',
        settings: { token_env: 'OTHER_TOKEN', api_root: `https://localhost:${expired.port}` },
      },
      { type: 'email', name: 'mail-wrong-host', settings: { ...MAIL, imap_port: 1 } },
      { type: 'email', name: 'mail-expired', settings: { ...MAIL, imap_port: expired.port, tls_ca_file: expired.caFile } },
    ],
  });
  const file = join(at.dir, 'config.json');
  const env = {
    WRONG_TOKEN: '700002:wrong',
    BROKEN_TOKEN: 'not a token',
    OTHER_TOKEN: '700003:other',
    EMAIL_USERNAME: 'bot',
    EMAIL_PASSWORD: 'password',
    NODE_EXTRA_CA_CERTS: expired.caFile,
  };
  {
    // The address of the platform is only known now.
    await using writing = await at.spawn({ env });
    await writing.stop('SIGKILL');
  }
  await writeFile(file, (await readFile(file, 'utf8')).replace('API_ROOT', at.platform.url));
  await using daemon = await startInline({ dir: at.dir, env: { TEST_KEY: 'sk', TELEGRAM_BOT_TOKEN: at.platform.token, ...env } });
  at.platform.inject({ text: 'still there?' });
  await daemon.settled(1, PATIENCE);
  expect(at.texts()).toEqual(['echo: still there?']);
  const status = await until('all have said something', async () => {
    const now = await daemon.status();
    return now.channels.every(({ state }) => state !== 'starting') ? now : undefined;
  });
  const channels = Object.fromEntries(status.channels.map(({ name, state, detail }) => [name, `${state}: ${detail ?? ''}`]));
  expect(channels).toMatchObject({
    telegram: 'healthy: ',
    'wrong-token': expect.stringMatching(/^down: .*GH1501/),
    'no-token': expect.stringMatching(/^down: GH1103: .*UNSET_TOKEN.*export UNSET_TOKEN/),
    'no-such-token': expect.stringMatching(/^down: GH1101: BROKEN_TOKEN does not hold a Telegram bot token; copy/),
    'wrong-host': expect.stringMatching(/^(degraded|down): .*GH1502/),
    expired: expect.stringMatching(/^(degraded|down): .*GH1502.*expired: renew/),
    'mail-wrong-host': expect.stringMatching(/^(degraded|down): GH1502: .*nothing listens/),
    'mail-expired': expect.stringMatching(/^(degraded|down): GH1502: .*expired/),
  });
  // The same in the ready text, where the operator looks first.
  for (const name of Object.keys(channels)) expect(daemon.stderr()).toMatch(new RegExp(` channel {2}${name} \\w+`));
  expect((await daemon.get('/readyz')).status).toBe(200);
});

const FAULTS: Readonly<Record<string, { reply: () => Reply; code: string }>> = {
  'status 400': { reply: () => errorReply(400, { message: 'bad' }), code: 'GH2106' },
  'status 401': { reply: () => errorReply(401, { message: 'who?' }), code: 'GH2101' },
  'status 402': { reply: () => errorReply(402, { message: 'pay' }), code: 'GH2110' },
  'status 500': { reply: () => errorReply(500, { message: 'oops' }), code: 'GH2103' },
  'a cut stream': { reply: () => stream(textPieces('half of').slice(0, 2), { end: 'destroy' }), code: 'GH2109' },
  'an empty answer': { reply: () => stream([chunk({ role: 'assistant' }), chunk({}, 'stop'), sse('[DONE]')]), code: 'GH2108' },
  'a page of HTML': {
    reply: () => ({ headers: { 'content-type': 'text/html' }, pieces: ['<html>login</html>'] }),
    code: 'GH2106',
  },
  // Last: its Retry-After holds back every later call of the same key.
  'status 429': { reply: () => errorReply(429, { message: 'slow' }, { 'retry-after': '3600' }), code: 'GH2102' },
};

test.concurrent('a start that its only channel ends names the code once, and what to do', async () => {
  await using dir = await tempDir();
  const file = join(dir.path, 'config.json');
  const gateway = { channels: [{ type: 'telegram', settings: { token_env: 'TOKEN' } }] };
  await writeFile(file, JSON.stringify({ version: 1, gateway }));
  const { command, args, env } = programLine(dir.path, 'gateway', '--config', file, '--data-dir', join(dir.path, 'data'));
  const refused = promisify(execFile)(command, args, { cwd: dir.path, env: { ...env, TOKEN: 'wrong' } });
  const { code, stderr } = (await refused.catch((error: unknown) => error)) as { code: number; stderr: string };
  expect(code).toBe(78);
  expect(stderr.slice(stderr.indexOf('✗'))).toMatch(
    /GH1101 no channel could be started: telegram: TOKEN does not hold.*\n\s*→ mend/,
  );
});

test.concurrent('whatever the model answers with, the chat reads what to do and the code, the log too; the message is kept, other chats go on', async () => {
  const names = Object.keys(FAULTS);
  await using at = await telegramScene({ script: (request) => FAULTS[userText(request)]?.reply() });
  await using daemon = await at.start();
  const ask = (chat: number, text: string) => at.platform.inject({ chat_id: chat, from: { id: chat }, text });
  for (const [index, name] of names.slice(0, -1).entries()) ask(index + 1, name);
  ask(99, 'hello');
  // Before any of the slow ones is over.
  await until('the good chat is answered', () => at.texts(99).length === 1);
  expect(at.texts(99)).toEqual(['echo: hello']);
  await daemon.settled(names.length, PATIENCE);
  ask(names.length, 'status 429');
  await daemon.settled(names.length + 1, PATIENCE);
  for (const [index, name] of names.entries()) {
    const code = FAULTS[name]?.code ?? '';
    expect([name, ...at.texts(index + 1)]).toEqual([name, expect.stringContaining(`(${code})`)]);
    expect(daemon.stderr()).toMatch(new RegExp(`"code":"${code}".*"channel":"telegram".*"hint":".+"event":"model.failed"`));
  }
  // All but the empty answer, after which there is nothing to repair (F29), can be run again.
  expect((await daemon.status()).journal.inbox).toMatchObject({ DONE: 2, DEAD: names.length - 1 });
  // An empty answer is asked for four times, not four times four (spec C4).
  expect(at.model.requests.filter((request) => userText(request) === 'an empty answer')).toHaveLength(4);
});

test.concurrent('a message of 10 MB is answered or refused with words, and the next chat does not wait for it', async () => {
  await using at = await telegramScene({ script: (request) => stream(textPieces(`${userText(request).length} characters`)) });
  await using daemon = await at.start();
  await daemon.ready();
  at.platform.inject({ chat_id: 1, from: { id: 1 }, text: 'x'.repeat(10_000_000) });
  at.platform.inject({ chat_id: 2, from: { id: 2 }, text: 'small' });
  await daemon.settled(2, PATIENCE);
  expect(at.texts(1)).toEqual([expect.stringMatching(/characters|GH\d{4}/)]);
  expect(at.texts(2)).toEqual(['5 characters']);
});

test.concurrent('bytes that are no UTF-8, a NUL and a line of 10 MB on stdin are each answered', async () => {
  await using dir = await tempDir();
  await using daemon = await startChild({ dir: dir.path, config: { gateway: { http: { port: 0 } } }, stdin: 'pipe' });
  const lines = [Buffer.from([0xff, 0xfe, 0x80, 0x0a]), Buffer.from('a\0b\n'), Buffer.from(`${'y'.repeat(10_000_000)}\n`)];
  daemon.process.stdin?.end(Buffer.concat(lines));
  expect(await daemon.ended).toEqual({ code: 0, signal: null });
  expect([...daemon.stdout().matchAll(/received message (\d)/g)].map(([, n]) => n)).toEqual(['1', '2', '3']);
});

test.concurrent.each([
  [
    'a half-written config',
    '{\n  "gateway": {\n    "max_history": ',
    /config\.json:3:\d+.*\n {2}3 \| .*\n {4}\| +\^\n {2}→ .*\n✗ GH1101 1 problem/,
  ],
  [
    'a wrong type',
    '{\n  "gateway": {"max_history": "many"}\n}',
    /config\.json:2:30: gateway\.max_history: .*\n {2}2 \| .*\n {4}\| +\^.*\n✗ GH1101 1 problem in .*\n {2}→ /,
  ],
])('%s is refused at start with place and caret, exit 78', async (_title, text, message) => {
  await using dir = await tempDir();
  await writeFile(join(dir.path, 'config.json'), text);
  await using daemon = await startChild({ dir: dir.path });
  expect((await daemon.ended).code).toBe(78);
  expect(daemon.stderr()).toMatch(message);
});
