import { chmod, readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { openAuthStore } from '../../lib/auth/store.ts';
import { withStoredVariables } from '../../lib/stored-variables.ts';
import { type CliResult, FakeCli } from '../../testing/fake-cli.ts';
import { tempDir } from '../../testing/fakes.ts';
import { filesOfRoot, isNotRoot, otherUsersDirectory } from '../../testing/files-of-root.ts';
import { CLIENT_ID, FormBrowser, startOidcServer } from '../../testing/oidc-server.ts';

const KEY = 'CANARY-sk-0123456789';

async function credentials(cli: FakeCli): Promise<Record<string, Record<string, string>>> {
  return JSON.parse(await readFile(join(cli.dataDir, 'auth.json'), 'utf8')).credentials;
}

/** Logs in on the page the talk names, like the person who reads it. */
function followTalk(cli: FakeCli, pick: (talk: string) => string | undefined, choice?: 'refuse'): () => Promise<unknown> {
  let visit: Promise<unknown> | undefined;
  let talk = '';
  cli.onTalk = (text) => {
    talk += text;
    const address = pick(talk);
    if (address !== undefined) visit ??= new FormBrowser().logIn(address, choice);
  };
  return async () => await visit;
}

const browserAddress = (talk: string) => /^ {2}(http\S+)$/m.exec(talk)?.[1];

test('set-key takes a key from a pipe, trims it, and never shows it', async () => {
  await using dir = await tempDir();
  const cli = new FakeCli(dir.path);
  cli.input = `  ${KEY}\n`;
  const result = await cli.run('auth', 'set-key', 'OpenAI');
  expect(result).toEqual({ code: 0, stdout: '✓ stored the key of openai\n', stderr: '→ gatehouse auth status\n' });
  expect(await credentials(cli)).toEqual({ openai: { access_token: KEY, provider: 'openai', auth_method: 'paste_token' } });
  expect((await stat(join(cli.dataDir, 'auth.json'))).mode & 0o777).toBe(0o600);
});

test.skipIf(isNotRoot)('a key that root stores is a file of whose data directory it is', async () => {
  await using dir = await tempDir();
  const cli = new FakeCli(dir.path);
  await otherUsersDirectory(cli.dataDir);
  for (const key of [KEY, `${KEY}-again`]) {
    cli.input = key;
    expect((await cli.run('auth', 'set-key', 'openai')).code).toBe(0);
  }
  expect(await readdir(cli.dataDir)).toContain('auth.json');
  expect(await filesOfRoot(cli.dataDir)).toEqual([]);
});

test('set-key asks on a terminal without showing what is typed', async () => {
  await using dir = await tempDir();
  const cli = new FakeCli(dir.path);
  cli.answers = [KEY];
  const { code, stdout, stderr } = await cli.run('auth', 'set-key', 'groq');
  expect(code).toBe(0);
  expect(stderr).toContain('Key of groq (not shown): ');
  expect(stdout + stderr).not.toContain('CANARY');
  expect((await credentials(cli))['groq']).toMatchObject({ access_token: KEY });
});

test.each([
  ['nothing', ''],
  ['blanks', ' \n\t\n'],
  ['a whole file', 'x'.repeat(100_000)],
])('set-key given %s is a wrong call that names the pipe and writes nothing', async (_what, input) => {
  await using dir = await tempDir();
  const cli = new FakeCli(dir.path);
  cli.input = input;
  const { code, stderr } = await cli.run('auth', 'set-key', 'openai');
  expect(code).toBe(2);
  expect(stderr).toContain('→ pipe it in: `gatehouse auth set-key openai < key.txt`');
  await expect(stat(cli.dataDir)).rejects.toThrow('ENOENT');
});

test('set-key on a terminal that is closed ends, and writes nothing', async () => {
  await using dir = await tempDir();
  const cli = new FakeCli(dir.path);
  cli.answers = [];
  cli.endsInput = true;
  expect((await cli.run('auth', 'set-key', 'openai')).code).toBe(2);
  await expect(stat(cli.dataDir)).rejects.toThrow('ENOENT');
});

test('Ctrl-C where a key is asked for leaves with 130, and writes nothing', async () => {
  await using dir = await tempDir();
  const cli = new FakeCli(dir.path);
  cli.answers = ['sk-half\u0003'];
  expect(await cli.run('auth', 'set-key', 'openai')).toMatchObject({ code: 130, stderr: expect.stringContaining('GH1010') });
  await expect(stat(cli.dataDir)).rejects.toThrow('ENOENT');
});

test.each([
  [['set-key', 'openai', KEY]],
  [['set-key', 'openai', `--key=${KEY}`]],
  [['set-key', `${KEY}-0123456789`]],
  [['login', `--device=${KEY}`]],
])('a key on the command line is a wrong call, and is not repeated: %j', async (argv) => {
  await using dir = await tempDir();
  const cli = new FakeCli(dir.path);
  const { code, stdout, stderr } = await cli.run('auth', ...argv);
  expect(code).toBe(2);
  expect(stdout + stderr).not.toContain('CANARY');
});

test('a key with a line break in it is refused without being shown', async () => {
  await using dir = await tempDir();
  const cli = new FakeCli(dir.path);
  cli.input = `${KEY}\r\nx-other: 1`;
  const { code, stderr } = await cli.run('auth', 'set-key', 'openai');
  expect([code, stderr.includes('GH2201'), stderr.includes('CANARY')]).toEqual([1, true, false]);
});

test.each([`"${KEY}"`, `OPENAI_API_KEY=${KEY}`, `Bearer ${KEY}`])(
  'a key with something around it is refused: %j',
  async (key) => {
    await using dir = await tempDir();
    const cli = new FakeCli(dir.path);
    cli.input = key;
    const { code, stderr } = await cli.run('auth', 'set-key', 'openai');
    expect([code, stderr]).toEqual([1, expect.stringMatching(/GH2201 the key of openai has /)]);
    expect(stderr).not.toContain('CANARY');
  },
);

test('a name no provider has is stored as it is, with the name that was probably meant', async () => {
  await using dir = await tempDir();
  const cli = new FakeCli(dir.path);
  cli.input = KEY;
  const { code, stderr } = await cli.run('auth', 'set-key', 'opnai');
  expect([code, stderr.split('\n')[0]]).toEqual([0, '! no provider is called opnai; did you mean openai?']);
  expect(Object.keys(await credentials(cli))).toEqual(['opnai']);
});

test('status lists logins for people and for programs, without secrets; logout forgets one', async () => {
  await using dir = await tempDir();
  const cli = new FakeCli(dir.path);
  expect(await cli.run('auth', 'status')).toMatchObject({ code: 0, stdout: 'no login or key is stored\n' });
  const expiresAt = new Date(cli.clock.now() + 5 * 60_000).toISOString();
  const entry = { access_token: KEY, provider: 'x', auth_method: 'oauth', expires_at: expiresAt };
  const gone = { ...entry, expires_at: '2025-12-31T00:00:00Z' };
  const full = { ...entry, refresh_token: `${KEY}-r`, issuer: 'https://auth.example.com', client_id: 'c' };
  const file = await cli.write('data/auth.json', JSON.stringify({ credentials: { openai: full, deepseek: gone } }));
  await chmod(file, 0o600);
  const people = await cli.run('auth', 'status');
  expect(people.stdout.trimEnd().split('\n')).toEqual([
    'PROVIDER  BY       STATE    EXPIRES   RENEWS',
    'deepseek  browser  expired  1 d ago',
    'openai    browser  usable   in 5 min  by itself',
  ]);
  expect(people.stderr).toBe('→ gatehouse auth login deepseek\n');
  const programs = await cli.run('auth', 'status', '--json');
  expect(JSON.parse(programs.stdout)).toEqual({
    schemaVersion: 1,
    ok: true,
    file,
    logins: [
      { provider: 'deepseek', authMethod: 'oauth', state: 'expired', renews: false, expiresAt: '2025-12-31T00:00:00.000Z' },
      { provider: 'openai', authMethod: 'oauth', state: 'usable', renews: true, expiresAt, issuer: 'https://auth.example.com' },
    ],
  });
  expect(JSON.stringify([people, programs])).not.toContain('CANARY');

  expect((await cli.run('auth', 'logout', 'openai', '--dry-run')).stdout).toBe('✓ openai would be forgotten here\n');
  expect(await cli.run('auth', 'logout', 'openai')).toMatchObject({ code: 0, stdout: '✓ openai is forgotten here\n' });
  expect(Object.keys(await credentials(cli))).toEqual(['deepseek']);
  const again = await cli.run('auth', 'logout', 'openai', '--json');
  expect([again.code, JSON.parse(again.stdout)]).toMatchObject([1, { ok: false, error: { code: 'GH1003' } }]);
});

test('logout forgets what set-key stored under the name of a channel', async () => {
  await using dir = await tempDir();
  const cli = new FakeCli(dir.path);
  await cli.write(
    '.gatehouse/config.json',
    '{"gateway": {"channels": [{"type": "telegram", "settings": {"token_env": "OTHER_TOKEN"}}]}}',
  );
  cli.input = '123:ABC\n';
  await cli.run('auth', 'set-key', 'telegram');
  expect(await cli.run('auth', 'logout', 'telegram')).toMatchObject({ code: 0, stdout: '✓ telegram is forgotten here\n' });
  expect((await cli.run('auth', 'status')).stdout).toBe('no login or key is stored\n');
});

test('a file that others can read stops every command with GH2202 and the fix', async () => {
  await using dir = await tempDir();
  const cli = new FakeCli(dir.path);
  const file = await cli.write('data/auth.json', '{"credentials": {}}');
  await chmod(file, 0o644);
  cli.input = KEY;
  for (const argv of [['status'], ['logout', 'openai'], ['set-key', 'openai']]) {
    const { code, stderr } = await cli.run('auth', ...argv);
    expect(code).toBe(1);
    expect(stderr).toContain(`✗ GH2202 ${file} can be read by other users of this machine`);
    expect(stderr).toContain(`→ run \`chmod 600 ${file}\``);
  }
});

test.each([
  [['set-key', 'openai'], 'would ask for the key of openai and store it in '],
  [['login', '--paste'], 'would ask for the key of openai and store it in '],
  [['login', 'groq'], 'would ask for the key of groq and store it in '],
  [['login', '--client-id', 'c'], 'would log in to openai at https://auth.openai.com and store it in '],
  [
    ['login', 'groq', '--device', '--issuer', 'https://a.example', '--client-id', 'c'],
    'would log in to groq at https://a.example ',
  ],
])('%j with --dry-run asks nobody and writes nothing', async (argv, text) => {
  await using dir = await tempDir();
  const cli = new FakeCli(dir.path);
  const { code, stdout } = await cli.run('auth', ...argv, '--dry-run');
  expect([code, stdout.startsWith(text)]).toEqual([0, true]);
  expect(JSON.parse((await cli.run('auth', ...argv, '--dry-run', '--json')).stdout)).toMatchObject({ ok: true, dryRun: true });
  await expect(stat(cli.dataDir)).rejects.toThrow('ENOENT');
});

test.each([
  [['login', '--device', '--paste'], 'are two ways to log in'],
  [['login'], 'store an API key of https://platform.openai.com/api-keys with `gatehouse auth set-key openai`'],
  [['login', '--client-id', ''], 'OpenAI gives a client id, which a login needs, to its partners only'],
  [['login', 'groq', '--issuer', 'https://a.example'], 'needs the client id'],
  [['login', 'groq', '--device'], 'where to log in for groq is not known'],
  [['login', '--client-id', 'c', '--port', '99999', '--issuer', 'http://127.0.0.1:1'], '--port is not a port'],
  [['logout', '../x'], 'this is not a provider name'],
])('%j is a wrong call, exit 2', async (argv, text) => {
  await using dir = await tempDir();
  const { code, stderr } = await new FakeCli(dir.path).run('auth', ...argv);
  expect([code, stderr.includes(text)]).toEqual([2, true]);
});

test('login through the browser stores what renews by itself; the browser is opened on a terminal only', async () => {
  await using server = await startOidcServer();
  await using dir = await tempDir();
  const cli = new FakeCli(dir.path);
  const argv = ['auth', 'login', '--issuer', server.issuer, '--client-id', CLIENT_ID, '--port', '0'];
  const visited = followTalk(cli, browserAddress);
  const { code, stdout } = await cli.run(...argv);
  await visited();
  expect([code, stdout, cli.openedUrls]).toEqual([0, '✓ logged in to openai\n', []]);
  expect((await credentials(cli))['openai']).toMatchObject({
    access_token: server.tokens[0]?.['access_token'],
    refresh_token: server.tokens[0]?.['refresh_token'],
    auth_method: 'oauth',
    issuer: server.issuer,
    client_id: CLIENT_ID,
  });

  cli.answers = [];
  followTalk(cli, browserAddress);
  await cli.run(...argv);
  expect(cli.openedUrls).toEqual([expect.stringMatching(/^http:\/\/127\.0\.0\.1:\d+\/auth\?/)]);
  followTalk(cli, browserAddress);
  await cli.run(...argv, '--no-browser');
  expect(cli.openedUrls.length).toBe(1);
});

test('login with a code shows it, waits for the person, and stores the login', async () => {
  await using server = await startOidcServer();
  await using dir = await tempDir();
  const cli = new FakeCli(dir.path);
  const visited = followTalk(cli, (talk) => {
    const [url, code] = [/Open (\S+) on any device/.exec(talk)?.[1], /^ {2}([A-Z-]{9})$/m.exec(talk)?.[1]];
    return url !== undefined && code !== undefined ? `${url}?user_code=${code}` : undefined;
  });
  const argv = ['--device', '--json', '--issuer', server.issuer, '--client-id', CLIENT_ID];
  let result: CliResult | undefined;
  const running = cli.run('auth', 'login', 'openai', ...argv).then((done) => {
    result = done;
  });
  for (; !result; await new Promise((resolve) => setTimeout(resolve, 2))) {
    await visited();
    await cli.clock.advance(1_000);
  }
  await running;
  expect(result.code).toBe(0);
  expect(JSON.parse(result.stdout)).toMatchObject({
    ok: true,
    dryRun: false,
    login: { provider: 'openai', authMethod: 'device_code', renews: true },
  });
});

test('a refused login is GH2201 with exit code 1 and stores nothing', async () => {
  await using server = await startOidcServer();
  await using dir = await tempDir();
  const cli = new FakeCli(dir.path);
  followTalk(cli, browserAddress, 'refuse');
  const { code, stderr } = await cli.run('auth', 'login', '--issuer', server.issuer, '--client-id', CLIENT_ID, '--port', '0');
  expect(code).toBe(1);
  expect(stderr).toContain('✗ GH2201 the login was refused at the issuer');
  await expect(stat(cli.dataDir)).rejects.toThrow('ENOENT');
});

test('A29 no token, key, code or verifier is in any output or in any file but auth.json', async () => {
  await using server = await startOidcServer();
  await using dir = await tempDir();
  const cli = new FakeCli(dir.path);
  cli.input = KEY;
  let codes = '';
  const outputs: CliResult[] = [await cli.run('auth', 'set-key', 'groq', '-v')];
  const login = ['auth', 'login', '-v', '--issuer', server.issuer, '--client-id', CLIENT_ID, '--port', '0'];
  const visited = followTalk(cli, (talk) => {
    codes = talk;
    return browserAddress(talk);
  });
  outputs.push(await cli.run(...login));
  const page = JSON.stringify(await visited());
  // The issuer is made to quote what it was sent.
  server.interfere = { status: 400, body: JSON.stringify({ error: 'invalid_grant', error_description: server.tokens[0] }) };
  followTalk(cli, browserAddress);
  outputs.push(
    await cli.run(...login),
    await cli.run('auth', 'status', '-v', '--json'),
    await cli.run('auth', 'logout', 'nobody'),
  );
  expect(outputs.map(({ code }) => code)).toEqual([0, 0, 1, 0, 1]);

  const [tokens = {}] = server.tokens;
  const code = /[?&]code=([^&"]+)/.exec(page)?.[1];
  const secrets = [KEY, tokens['access_token'], tokens['refresh_token'], tokens['id_token'], code].map(String);
  expect(secrets.every((secret) => secret.length > 10)).toBe(true);
  expect(codes).toContain('code_challenge=');
  const files = await readdir(dir.path, { recursive: true, withFileTypes: true });
  const others = files.filter((entry) => entry.isFile() && entry.name !== 'auth.json');
  const texts = await Promise.all(others.map((entry) => readFile(join(entry.parentPath, entry.name), 'latin1')));
  const seen = JSON.stringify([outputs, texts, cli.openedUrls]);
  expect(secrets.filter((secret) => seen.includes(secret))).toEqual([]);
});

test('tokens of channels lie in the same private file, under the variables of the config, and exported ones win', async () => {
  await using dir = await tempDir();
  const cli = new FakeCli(dir.path);
  await cli.write(
    '.gatehouse/config.json',
    '{"gateway": {"channels": [{"type": "telegram", "settings": {"token_env": "OTHER_TOKEN"}}]}}',
  );
  cli.input = '123:ABC\n';
  expect(await cli.run('auth', 'set-key', 'telegram')).toMatchObject({ code: 0, stdout: '✓ stored OTHER_TOKEN\n' });
  const file = join(cli.dataDir, 'auth.json');
  expect([(await stat(file)).mode & 0o777, await readFile(file, 'utf8')]).toEqual([0o600, expect.stringContaining('123:ABC')]);
  const { stdout } = await cli.run('auth', 'status');
  expect(stdout).toMatch(/OTHER_TOKEN +key +usable/);
  expect(stdout).not.toContain('123:ABC');

  await using store = openAuthStore({ dir: cli.dataDir, clock: cli.clock });
  expect((await withStoredVariables({}, store))['OTHER_TOKEN']).toBe('123:ABC');
  expect((await withStoredVariables({ OTHER_TOKEN: 'exported' }, store))['OTHER_TOKEN']).toBe('exported');
  cli.env = { OTHER_TOKEN: 'exported' };
  cli.input = '456:DEF';
  expect((await cli.run('auth', 'set-key', 'OTHER_TOKEN')).stderr).toContain(
    'OTHER_TOKEN is exported as well, and that one is used',
  );
  expect((await cli.run('auth', 'logout', 'OTHER_TOKEN')).stdout).toBe('✓ OTHER_TOKEN is forgotten here\n');
  expect((await withStoredVariables({}, store))['OTHER_TOKEN']).toBeUndefined();
});

test('the type of channels that have names of their own stores nothing, and the names are told', async () => {
  await using dir = await tempDir();
  const cli = new FakeCli(dir.path);
  const bot = (name: string, token_env: string) => ({ type: 'telegram', name, settings: { token_env } });
  const channels = [bot('family-bot', 'FAMILY_BOT_TOKEN'), bot('work-bot', 'WORK_BOT_TOKEN')];
  await cli.write('.gatehouse/config.json', JSON.stringify({ gateway: { channels } }));
  cli.input = '123:ABC';
  const named = expect.stringContaining('family-bot, work-bot');
  expect(await cli.run('auth', 'set-key', 'telegram')).toMatchObject({ code: 2, stderr: named });
  expect((await cli.run('auth', 'set-key', 'work-bot')).stdout).toBe('✓ stored WORK_BOT_TOKEN\n');
});

test.each([
  ['by default', {}, 'TELEGRAM_BOT_TOKEN'],
  ['by the config', { token_env: 'FAMILY_BOT_TOKEN' }, 'FAMILY_BOT_TOKEN'],
])(
  'the type of the only channel of it means that channel, with the variable that it reads %s',
  async (_how, settings, variable) => {
    await using dir = await tempDir();
    const cli = new FakeCli(dir.path);
    const channels = [{ type: 'telegram', name: 'family-bot', settings }];
    await cli.write('.gatehouse/config.json', JSON.stringify({ gateway: { channels } }));
    cli.input = '123:ABC';
    expect((await cli.run('auth', 'set-key', 'telegram')).stdout).toBe(`✓ stored ${variable}\n`);
    expect((await cli.run('auth', 'logout', 'telegram')).code).toBe(0);
  },
);

test('of a channel with several secrets each is asked for, and on a pipe each has to be named', async () => {
  await using dir = await tempDir();
  const cli = new FakeCli(dir.path);
  const settings = z.strictObject({ bot_token_env: z.string().default('A_TOKEN'), app_token_env: z.string().default('B_TOKEN') });
  cli.channels = { slack: async () => settings };
  cli.input = 'x';
  expect(await cli.run('auth', 'set-key', 'slack')).toMatchObject({
    code: 2,
    stderr: expect.stringMatching(/slack has 2 secrets[\s\S]*gatehouse auth set-key A_TOKEN < file/),
  });
  cli.input = undefined;
  cli.answers = ['', 'xapp-1'];
  expect((await cli.run('auth', 'set-key', 'slack')).stdout).toMatch(/stored B_TOKEN\n$/);
  expect((await cli.run('auth', 'set-key', 'slack', '--dry-run')).stdout).toMatch(/would ask for A_TOKEN, B_TOKEN/);
});

test('a variable is stored where it is read: that of a provider as its key, any other by its own name', async () => {
  await using dir = await tempDir();
  const cli = new FakeCli(dir.path);
  cli.input = 'AC0123\n';
  const stored = async (name: string) => (await cli.run('auth', 'set-key', name)).stdout;
  expect(await stored('ANTHROPIC_API_KEY')).toBe('✓ stored the key of anthropic\n');
  expect(await stored('TWILIO_ACCOUNT_SID')).toBe('✓ stored TWILIO_ACCOUNT_SID\n');
  // The file of a service account, and a key that is looked for beside others of the cloud.
  expect(await stored('GOOGLE_APPLICATION_CREDENTIALS')).toBe('✓ stored GOOGLE_APPLICATION_CREDENTIALS\n');
  expect(await stored('AWS_BEARER_TOKEN_BEDROCK')).toBe('✓ stored AWS_BEARER_TOKEN_BEDROCK\n');
  const variables = ['aws_bearer_token_bedrock', 'google_application_credentials', 'twilio_account_sid'];
  expect(Object.keys(await credentials(cli)).toSorted()).toEqual(['anthropic', ...variables.map((name) => `variable.${name}`)]);
  expect((await cli.run('auth', 'logout', 'ANTHROPIC_API_KEY')).stdout).toBe('✓ anthropic is forgotten here\n');
  expect((await cli.run('auth', 'logout', 'TWILIO_ACCOUNT_SID')).stdout).toBe('✓ TWILIO_ACCOUNT_SID is forgotten here\n');
});

test('a variable that the config names for an address of others, or without an underscore, keeps its own name', async () => {
  await using dir = await tempDir();
  const cli = new FakeCli(dir.path);
  const model = { provider: 'openai', model: 'm', base_url: 'https://proxy.example/v1', api_key_env: 'OPENAI_API_KEY' };
  const channels = [{ type: 'telegram', settings: { token_env: 'SECOND' } }];
  await cli.write('.gatehouse/config.json', JSON.stringify({ ...model, gateway: { channels } }));
  cli.input = KEY;
  await cli.run('auth', 'set-key', 'OPENAI_API_KEY');
  await cli.run('auth', 'set-key', 'SECOND');
  expect(Object.keys(await credentials(cli))).toEqual(['variable.openai_api_key', 'variable.second']);
});

test('what an earlier version stored for a variable as the key of a provider is listed, and forgotten with it', async () => {
  await using dir = await tempDir();
  const cli = new FakeCli(dir.path);
  const old = { access_token: KEY, provider: 'twilio_account_sid', auth_method: 'paste_token' };
  const write = async () => {
    const file = await cli.write('data/auth.json', JSON.stringify({ credentials: { twilio_account_sid: old } }));
    await chmod(file, 0o600);
  };
  await write();
  expect((await cli.run('auth', 'status')).stdout).toContain('twilio_account_sid  key');
  await cli.run('auth', 'logout', 'twilio_account_sid');
  expect(await credentials(cli)).toEqual({});
  await write();
  cli.input = 'AC0123';
  await cli.run('auth', 'set-key', 'TWILIO_ACCOUNT_SID');
  expect((await cli.run('auth', 'logout', 'TWILIO_ACCOUNT_SID')).stdout).toBe('✓ TWILIO_ACCOUNT_SID is forgotten here\n');
  expect(await credentials(cli)).toEqual({});
  await write();
  expect((await cli.run('auth', 'logout', 'TWILIO_ACCOUNT_SID')).code).toBe(0);
  expect(await credentials(cli)).toEqual({});
});
