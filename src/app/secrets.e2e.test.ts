// Twelve secrets, a run full of failures, and then every byte that was left behind.
import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, test } from 'vitest';
import { openAuthStore } from '../lib/auth/store.ts';
import { systemClock } from '../lib/clock.ts';
import { filesHolding } from '../testing/bytes-on-disk.ts';
import { findCanaries, needlesOf, plantCanaries } from '../testing/canaries.ts';
import { until } from '../testing/fakes.ts';
import { errorReply, stream, userText } from '../testing/model-server.ts';
import { telegramScene } from '../testing/telegram/scene.ts';

const NAMES = [
  'TELEGRAM_BOT_TOKEN',
  'OTHER_BOT_TOKEN',
  'TEST_KEY',
  'EMAIL_PASSWORD',
  'URL_SECRET',
  'OPENAI_API_KEY',
  'ANTHROPIC_API_KEY',
  'GITHUB_TOKEN',
  'AWS_SECRET_ACCESS_KEY',
  'DATABASE_URL',
  'NPM_TOKEN',
  'GATEHOUSE_CANARY',
] as const;

const botSecret = () => `c4n${randomBytes(16).toString('hex')}`;

/** An IMAP server that refuses each login and repeats it, password included (RFC 9051 allows any text). */
async function tellTaleImap(): Promise<{ port: number; heard: () => string } & AsyncDisposable> {
  let heard = '';
  const server = createServer((socket) => {
    socket.on('error', () => undefined);
    socket.write('* OK [CAPABILITY IMAP4rev1 AUTH=PLAIN SASL-IR] ready\r\n');
    socket.on('data', (chunk) => {
      for (const line of String(chunk).split('\r\n').filter(Boolean)) {
        heard += `${line}\n`;
        const [tag = '*', command = ''] = line.split(' ');
        if (/CAPABILITY/i.test(command)) socket.write(`* CAPABILITY IMAP4rev1 AUTH=PLAIN SASL-IR\r\n${tag} OK done\r\n`);
        else if (/LOGIN|AUTHENTICATE/i.test(command)) socket.write(`${tag} NO [AUTHENTICATIONFAILED] cannot accept ${line}\r\n`);
        else socket.write(`${tag} OK done\r\n`);
      }
    });
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    heard: () => heard,
    async [Symbol.asyncDispose]() {
      server.close();
    },
  };
}

test('A29 of twelve secrets none is found on disk, in output, in the CLI, over HTTP, or at a peer it does not belong to', async () => {
  // A bot token has an alphabet and a length of its own.
  const canaries = { ...plantCanaries(NAMES), TELEGRAM_BOT_TOKEN: botSecret(), OTHER_BOT_TOKEN: botSecret() };
  const token = `700001:${canaries.TELEGRAM_BOT_TOKEN}`;
  await using imap = await tellTaleImap();
  const key = canaries.TEST_KEY;
  let broken = false;
  // The key straddles every length at which somebody might cut a message.
  const cuts = [100, 200, 256, 300, 400, 500, 512, 1_000, 1_024, 2_000, 2_048, 4_000, 4_096];
  await using at = await telegramScene({
    channels: [
      { type: 'telegram', name: 'refused', settings: { token_env: 'OTHER_BOT_TOKEN', api_root: 'http://127.0.0.1:1' } },
      {
        type: 'email',
        settings: {
          ...{ imap_host: '127.0.0.1', imap_port: imap.port, imap_tls: 'none', smtp_host: '127.0.0.1', smtp_port: 1 },
          ...{ from_address: 'bot@example.test', trust_from: true },
        },
      },
    ],
    script: (request) => {
      const text = userText(request);
      const cut = Number(/^cut (\d+)/.exec(text)?.[1]);
      if (cut)
        return errorReply(401, {
          message: `${'.'.repeat(cut - 15)}Incorrect API key provided: ${key}. Authorization: Bearer ${key}`,
        });
      const url = `${request.path}#${Buffer.from(`user:${key}`).toString('base64')}`;
      if (text === 'encoded')
        return errorReply(400, { message: `bad ${encodeURIComponent(key)} in ${url}`, param: key, code: key, type: key });
      if (text === 'html') return { status: 403, pieces: [`<html>${key} ${url}</html>`] };
      if (text !== 'broken' || broken) return undefined;
      broken = true;
      return stream([`data: {"${key}": ${request.path}\n\n`], { end: 'destroy' });
    },
    token,
    // Expanded from the environment when the config is read.
    baseUrlSuffix: `?key=${'$'}{URL_SECRET}`,
  });
  const env = {
    ...canaries,
    TELEGRAM_BOT_TOKEN: token,
    OTHER_BOT_TOKEN: `700002:${canaries.OTHER_BOT_TOKEN}`,
    EMAIL_USERNAME: 'bot',
    DATABASE_URL: `postgres://u:${canaries.DATABASE_URL}@db/x`,
  };
  const outputs: string[] = [];
  const asked = [...cuts.map((cut) => `cut ${cut}`), 'encoded', 'html', 'broken', 'fine'];
  {
    await using first = await at.spawn({ env, args: ['-v'] });
    await first.ready();
    for (const [index, text] of asked.entries()) at.platform.inject({ chat_id: index + 1, from: { id: index + 1 }, text });
    await until('most are answered', () => at.platform.sends.length >= cuts.length);
    at.platform.fault({
      kind: 'error',
      method: 'getUpdates',
      status: 502,
      description: `gateway of /bot${token}/getUpdates failed`,
    });
    at.platform.fault({
      kind: 'error',
      method: 'sendMessage',
      status: 400,
      description: `Bad Request: /bot${token}/sendMessage`,
    });
    at.platform.fault({ kind: 'cut', method: 'getUpdates' });
    at.platform.inject({ chat_id: 50, from: { id: 50 }, text: 'fine' });
    await until('the password was tried', () => imap.heard().includes('AUTHENTICATE') || imap.heard().includes('LOGIN'));
    await until('the faults happened', () => first.stderr().includes('502'));
    outputs.push(JSON.stringify(await first.status()), JSON.stringify((await first.get('/readyz')).body));
    await first.stop('SIGKILL');
    outputs.push(first.stdout(), first.stderr());
  }
  await using second = await at.spawn({ env, args: ['-v'] });
  await second.settled(asked.length + 1);
  const main = join(import.meta.dirname, '../cli/main.ts');
  const cli = async (...args: string[]) => {
    const options = { cwd: at.dir, env: { ...env, HOME: at.dir } };
    const all = ['--import', join(import.meta.dirname, '../cli/node-guard.mjs'), main, ...args];
    const { stdout, stderr } = await promisify(execFile)(
      process.execPath,
      [...all, '--config', 'config.json', '--data-dir', 'data'],
      options,
    );
    outputs.push(stdout, stderr);
  };
  await Promise.all([cli('status', '--json'), cli('dead', 'list'), cli('config', 'check')]);
  outputs.push(JSON.stringify(await second.status()));
  await second.stop();
  outputs.push(second.stdout(), second.stderr());
  // What people and the model got.
  outputs.push(JSON.stringify(at.platform.sends), JSON.stringify(at.model.requests.map(({ body }) => body)));
  for (const { headers } of at.model.requests) {
    expect(headers.authorization).toBe(`Bearer ${key}`);
    outputs.push(JSON.stringify({ ...headers, authorization: '' }));
  }
  const everything = outputs.join('\n');
  expect(findCanaries(everything, Object.values(canaries))).toEqual([]);
  expect(await filesHolding(at.dir, Object.values(canaries).flatMap(needlesOf))).toEqual([]);
  // The search can find: what was planted is known to be in reach.
  expect(everything).toMatch(/#dXNlcj.?\[redacted\]/);
  expect(everything).toContain('/bot[token]/');
});

test('a token that was stored in place of being exported connects its channel, and is in no log', async () => {
  await using at = await telegramScene();
  await using store = openAuthStore({ dir: join(at.dir, 'data'), clock: systemClock });
  const credential = {
    provider: 'variable.telegram_bot_token',
    accessToken: at.platform.token,
    authMethod: 'paste_token',
  } as const;
  await store.set(credential, new AbortController().signal);
  await using daemon = await at.start({ env: { TELEGRAM_BOT_TOKEN: '' }, args: ['-v'] });
  await daemon.ready();
  at.platform.inject({ text: 'hello' });
  await daemon.settled(1);
  expect(at.texts()).toEqual(['echo: hello']);
  expect(`${daemon.stderr()}${daemon.stdout()}`).not.toContain(at.platform.token);
});
