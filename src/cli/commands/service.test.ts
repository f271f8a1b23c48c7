/** The commands against a systemctl of ours that writes down what it is asked for. */
import { chmod, mkdir, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { PassThrough } from 'node:stream';
import { expect, test } from 'vitest';
import { z } from 'zod';
import { TelegramSettings } from '../../../channels/telegram/settings.ts';
import { tempDir } from '../../testing/fakes.ts';
import type { CliDeps } from '../deps.ts';
import { runCli } from '../program.ts';

const channelSettings = async (type: string) => (type === 'telegram' ? TelegramSettings : z.looseObject({}));

async function scene(systemctl: string | undefined) {
  const dir = await tempDir();
  const bin = join(dir.path, 'bin');
  await mkdir(bin);
  const log = join(dir.path, 'log');
  if (systemctl !== undefined) {
    await writeFile(join(bin, 'systemctl'), `#!/bin/sh\necho "$@" >> '${log}'\n${systemctl}\n`);
    await chmod(join(bin, 'systemctl'), 0o700);
  }
  const packageRoot = join(dir.path, 'a b/gatehouse');
  const main = join(packageRoot, 'dist/src/cli/main.js');
  await mkdir(dirname(main), { recursive: true });
  await writeFile(main, '');
  const exported: Record<string, string> = {};
  const run = async (...argv: string[]) => {
    const [stdout, stderr] = [new PassThrough(), new PassThrough()];
    const text = { stdout: '', stderr: '' };
    stdout.on('data', (chunk: Buffer) => {
      text.stdout += String(chunk);
    });
    stderr.on('data', (chunk: Buffer) => {
      text.stderr += String(chunk);
    });
    const stdio = { stdin: Object.assign(new PassThrough(), { isTTY: false }), stdout, stderr } as unknown as CliDeps['stdio'];
    const more = { packageRoot, channelTypes: ['cli', 'telegram'], channelSettings };
    const env = { PATH: bin, HOME: dir.path, ...exported };
    const deps = {
      stdio,
      env,
      cwd: dir.path,
      home: dir.path,
      version: '0',
      commandHere: 'gatehouse',
      ...more,
    } as unknown as CliDeps;
    const code = await runCli(['service', ...argv], deps);
    return { code, ...text };
  };
  const units = join(dir.path, '.config/systemd/user');
  return {
    ...{ dir: dir.path, run, units, main, exported },
    asked: async () => (await readFile(log, 'utf8').catch(() => '')).trim().split('\n'),
    left: () => readdir(units).catch(() => []),
    [Symbol.asyncDispose]: () => dir[Symbol.asyncDispose](),
  };
}

test('install writes a unit on the same data directory and starts it, and uninstall leaves nothing', async () => {
  await using at = await scene('[ "$2" = is-active ] && echo active; exit 0');
  const dry = await at.run('install', '--dry-run', '--data-dir', 'data');
  expect(dry).toMatchObject({ code: 0, stdout: expect.stringContaining(`gateway --data-dir ${at.dir}/data\n`) });
  expect(dry.stdout).toContain(`"${at.main}"`);
  expect([await at.left(), await at.asked()]).toEqual([[], ['']]);
  const installed = await at.run('install', '--data-dir', 'data');
  expect(installed).toMatchObject({ code: 0, stderr: expect.stringContaining('loginctl enable-linger') });
  expect(await readFile(join(at.units, 'gatehouse.service'), 'utf8')).toBe(dry.stdout);
  const start = ['--user show-environment', '--user daemon-reload', '--user enable --now gatehouse.service'];
  expect(await at.asked()).toEqual(start);
  expect(JSON.parse((await at.run('status', '--json')).stdout)).toMatchObject({ ok: true, state: 'active' });
  expect((await at.run('uninstall')).code).toBe(0);
  expect(await at.left()).toEqual([]);
  expect((await at.asked()).slice(-2)).toEqual(['--user disable --now gatehouse.service', '--user daemon-reload']);
  expect((await at.run('status')).code).toBe(3);
});

test.each([
  ['there is no systemctl', undefined],
  ['no systemd answers', 'echo "Failed to connect to bus" >&2; exit 1'],
])('when %s nothing is written and the error says what to do', async (_name, systemctl) => {
  await using at = await scene(systemctl);
  const { code, stderr } = await at.run('install');
  expect(code).not.toBe(0);
  expect(stderr).toMatch(/GH1107 .*systemd.*\n.*launchd/);
  expect(await at.left()).toEqual([]);
});

test('a unit that was changed by hand stays, unless it is to be replaced', async () => {
  await using at = await scene('exit 0');
  await at.run('install');
  const file = join(at.units, 'gatehouse.service');
  const own = (await readFile(file, 'utf8')).replace(/MemoryMax=.*/, 'MemoryMax=4G');
  expect((await at.run('install')).code).toBe(0);
  await writeFile(file, own);
  expect(await at.run('install')).toMatchObject({ code: 4, stderr: expect.stringContaining('systemctl --user edit gatehouse') });
  expect(await readFile(file, 'utf8')).toBe(own);
  expect((await at.run('install', '--force')).code).toBe(0);
  expect(await readFile(`${file}.bak`, 'utf8')).toBe(own);
});

test('a service whose unit is replaced is restarted, since one that runs goes on with the old unit', async () => {
  await using at = await scene('exit 0');
  expect((await at.run('install')).stdout).toContain('✓ the service runs: ');
  const replaced = await at.run('install', '--force', '--data-dir', 'other');
  expect(replaced.stdout).toContain('✓ the service was restarted and runs: ');
  const asked = ['show-environment', 'daemon-reload', 'enable gatehouse.service', 'restart gatehouse.service'];
  expect((await at.asked()).slice(3)).toEqual(asked.map((words) => `--user ${words}`));
  expect((await at.run('install', '--data-dir', 'other')).stdout).toContain('✓ the service runs: ');
  expect((await at.asked()).at(-1)).toBe('--user enable --now gatehouse.service');
});

test('a replacement that broke off before the restart is finished by the next one', async () => {
  await using at = await scene('case "$*" in *restart*) [ -e "$HOME/once" ] || { : > "$HOME/once"; exit 1; };; esac; exit 0');
  await at.run('install');
  expect((await at.run('install', '--force', '--data-dir', 'other')).code).not.toBe(0);
  const again = await at.run('install', '--force', '--data-dir', 'other');
  expect(again.stdout).toContain('was restarted');
  expect((await at.asked()).at(-1)).toBe('--user restart gatehouse.service');
});

test('a program that is not built, and a path that no unit can hold, are refused', async () => {
  await using at = await scene('exit 0');
  expect(await at.run('install', '--data-dir', 'a\nb')).toMatchObject({ code: 2, stderr: expect.stringContaining('GH1001') });
  await rm(at.main);
  expect(await at.run('install')).toMatchObject({ code: 1, stderr: expect.stringMatching(/GH1004[\s\S]*npm run build/) });
  expect(await at.left()).toEqual([]);
});

test('keys that only this shell has are named, those of the environment file and of the store are not', async () => {
  await using at = await scene('exit 0');
  Object.assign(at.exported, { ANTHROPIC_API_KEY: 'sk-ant-canary', OPENAI_API_KEY: 'sk-canary', HTTPS_PROXY: 'http://p' });
  const { stderr } = await at.run('install', '--dry-run');
  expect(stderr).toMatch(
    /does not see what this shell has in (?=.*ANTHROPIC_API_KEY)(?=.*OPENAI_API_KEY).*→ gatehouse auth set-key/,
  );
  expect(stderr).not.toMatch(/canary|HTTPS_PROXY/);
  await mkdir(join(at.dir, '.config/gatehouse'), { recursive: true });
  await writeFile(join(at.dir, '.config/gatehouse/environment'), '# keys\nANTHROPIC_API_KEY="x"\nexport OPENAI_API_KEY=y\n');
  expect((await at.run('install', '--dry-run')).stderr).toMatch(/what this shell has in OPENAI_API_KEY →/);
});

test('a key that the config does not use is not named', async () => {
  await using at = await scene('exit 0');
  Object.assign(at.exported, {
    ANTHROPIC_API_KEY: 'sk-ant-canary',
    OPENAI_API_KEY: 'sk-canary',
    OWN_KEY: 'canary',
    MCP_KEY: 'canary',
  });
  const mcp_servers = { wiki: { url: 'https://wiki.example/mcp', headers_env: { 'X-Key': 'MCP_KEY' } } };
  const config = {
    mcp_servers,
    provider: 'anthropic',
    fallback_models: [{ provider: 'openai', model: 'm', api_key_env: 'OWN_KEY' }],
  };
  const file = join(at.dir, 'config.json');
  await writeFile(file, JSON.stringify({ version: 1, provider: 'anthropic' }));
  expect((await at.run('install', '--dry-run', '--config', file)).stderr).toMatch(/has in ANTHROPIC_API_KEY →/);
  await writeFile(file, JSON.stringify({ version: 1, ...config }));
  expect((await at.run('install', '--dry-run', '--config', file)).stderr).toMatch(
    /has in (?=.*ANTHROPIC_API_KEY)(?!.*OPENAI)(?=.*OWN_KEY)(?=.*MCP_KEY).* →/,
  );
});

test('a token is named under the name that its channel has by default, or under that of its settings', async () => {
  await using at = await scene('exit 0');
  Object.assign(at.exported, { TELEGRAM_BOT_TOKEN: '1:canary', OTHER_TOKEN: '2:canary' });
  const file = join(at.dir, 'config.json');
  const named = async (settings: object) => {
    const gateway = { channels: [{ type: 'telegram', settings }] };
    await writeFile(file, JSON.stringify({ version: 1, gateway }));
    return (await at.run('install', '--dry-run', '--config', file)).stderr;
  };
  expect(await named({})).toMatch(/has in TELEGRAM_BOT_TOKEN →/);
  expect(await named({ token_env: 'OTHER_TOKEN' })).toMatch(/has in OTHER_TOKEN →/);
});
