import { spawnSync } from 'node:child_process';
import { chmod, chown, mkdir, readFile, rename, rm, stat, symlink, utimes, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { stripVTControlCharacters } from 'node:util';
import { expect, test } from 'vitest';
import { CHANNELS } from '../../../channels/registry.ts';
import type { ChannelStatus } from '../../core/turn.ts';
import { openJournal } from '../../journal/open.ts';
import { openAuthStore } from '../../lib/auth/store.ts';
import { FakeCli } from '../../testing/fake-cli.ts';
import { tempDir } from '../../testing/fakes.ts';
import { isNotRoot } from '../../testing/files-of-root.ts';
import { scriptedModel } from '../../testing/scripted-model.ts';
import type { Scene } from '../doctor/check.ts';
import { CHECKS } from '../doctor/index.ts';
import { diskCheck, nodeCheck } from '../doctor/machine.ts';

const MIB = 2 ** 20;
const usage = { tokensIn: 1, tokensOut: 1, tokensCached: 0 };
const TELEGRAM: ChannelStatus = {
  ...{ name: 'telegram', type: 'telegram', account: '99', state: 'healthy', since: 0 },
  ...{ inboundClass: 'B', sendClass: 'blind' },
};

interface Result {
  readonly id: string;
  readonly state: string;
  readonly what: string;
  readonly fix: string | null;
  readonly canFix: boolean;
}

/** A directory in which all is well: a config with a model that answers, a channel, an owner, a budget. */
async function healthy(dir: string): Promise<FakeCli> {
  const cli = new FakeCli(dir);
  cli.env = { OPENAI_API_KEY: 'sk-test' };
  cli.models.set(
    'openai/gpt-6.1-terra',
    scriptedModel(async () => ({ text: 'ok', usage })),
  );
  cli.tried = [TELEGRAM];
  await config(cli, {});
  await mkdir(cli.dataDir, { mode: 0o700 });
  return cli;
}

async function config(cli: FakeCli, more: object, gateway: object = {}): Promise<void> {
  const owner = [{ channel: 'telegram', chat_id: '7' }];
  const channels = [{ type: 'telegram', allowed_senders: ['7'] }];
  const all = { provider: 'openai', model: 'gpt-6.1-terra', budget: { daily_usd: 2 }, ...more };
  await cli.write('.gatehouse/config.json', JSON.stringify({ ...all, gateway: { owner, channels, ...gateway } }));
}

async function doctor(cli: FakeCli, ...flags: string[]): Promise<{ code: number; lines: ReadonlyMap<string, Result> }> {
  const { code, stdout } = await cli.run('doctor', '--json', ...flags);
  const { checks } = JSON.parse(stdout) as { checks: readonly Result[] };
  return { code, lines: new Map(checks.map((line) => [line.id, line])) };
}

test('where all is well no check fires, and the exit code is 0', async () => {
  await using dir = await tempDir();
  const cli = await healthy(dir.path);
  const { code, lines } = await doctor(cli);
  expect([...lines.values()].filter(({ state }) => state !== 'ok' && state !== 'skip')).toEqual([]);
  expect(code).toBe(0);
  expect(lines.size).toBe(CHECKS.length);
  expect(CHECKS.length).toBeLessThanOrEqual(25);
});

const NOW = 1_000_000;
interface Broken {
  readonly state: 'warn' | 'bad';
  readonly says: RegExp;
  /** The command that is named. */
  readonly fix: RegExp;
  /** Whether `--fix` heals it. */
  readonly heals?: true;
  readonly code?: number;
  break(cli: FakeCli): Promise<void>;
}

const BROKEN: Readonly<Record<string, Broken>> = {
  'data-dir': {
    ...{ state: 'warn', says: /other users of this machine can read .* \(mode 755\)/, fix: /^chmod 700 /, heals: true },
    break: (cli) => chmod(cli.dataDir, 0o755),
  },
  'secret-files': {
    ...{ state: 'bad', says: /can read .*auth\.json/, fix: /^chmod 600 .*auth\.json/, heals: true },
    break: (cli) => writeFile(join(cli.dataDir, 'auth.json'), '{"version":1,"credentials":{}}', { mode: 0o644 }),
  },
  leftovers: {
    ...{ state: 'warn', says: /1 file of a write that was cut off/, fix: /^rm .*auth\.json\.new-123/, heals: true },
    async break(cli) {
      await writeFile(join(cli.dataDir, 'auth.json.new-123'), '', { mode: 0o600 });
      await utimes(join(cli.dataDir, 'auth.json.new-123'), 1, 1);
      await cli.clock.advance(7_200_000);
    },
  },
  config: {
    ...{ state: 'bad', says: /config\.json:1: must be a number/, fix: /gatehouse config check/, code: 78 },
    break: (cli) => config(cli, {}, { max_history: 'fifty' }),
  },
  'schema-file': {
    ...{ state: 'warn', says: /config\.schema\.json is of another version/, fix: /gatehouse config schema > /, heals: true },
    break: async (cli) => void (await cli.write('.gatehouse/config.schema.json', '{}')),
  },
  security: {
    ...{ state: 'warn', says: /1 danger: .*lets no one in/, fix: /gatehouse doctor security/ },
    break: (cli) => config(cli, {}, { channels: [{ type: 'telegram', allowed_senders: ['@ada'] }] }),
  },
  owner: {
    ...{ state: 'warn', says: /no one is told of trouble/, fix: /"owner"/ },
    break: (cli) => config(cli, {}, { owner: [] }),
  },
  budget: {
    ...{ state: 'warn', says: /nothing limits what a day may cost/, fix: /"daily_usd"/ },
    break: (cli) => config(cli, { budget: { session_usd: 1 } }),
  },
  daemon: {
    ...{ state: 'warn', says: /daemon\.json names a daemon that is gone/, fix: /^rm /, heals: true },
    break: async (cli) =>
      void (await writeFile(join(cli.dataDir, 'daemon.json'), JSON.stringify({ pid: 1, port: 1, host: '127.0.0.1' }), {
        mode: 0o600,
      })),
  },
  models: {
    ...{ state: 'bad', says: /main: GH2101 /, fix: /\S/ },
    async break(cli) {
      cli.models.set(
        'openai/gpt-6.1-terra',
        scriptedModel(async () => ({ fail: 'auth' })),
      );
    },
  },
  channels: {
    ...{ state: 'bad', says: /telegram is down: GH1501/, fix: /gatehouse channels test telegram/ },
    async break(cli) {
      cli.tried = [{ ...TELEGRAM, state: 'down', detail: 'GH1501: Unauthorized' }];
    },
  },
  journal: {
    ...{ state: 'bad', says: /the journal is damaged/, fix: /restore a backup/ },
    break: (cli) => writeFile(join(cli.dataDir, 'journal.db'), Buffer.alloc(8_192, 7)),
  },
  'dead-letters': {
    ...{
      state: 'warn',
      says: /2 messages given up, 1 answer of which it is not known whether they arrived/,
      fix: /gatehouse dead list/,
    },
    async break(cli) {
      await emptyJournal(cli);
      const { inbox, outbox } = cli.counts;
      cli.counts = { ...cli.counts, inbox: { ...inbox, DEAD: 2 }, outbox: { ...outbox, UNKNOWN: 1 } };
    },
  },
};

/** A sound file; what is in it is told by the fields of `FakeCli`. */
async function emptyJournal(cli: FakeCli): Promise<void> {
  const { journal } = await openJournal({ dir: cli.dataDir, clock: cli.clock, sync: 'in-commit' });
  await journal[Symbol.asyncDispose]();
}

test.each(Object.entries(BROKEN))(
  '%s: what is broken is named with its repair, and healed where that can be done',
  async (id, one) => {
    await using dir = await tempDir();
    const cli = await healthy(dir.path);
    await one.break(cli);
    const { code, lines } = await doctor(cli);
    expect(lines.get(id)).toMatchObject({
      ...{ state: one.state, what: expect.stringMatching(one.says), fix: expect.stringMatching(one.fix) },
      canFix: one.heals === true,
    });
    expect(code).toBe(one.code ?? (one.state === 'bad' ? 1 : 0));
    // A file that cannot be trusted is not read, and those that need it say so.
    const others = [...lines.values()].filter((line) => line.id !== id && line.state === 'bad' && !/auth\.json/.test(line.what));
    expect(others).toEqual([]);
    if (!one.heals) return;
    expect((await doctor(cli, '--fix')).lines.get(id)?.state).toBe(one.state);
    const healed = await doctor(cli, '--fix', '--yes');
    expect([healed.lines.get(id)?.state, healed.code]).toEqual([expect.stringMatching(/ok|skip/), 0]);
  },
);

test('a port that another program holds is named', async () => {
  await using dir = await tempDir();
  const cli = await healthy(dir.path);
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  await config(cli, {}, { http: { port } });
  const { lines } = await doctor(cli, '--offline');
  await new Promise((resolve) => server.close(resolve));
  expect(lines.get('port')).toMatchObject({ state: 'bad', what: `another program listens on port ${port}` });
  expect(lines.get('port')?.fix).toMatch(/gateway\.http\.port/);
});

test.each<['bad' | 'skip', string, object]>([
  ['skip', 'telegram', {}],
  ['bad', 'telegram', { mode: 'webhook', public_url: 'https://bot.example.org' }],
  ['skip', 'twilio', { from_number: '+15551234567' }],
  ['bad', 'twilio', { from_number: '+15551234567', public_url: 'https://bot.example.org/hooks/twilio' }],
  ['bad', 'wecom', { corp_id: 'ww1234567890abcdef', agent_id: 1_000_002 }],
])('a taken port of the webhooks is %s for %s with %j', async (state, type, settings) => {
  await using dir = await tempDir();
  const cli = await healthy(dir.path);
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as { port: number };
  cli.channels = { [type]: async () => (await CHANNELS[type]?.())?.settings };
  await config(cli, {}, { owner: [], channels: [{ type, settings }], webhooks: { port } });
  const { lines } = await doctor(cli, '--offline');
  server.close();
  expect([lines.get('config')?.state, lines.get('port')?.state]).toEqual(['ok', state]);
});

test('a clock that is behind the newest record, and an open question, are named', async () => {
  await using dir = await tempDir();
  const cli = await healthy(dir.path);
  cli.openJournal = (options) => openJournal({ ...options, sync: 'in-commit' });
  await cli.clock.advance(NOW);
  const { journal } = await openJournal({ dir: cli.dataDir, clock: cli.clock, sync: 'in-commit' });
  journal.record.note({ type: 'channel', at: cli.clock.now() + 3_600_000, channel: 'telegram', state: 'healthy' });
  await journal[Symbol.asyncDispose]();
  const { lines } = await doctor(cli, '--offline');
  expect(lines.get('clock')).toMatchObject({ state: 'bad', what: 'the clock is 60 minutes behind the newest record' });
  expect(lines.get('questions')?.state).toBe('ok');
});

test('an old Node and a full disk are named', async () => {
  const scene = { dataDir: '/nowhere', loaded: { config: { disk: { reserve_mb: 100 } } } } as unknown as Scene;
  expect(await nodeCheck('24.10.0').run(scene)).toMatchObject({ state: 'bad', fix: 'install Node 24.11 or newer' });
  expect(await nodeCheck('25.0.0').run(scene)).toMatchObject({ state: 'ok' });
  const states = [99, 199, 200].map(async (mb) => (await diskCheck(async () => mb * MIB).run(scene)).state);
  expect(await Promise.all(states)).toEqual(['bad', 'warn', 'ok']);
});

test.skipIf(isNotRoot)('a file below the data directory that is another user’s is named', async () => {
  await using dir = await tempDir();
  const cli = await healthy(dir.path);
  await cli.write('data/users/ada/sessions/default.jsonl', '');
  await chown(join(cli.dataDir, 'users/ada/sessions'), 4_242, 4_242);
  expect((await doctor(cli, '--offline')).lines.get('data-dir')).toMatchObject({
    state: 'bad',
    what: expect.stringMatching(/users\/ada\/sessions belongs to another user$/),
    fix: expect.stringMatching(/^sudo chown -R 0 /),
  });
});

test.skipIf(isNotRoot)('where a link stands for the data directory, the advice names what chown would change', async () => {
  await using dir = await tempDir();
  const cli = await healthy(dir.path);
  await chown(await cli.write('data/auth.lock', ''), 4_242, 4_242);
  await rename(cli.dataDir, join(dir.path, 'private'));
  await symlink('private', cli.dataDir);
  expect((await doctor(cli, '--offline')).lines.get('data-dir')).toMatchObject({ fix: `sudo chown -R 0 ${dir.path}/private` });
});

test.skipIf(isNotRoot)('so it does where what the link leads to is another user’s', async () => {
  await using dir = await tempDir();
  await chmod(dir.path, 0o755);
  await mkdir(join(dir.path, 'real'), { mode: 0o700 });
  await symlink('real', join(dir.path, 'data'));
  const program = `import { dataDirectory } from ${JSON.stringify(join(import.meta.dirname, '../doctor/files.ts'))};
    process.setuid(65_534);
    console.log((await dataDirectory.run({ dataDir: ${JSON.stringify(join(dir.path, 'data'))} })).fix);`;
  const child = spawnSync(process.execPath, ['--input-type=module', '-e', program]);
  expect(String(child.stdout)).toContain(`sudo chown -R $(id -u) ${dir.path}/real\n`);
});

test.each(['channels/email/auth.json', 'channels/whatsapp/login.db', 'mcp-logins/wiki/auth.json'])(
  '%s is a file with a key',
  async (file) => {
    await using dir = await tempDir();
    const cli = await healthy(dir.path);
    const path = await cli.write(`data/${file}`, '{}');
    const secret = async (...flags: string[]) => (await doctor(cli, '--offline', ...flags)).lines.get('secret-files');
    await chmod(path, 0o600);
    expect(await secret()).toMatchObject({ state: 'ok', what: '1 private file' });
    await chmod(path, 0o644);
    expect(await secret()).toMatchObject({ state: 'bad', what: expect.stringContaining(file), canFix: true });
    expect(await secret('--fix', '--yes')).toMatchObject({ state: 'ok' });
    expect((await stat(path)).mode & 0o777).toBe(0o600);
  },
);

test('the limit of a key that was found is one, as long as the config chooses no model', async () => {
  await using dir = await tempDir();
  const cli = await healthy(dir.path);
  await config(cli, { provider: undefined, model: undefined, budget: undefined });
  const budget = async () => (await doctor(cli, '--offline')).lines.get('budget');
  expect(await budget()).toMatchObject({ state: 'ok', what: '2 USD a day' });
  cli.env = {};
  expect(await budget()).toMatchObject({ state: 'warn' });
  await using store = openAuthStore({ dir: cli.dataDir, clock: cli.clock });
  const renews = { refreshToken: 'r', issuer: 'http://127.0.0.1:9', clientId: 'c', expiresAt: 1 };
  await store.set({ provider: 'openai', accessToken: 'sk-old', authMethod: 'oauth', ...renews }, new AbortController().signal);
  // To renew it would take a connection.
  cli.logins.get = () => expect.unreachable('a login was asked for');
  expect(await budget()).toMatchObject({ state: 'ok', what: '2 USD a day' });
  await config(cli, { budget: undefined });
  expect(await budget()).toMatchObject({ state: 'warn' });
});

test('a journal that another process holds is not called damaged', async () => {
  await using dir = await tempDir();
  const cli = await healthy(dir.path);
  const held = new DatabaseSync(join(cli.dataDir, 'journal.db'));
  held.exec('CREATE TABLE t (x); BEGIN EXCLUSIVE');
  const { lines } = await doctor(cli, '--offline');
  held.close();
  expect(lines.get('journal')).toMatchObject({
    ...{ state: 'bad', what: expect.stringMatching(/^another process holds the journal/) },
    fix: expect.not.stringContaining('backup'),
  });
});

test('a file in the place of the data directory is named as one, in the words of the start', async () => {
  await using dir = await tempDir();
  const cli = await healthy(dir.path);
  await rm(cli.dataDir, { recursive: true });
  await cli.write('data', '');
  expect((await doctor(cli, '--offline')).lines.get('data-dir')).toMatchObject({
    ...{ state: 'bad', what: `${cli.dataDir} cannot be written: a part of the path is a file` },
    fix: 'name a directory with `--data-dir`',
  });
});

test('on a terminal each change is asked for, and a no changes nothing', async () => {
  await using dir = await tempDir();
  const cli = await healthy(dir.path);
  await chmod(cli.dataDir, 0o755);
  await writeFile(join(cli.dataDir, 'auth.json'), '{}', { mode: 0o644 });
  cli.answers = ['n', 'y'];
  const { stdout, stderr } = await cli.run('doctor', '--fix', '--offline');
  expect(stderr).toMatch(/Mend it\? \[y\/N\]/);
  const mode = async (path: string) => ((await stat(path)).mode & 0o777).toString(8);
  expect([await mode(cli.dataDir), await mode(join(cli.dataDir, 'auth.json'))]).toEqual(['755', '600']);
  expect(stripVTControlCharacters(stdout)).toMatch(/^! data-dir/m);
  expect(await readFile(join(cli.dataDir, 'auth.json'), 'utf8')).toBe('{}');
});

test('Ctrl-C at a question leaves with 130, and an input that ends names the option that there is', async () => {
  await using dir = await tempDir();
  const cli = await healthy(dir.path);
  await chmod(cli.dataDir, 0o755);
  cli.answers = ['\u0003'];
  const left = await cli.run('doctor', '--fix', '--offline');
  expect([left.code, left.stderr]).toEqual([130, expect.stringMatching(/Mend it\? [\s\S]*GH1010 cancelled/)]);
  expect((await stat(cli.dataDir)).mode & 0o777).toBe(0o755);
  cli.answers = [];
  cli.endsInput = true;
  const ended = await cli.run('doctor', '--fix', '--offline');
  expect([ended.code, ended.stderr]).toEqual([2, expect.stringMatching(/GH1001 the input ended[\s\S]*`--yes`/)]);
});

test('doctor security names each danger with its line, and fails for scripts', async () => {
  await using dir = await tempDir();
  const cli = await healthy(dir.path);
  expect((await cli.run('doctor', 'security')).code).toBe(0);
  await config(cli, { sandbox: { mode: 'none' } });
  const { code, stderr } = await cli.run('doctor', 'security');
  expect(code).toBe(1);
  expect(stderr).toMatch(/config\.json:1:\d+: sandbox\.mode: programs of the agent run with all .* \[programs-bare\]/);
  await config(cli, { base_url: 'http://api.example.org/v1' });
  expect((await cli.run('doctor', 'security')).code).toBe(78);
});

test('what the running daemon tells of itself, an open question, and a sandbox that cannot be are named', async () => {
  await using dir = await tempDir();
  const cli = await healthy(dir.path);
  await emptyJournal(cli);
  cli.openJournal = async (options) => {
    const opened = await openJournal({ ...options, sync: 'in-commit' });
    const { journal } = opened;
    Object.defineProperty(journal, 'waits', { value: { questions: async () => [{}] } });
    return opened;
  };
  // The one of another platform.
  await config(cli, { sandbox: { mode: process.platform === 'darwin' ? 'bwrap' : 'macos' } });
  const { lines } = await doctor(cli, '--offline');
  expect(lines.get('questions')).toMatchObject({ state: 'warn', what: '1 question waits', fix: 'gatehouse questions list' });
  expect(lines.get('sandbox')).toMatchObject({ state: 'warn', what: expect.stringMatching(/macOS|Linux|sandbox/) });
  const status = { model: { id: 'm', demo: false }, channels: [], degraded: ['journal'], journal: cli.counts };
  const scene = { context: { deps: cli }, daemon: { kind: 'up', status } } as unknown as Scene;
  const running = CHECKS.find(({ id }) => id === 'running');
  expect(await running?.run(scene)).toMatchObject({ state: 'bad', what: expect.stringMatching(/journal cannot be written/) });
});

test('an empty journal in a data directory that was in use is bad', async () => {
  await using dir = await tempDir();
  const cli = await healthy(dir.path);
  await cli.haveJournal();
  await cli.write('data/users/ada/sessions/default.jsonl', '');
  const found = (await doctor(cli, '--offline')).lines.get('journal');
  expect(found).toMatchObject({ state: 'bad', what: expect.stringContaining('is empty (0 bytes)') });
});

test('a running daemon that uses another config than the one judged is told of, with the line that judges its own', async () => {
  await using dir = await tempDir();
  const cli = await healthy(dir.path);
  const [used, judged] = [await cli.write('a b.json', '{}'), join(dir.path, '.gatehouse/config.json')];
  const check = CHECKS.find(({ id }) => id === 'config-in-use');
  const told = async (file: string | undefined, loaded: object = { file: judged }) =>
    await check?.run({ daemon: { kind: 'up', status: { config: { file, needsRestart: [] } } }, loaded } as unknown as Scene);
  expect(await told(used)).toEqual({
    state: 'warn',
    what: `the daemon uses ${used}, and judged here is ${judged}`,
    fix: `gatehouse doctor --config '${used}'`,
  });
  expect(await told(undefined)).toMatchObject({
    state: 'warn',
    fix: expect.stringContaining(`gatehouse gateway --config ${judged}`),
  });
  expect(await told(used, {})).toMatchObject({ state: 'warn', what: expect.stringContaining('no file, but the defaults') });
  await symlink(judged, join(dir.path, 'link.json'));
  expect((await told(join(dir.path, 'link.json')))?.state).toBe('ok');
  expect((await told(undefined, {}))?.state).toBe('ok');
});

test('what it asks of a model is in the ledger', async () => {
  await using dir = await tempDir();
  const cli = await healthy(dir.path);
  await emptyJournal(cli);
  expect((await doctor(cli)).lines.get('models')).toMatchObject({ state: 'ok' });
  expect(cli.spent).toMatchObject([{ provider: 'openai', model: 'gpt-6.1-terra', tokensIn: 1, channel: 'cli', purpose: 'test' }]);
  cli.failure = new Error('the journal cannot be opened');
  expect((await doctor(cli)).lines.get('models')).toMatchObject({ state: 'ok', what: '1 model answered' });
  expect(cli.spent).toHaveLength(1);
});

test('each check has a test that breaks it', () => {
  const others = ['node', 'disk', 'port', 'clock', 'questions', 'sandbox', 'running', 'config-in-use'];
  expect(CHECKS.map(({ id }) => id).toSorted()).toEqual([...Object.keys(BROKEN), ...others].toSorted());
});
