// What an operator meets: each trouble is made on the real program, and one command names cause and repair.
import { once } from 'node:events';
import { mkdir, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { openJournal } from '../journal/open.ts';
import { systemClock } from '../lib/clock.ts';
import { freePort } from '../simulator/free-port.ts';
import { cliRun } from '../testing/cli-json.ts';
import { until } from '../testing/fakes.ts';
import { errorReply } from '../testing/model-server.ts';
import { needs } from '../testing/needs.ts';
import type { RunningDaemon } from '../testing/running-daemon.ts';
import { fillDisk, onSmallDisk, seenFromOutside } from '../testing/small-disk.ts';
import { type TelegramScene, type TelegramSceneOptions, telegramScene } from '../testing/telegram/scene.ts';

/** A busy machine takes longer than what is waited for. */
const PATIENCE_MS = 20_000;

const ENV = { TEST_KEY: 'sk-test' };

/** A running daemon with its platform and its model. */
interface At extends TelegramScene {
  readonly daemon: RunningDaemon;
  /** What a command line prints, on both streams. */
  ask(...args: readonly string[]): Promise<string>;
  /** Resolves once a command line prints all of these. */
  says(args: readonly string[], ...words: readonly RegExp[]): Promise<void>;
}

/** `env` is laid over that of the daemon and of the commands. */
interface Scene extends TelegramSceneOptions {
  readonly env?: Readonly<Record<string, string>>;
}

function trouble(name: string, scene: Scene, act: (at: At) => Promise<void>): void {
  test.concurrent(name, async () => {
    await using at = await telegramScene(scene);
    const { env = {} } = scene;
    await using daemon = await at.start({ env });
    await daemon.ready();
    await act({ ...at, daemon, ...asker(at, env) });
  });
}

function asker(at: TelegramScene, env: Readonly<Record<string, string>>): Pick<At, 'ask' | 'says'> {
  const ask = async (...args: readonly string[]): Promise<string> => {
    const { stdout, stderr } = await cliRun(at.dir, args, { ...ENV, TELEGRAM_BOT_TOKEN: at.platform.token, ...env });
    return stdout + stderr;
  };
  const says = async (args: readonly string[], ...words: readonly RegExp[]): Promise<void> => {
    let last = '';
    try {
      await until(
        args.join(' '),
        async () => {
          last = await ask(...args);
          return words.every((word) => word.test(last));
        },
        PATIENCE_MS,
      );
    } catch (error) {
      throw new Error(`gatehouse ${args.join(' ')} says:\n${last}`, { cause: error });
    }
  };
  return { ask, says };
}

const failing = (status: number, error: object, headers = {}) => ({ script: () => errorReply(status, error, headers) });

trouble('the key is wrong', failing(401, { message: 'Incorrect API key provided', code: 'invalid_api_key' }), async (at) => {
  at.platform.inject({ text: 'hello' });
  await at.says(['status'], /calls +the last call failed: GH2101 .*→ .*auth set-key/);
});

trouble('the account has no credit (402)', failing(402, { message: 'Insufficient Balance' }), async (at) => {
  at.platform.inject({ text: 'hello' });
  await at.says(['status'], /calls +the last call failed: GH2110 .*→ add credit/);
});

trouble('the model is not there (404)', failing(404, { message: 'no such model', code: 'model_not_found' }), async (at) => {
  at.platform.inject({ text: 'hello' });
  await at.says(['status'], /calls +the last call failed: GH2117 .*→ .*models catalog/);
});

trouble('too many requests (429)', failing(429, { message: 'slow down' }, { 'retry-after': '40' }), async (at) => {
  at.platform.inject({ text: 'hello' });
  await at.says(['status'], /the model is called again in (40|3\d) s \(rate-limit/);
});

trouble('U2 the provider is broken (500)', failing(500, { message: 'oops' }), async (at) => {
  at.platform.inject({ text: 'hello' });
  await at.says(['status'], /calls +the last call failed: GH2103 .*→ ask again in a minute/);
  expect(await at.ask('status', '--check')).toMatch(/model openai\/m: the last call failed: GH2103/);
});

trouble('there is no price for the model', { config: { budget: { daily_usd: 1, allow_unknown_price: true } } }, async (at) => {
  at.platform.inject({ text: 'hello' });
  await at.says(['status'], /1 call of unknown price today.*→ .*`price`/);
});

const PRICED = { model_hints: { price: { in: 0, out: 10_000 } } };

trouble(
  'the limit of the day is reached',
  { config: { ...PRICED, budget: { daily_usd: 0.01, steps: ['stop'] } }, gateway: { max_output_tokens: 1 } },
  async (at) => {
    at.platform.inject({ text: 'one' });
    at.platform.inject({ text: 'two' });
    await at.says(['status'], /the limit of today is reached.*→ raise budget\.daily_usd/);
  },
);

trouble('a stranger writes', { entry: { allowed_senders: ['7'] } }, async (at) => {
  at.platform.inject({ text: 'hello' });
  await at.says(['why', 'last'], /access +not let in/, /has to be let in first[\s\S]*pair list/);
});

trouble('a person is blocked', {}, async (at) => {
  expect(await at.ask('people', 'block', 'telegram:1000')).toMatch(/blocked/);
  at.platform.inject({ text: 'hello' });
  await at.says(['why', 'last'], /blocked/, /people (unblock|audit)/);
});

trouble('a group message does not name the agent', { entry: { allowed_groups: ['*'] } }, async (at) => {
  at.platform.inject({ text: 'hello all', chat_id: -100_5 });
  await at.says(['why', 'last'], /access +it did not speak to the assistant/, /→ .*group_mode/);
});

const TOO_MANY = 'Too Many Requests: retry after 62';

trouble('U3 the platform holds an answer back (429)', {}, async (at) => {
  at.platform.fault({
    method: 'sendMessage',
    kind: 'error',
    status: 429,
    description: TOO_MANY,
    parameters: { retry_after: 62 },
    times: 9,
  });
  at.platform.inject({ text: 'hello' });
  await at.says(['status'], /1 answer waits (1 min|6\d s|5\d s).* for telegram \(Too Many Requests/);
  expect(await at.ask('why', 'last')).toMatch(/Too Many Requests/);
});

trouble('it is not known whether an answer arrived', {}, async (at) => {
  at.platform.fault({ method: 'sendMessage', kind: 'drop' });
  at.platform.inject({ text: 'hello' });
  await at.says(['status'], /1 unknown,.*→ .*dead list/);
  expect(await at.ask('why', 'last')).toMatch(/without a word from the platform whether they arrived/);
});

trouble('the token is wrong', { env: { TELEGRAM_BOT_TOKEN: '700001:wrong-token-AAAAAAAAAAAAAAAAAAAA' } }, async (at) => {
  await at.says(['status'], /telegram .*down.*GH1501/, /→ .*channels test telegram|GH1501/);
  const tried = await cliRun(at.dir, ['channels', 'test'], {
    ...ENV,
    TELEGRAM_BOT_TOKEN: '700001:wrong-token-AAAAAAAAAAAAAAAAAAAA',
  });
  expect([tried.code, tried.stdout + tried.stderr]).toEqual([1, expect.stringMatching(/GH1501[\s\S]*→ set its token/)]);
});

trouble('the token is revoked while it runs', {}, async (at) => {
  await until('it polls', () => at.platform.calls.includes('getUpdates'));
  at.platform.fault({ method: '*', kind: 'error', status: 401, description: 'Unauthorized', times: 99 });
  await at.says(['status'], /telegram .*down.*GH1501/);
});

trouble('the config file is broken while it runs', {}, async (at) => {
  await writeFile(join(at.dir, 'config.json'), '{ "provider": "openai",, }');
  await at.says(['status'], /config +.*GH11\d\d.*→ .*config check/);
  expect(await at.ask('config', 'check')).toMatch(/config\.json:1:24/);
});

trouble('a change of the config needs a restart', {}, async (at) => {
  const config = { ...at.config, gateway: { ...(at.config['gateway'] as object), http: { port: 0, host: 'localhost' } } };
  await writeFile(join(at.dir, 'config.json'), JSON.stringify(config));
  await at.says(['status'], /config +holds after a restart of the daemon: gateway\.http\.host/);
});

trouble('more is reserved than the disk has', { config: { disk: { reserve_mb: 100_000_000 } } }, async (at) => {
  await at.says(['status'], /MB are free on the disk, less than the reserve.*→ make room/);
});

trouble('an answer was given up', failing(500, { message: 'oops' }), async (at) => {
  at.platform.fault({ method: 'sendMessage', kind: 'error', status: 400, description: 'Bad Request: chat not found', times: 9 });
  at.platform.inject({ text: 'hello' });
  await at.says(['status'], /answers .* 1 dead +→ .*dead list/);
});

/** Of a daemon that does not run: what a command line prints, and the code it ends with. */
async function without(scene: Scene, act: (at: TelegramScene & Pick<At, 'ask' | 'says'>) => Promise<void>): Promise<void> {
  await using at = await telegramScene(scene);
  await writeFile(join(at.dir, 'config.json'), JSON.stringify(at.config, undefined, 2));
  await act({ ...at, ...asker(at, scene.env ?? {}) });
}

test.concurrent('the key is missing', () =>
  without({ config: { api_key_env: 'NO_SUCH_KEY' } }, async (at) => {
    await using daemon = await at.start();
    expect((await daemon.ended).code).toBe(78);
    expect(daemon.stderr()).toMatch(/NO_SUCH_KEY/);
    expect(await at.ask('config', 'check', '--strict')).toMatch(/NO_SUCH_KEY[\s\S]*export NO_SUCH_KEY.*auth set-key/);
  }));

test.concurrent('U1 a token stands where the name of its variable belongs', () =>
  without({ entry: { settings: { token_env: '700001:AAFakeTokenFakeTokenFakeTokenFakeTo' } } }, async (at) => {
    const said = await at.ask('config', 'check');
    expect(said).toMatch(/config\.json:\d+:\d+[\s\S]*token_env[\s\S]*name of/);
    expect(said).not.toContain('FakeToken');
  }));

test.concurrent('U7 a key of the budget is misspelt', () =>
  without({ config: { budget: { dayly_usd: 2 } } }, async (at) => {
    expect(await at.ask('config', 'check')).toMatch(/config\.json:\d+:\d+[\s\S]*dayly_usd[\s\S]*daily_usd/);
  }));

test.concurrent('the port is taken', async () => {
  await using server = createServer();
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as { port: number };
  await without({ gateway: { http: { port } } }, async (at) => {
    await using daemon = await at.start();
    expect((await daemon.ended).code).not.toBe(0);
    expect(daemon.stderr()).toMatch(new RegExp(`${port}`));
    expect(await at.ask('doctor', '--offline')).toMatch(new RegExp(`port .*${port}[\\s\\S]*→ `));
  });
});

test.concurrent('the clock is behind what was recorded', () =>
  without({}, async (at) => {
    const ahead = { ...systemClock, now: () => Date.now() + 3_600_000 };
    await using daemon = await at.start();
    await daemon.ready();
    await daemon.stop();
    {
      await using opened = await openJournal({ dir: join(at.dir, 'data'), clock: ahead });
      for (const { now } of [ahead, systemClock])
        opened.journal.record.note({ type: 'channel', at: now(), channel: 'telegram', state: 'healthy' });
    }
    await using again = await at.start();
    await again.ready();
    expect(await at.ask('status')).toMatch(/clock +is (1 h|59 min) behind the newest record.*→ timedatectl/);
  }));

test.concurrent('the daemon was killed', () =>
  without({}, async (at) => {
    await using daemon = await at.spawn();
    await daemon.ready();
    await daemon.stop('SIGKILL');
    expect(await at.ask('status')).toMatch(/GH1002 the daemon is not running: process \d+ does not answer[\s\S]*→ start it with/);
  }));

test.concurrent('U8 the config is broken when the daemon is told to read it again', () =>
  without({}, async (at) => {
    await using daemon = await at.spawn();
    await daemon.ready();
    await writeFile(join(at.dir, 'config.json'), '{ "provider": }');
    daemon.process.kill('SIGHUP');
    await at.says(['status'], /config +.*GH11\d\d.*→ .*config check/);
    at.platform.inject({ text: 'still there?' });
    await until('it answers all the same', () => at.texts().includes('echo: still there?'));
  }));

test.concurrent('U10 a channel cannot connect, and no daemon runs', () =>
  without({}, async (at) => {
    const settings = { api_root: 'http://127.0.0.1:1' };
    const gateway = { channels: [{ type: 'telegram', allowed_senders: ['*'], settings }] };
    await writeFile(join(at.dir, 'config.json'), JSON.stringify({ ...at.config, gateway }));
    const tried = await cliRun(at.dir, ['channels', 'test'], { ...ENV, TELEGRAM_BOT_TOKEN: at.platform.token });
    expect([tried.code, tried.stdout]).toEqual([1, expect.stringMatching(/telegram +(down|degraded)[\s\S]*GH1502.*api_root/)]);
  }));

/** In the process of the daemon every sync takes longer, as on a slow disk. */
const SLOW_DISK = `
  import fs from 'node:fs';
  import { syncBuiltinESMExports } from 'node:module';
  const { fdatasync } = fs;
  fs.fdatasync = (fd, done) => setTimeout(() => fdatasync(fd, done), 150);
  syncBuiltinESMExports();
`;

function preload(module: string): Readonly<Record<string, string>> {
  return { NODE_OPTIONS: `--import=data:text/javascript;base64,${Buffer.from(module).toString('base64')}` };
}

test.concurrent('the disk is slow', () =>
  without({}, async (at) => {
    await using daemon = await at.spawn({ env: preload(SLOW_DISK) });
    await daemon.ready();
    for (let n = 0; n < 4; n += 1) at.platform.inject({ text: 'hello', chat_id: n + 1, from: { id: n + 1 } });
    await daemon.settled(4);
    expect(await at.ask('status')).toMatch(
      /the disk takes (?:1[5-9]|[2-9]\d)\d ms to keep what is written.*→ put the data directory on a local disk/,
    );
  }));

/** As if `channels add slack` had not been run. */
const NO_SLACK = `
  import fs from 'node:fs';
  import { registerHooks, syncBuiltinESMExports } from 'node:module';
  const { existsSync } = fs;
  fs.existsSync = (path) => !String(path).includes('@slack') && existsSync(path);
  syncBuiltinESMExports();
  registerHooks({ resolve: (name, context, next) => {
    if (name.startsWith('@slack/')) throw Object.assign(new Error('Cannot find package ' + name), { code: 'ERR_MODULE_NOT_FOUND' });
    return next(name, context);
  } });
`;

test.concurrent('the package of a channel is missing', () => {
  const slack = { type: 'slack', allowed_senders: ['*'], settings: { api_root: 'http://127.0.0.1:1' } };
  return without({ channels: [slack] }, async (at) => {
    const env = { SLACK_BOT_TOKEN: 'xoxb-1-2-3', SLACK_APP_TOKEN: 'xapp-1' };
    await using daemon = await at.spawn({ env: { ...env, ...preload(NO_SLACK) } });
    await daemon.ready();
    await until('it is told', async () => (await daemon.status()).channels.some(({ state }) => state === 'down'));
    expect(await at.ask('status')).toMatch(/slack +down .*channels add slack/);
  });
});

test.concurrent('requests come that are not signed as the platform signs them', async () => {
  const port = await freePort();
  await without({}, async (at) => {
    const settings = { mode: 'webhook', public_url: 'https://bot.example', api_root: at.platform.url };
    const channels = [{ type: 'telegram', allowed_senders: ['*'], settings }];
    await using daemon = await at.start({
      config: { ...at.config, gateway: { channels, http: { port: 0 }, webhooks: { port } } },
    });
    await daemon.ready();
    const forge = () => fetch(`http://127.0.0.1:${port}/hooks/telegram`, { method: 'POST', body: '{}' });
    await until('the webhook is served', async () => (await forge().catch(() => undefined))?.status === 401, PATIENCE_MS);
    expect(await at.ask('status')).toMatch(/\d requests? at \/hooks\/telegram refused, not signed.*→ compare the secret/);
  });
});

test.concurrent('the disk is full', (context) =>
  without({}, async (at) => {
    const data = join(at.dir, 'data');
    await mkdir(data);
    needs(context, 'unshare', '-rm', 'mount', '-t', 'tmpfs', 'tmpfs', data);
    await using daemon = await at.spawn({ wrapper: onSmallDisk(data) });
    await daemon.ready();
    fillDisk(daemon);
    at.platform.inject({ text: 'hello' });
    await until('it is known', async () => (await daemon.status()).degraded.includes('journal'));
    const { stdout } = await cliRun(at.dir, ['status'], {}, seenFromOutside(daemon));
    expect(stdout).toMatch(/the journal cannot be written, and nothing is accepted.*→ make room/);
  }));
