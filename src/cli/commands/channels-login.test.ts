import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { CHANNELS } from '../../../channels/registry.ts';
import { loginChannel, logoutChannel } from '../../app/login-channel.ts';
import { GatehouseError } from '../../core/errors.ts';
import { startWhatsAppPlatform } from '../../simulator/whatsapp/server.ts';
import { filesHolding } from '../../testing/bytes-on-disk.ts';
import { cliJson } from '../../testing/cli-json.ts';
import { ENTRA_CLIENT } from '../../testing/email/entra-forms.ts';
import { EntraServer } from '../../testing/email/entra-server.ts';
import { FakeCli } from '../../testing/fake-cli.ts';
import { tempDir } from '../../testing/fakes.ts';
import { filesOfRoot, isNotRoot, otherUsersDirectory } from '../../testing/files-of-root.ts';

const OUTLOOK_IMAP = 'https://outlook.office.com/IMAP.AccessAsUser.All';

async function cliWith(dir: string, channel: object): Promise<FakeCli> {
  const cli = new FakeCli(dir);
  await cli.write('.gatehouse/config.json', JSON.stringify({ version: 1, gateway: { channels: [channel] } }));
  cli.login = (options) => loginChannel({ ...options, registry: CHANNELS });
  cli.logout = (options) => logoutChannel({ ...options, registry: CHANNELS });
  return cli;
}

test('the real program links an account that scans what it prints, for the user of the data directory', async () => {
  await using dir = await tempDir();
  if (!isNotRoot) await otherUsersDirectory(join(dir.path, 'data'));
  await using platform = await startWhatsAppPlatform();
  const settings = { web_socket_url: platform.url };
  const config = join(dir.path, 'config.json');
  await writeFile(
    config,
    JSON.stringify({ version: 1, gateway: { channels: [{ type: 'whatsapp', name: 'family', settings }] } }),
  );
  const args = ['channels', 'login', 'family', '--config', config, '--data-dir', join(dir.path, 'data')];
  const child = spawn(process.execPath, [join(import.meta.dirname, '../main.ts'), ...args], {
    env: { PATH: process.env['PATH'], HOME: dir.path },
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let said = '';
  child.stderr.on('data', (chunk: Buffer) => {
    said += String(chunk);
    // Without a terminal the code comes as text, for another program to draw.
    const content = /QR code: (\S+)\n/.exec(said)?.[1];
    if (content === undefined || said.includes('scanned')) return;
    said += 'scanned\n';
    platform.linking.scan(content);
  });
  const [code] = (await once(child, 'close')) as [number];
  expect([code, said]).toEqual([0, expect.stringContaining('Linked as +15550000000.')]);
  expect(await readdir(join(dir.path, 'data', 'channels', 'family'))).toContain('login.db');
  if (!isNotRoot) expect(await filesOfRoot(join(dir.path, 'data'))).toEqual([]);
});

test('on a terminal the code is drawn in colours of its own, and again in its place', async () => {
  await using dir = await tempDir();
  const cli = await cliWith(dir.path, { type: 'telegram' });
  cli.answers = [];
  cli.login = async ({ ui }) => {
    ui.qr('first');
    ui.qr('second');
    ui.say('done');
    ui.qr('third');
  };
  const { stderr } = await cli.run('channels', 'login', 'telegram');
  // 21 modules and a margin of two make 13 lines, and one of advice.
  expect(stderr.split('\u001b[14A\u001b[J')).toHaveLength(2);
  expect(stderr).toContain('Linked devices');
  expect(stderr).not.toContain('first');
});

test('the real program logs in to a mailbox in a browser, and out of it', async () => {
  await using dir = await tempDir();
  await using entra = await EntraServer.start();
  const oauth = { issuer: entra.issuer, client_id: ENTRA_CLIENT, scopes: ['offline_access', OUTLOOK_IMAP], login: 'browser' };
  const servers = { imap_host: '127.0.0.1', imap_port: 1, smtp_host: '127.0.0.1', smtp_port: 1, trust_from: true };
  const settings = { ...servers, from_address: 'bot@example.test', oauth };
  const config = join(dir.path, 'config.json');
  await writeFile(config, JSON.stringify({ version: 1, gateway: { channels: [{ type: 'email', settings }] } }));
  const run = async (action: string) => {
    const args = ['channels', action, 'email', '--config', config, '--data-dir', join(dir.path, 'data')];
    const child = spawn(process.execPath, [join(import.meta.dirname, '../main.ts'), ...args], {
      env: { PATH: process.env['PATH'], HOME: dir.path },
      stdio: ['ignore', 'ignore', 'pipe'],
    });
    let said = '';
    let address: string | undefined;
    child.stderr.on('data', (chunk: Buffer) => {
      said += String(chunk);
      if (address !== undefined) return;
      address = /(http:\S+)\n/.exec(said)?.[1];
      if (address !== undefined) void entra.browse(address, 'bot@example.test');
    });
    const [code] = (await once(child, 'close')) as [number];
    return { code, said };
  };
  const login = await run('login');
  expect(login).toEqual({ code: 0, said: expect.stringContaining('The login is stored.') });
  const [, access = '', refresh = ''] = entra.tokens.secrets;
  expect(entra.tokens.secrets.filter((secret) => login.said.includes(secret))).toEqual([]);
  const file = join(dir.path, 'data', 'channels', 'email', 'auth.json');
  expect(await filesHolding(dir.path, [refresh])).toEqual([`${file}: ${refresh}`]);
  expect(await run('logout')).toEqual({ code: 0, said: expect.stringContaining('the login was removed') });
  expect(await filesHolding(dir.path, [access, refresh])).toEqual([]);
});

test('what cannot be linked is told with what to do', async () => {
  await using dir = await tempDir();
  const cli = await cliWith(dir.path, { type: 'telegram' });
  const other = await cli.run('channels', 'login', 'telegram');
  expect([other.code, other.stderr]).toEqual([2, expect.stringMatching(/GH1001.*telegram/)]);
  const unknown = await cli.run('channels', 'login', 'wa');
  expect([unknown.code, unknown.stderr]).toEqual([1, expect.stringMatching(/GH1003.*\n.*it has: telegram/)]);
  cli.login = async () => {
    throw new GatehouseError('GH1501', 'no phone linked itself in time', { hint: 'run it again' });
  };
  const late = await cli.run('channels', 'login', 'telegram');
  expect([late.code, late.stderr]).toEqual([1, expect.stringContaining('GH1501 no phone linked itself in time')]);
});

test('a stored login is forgotten, with all of it, and what is left to do is told', async () => {
  await using dir = await tempDir();
  await using platform = await startWhatsAppPlatform();
  await writeFile(
    join(dir.path, 'config.json'),
    JSON.stringify({ version: 1, gateway: { channels: [{ type: 'whatsapp', name: 'family' }] } }),
  );
  const stored = join(dir.path, 'data', 'channels', 'family');
  await platform.link(stored);
  await writeFile(join(stored, 'login.db-wal'), 'a log that a crash left');
  expect(await cliJson(dir.path, ['channels', 'logout', 'family'])).toMatchObject({
    channel: 'family',
    removed: true,
    todo: expect.stringContaining('Linked devices'),
  });
  expect((await readdir(stored)).filter((file) => file.startsWith('login.db'))).toEqual([]);
  expect(await cliJson(dir.path, ['channels', 'logout', 'family'])).toMatchObject({
    channel: 'family',
    removed: false,
    todo: null,
  });
});

test('a login that is a key in the environment cannot be forgotten here', async () => {
  await using dir = await tempDir();
  const cli = await cliWith(dir.path, { type: 'telegram' });
  const { code, stderr } = await cli.run('channels', 'logout', 'telegram');
  expect([code, stderr]).toEqual([2, expect.stringMatching(/GH1001.*telegram/)]);
});

test('a login is made and forgotten with the variables that were stored', async () => {
  await using dir = await tempDir();
  const cli = await cliWith(dir.path, { type: 'telegram' });
  const seen: unknown[] = [];
  cli.login = async ({ env }) => void seen.push(env['OWN_CLIENT_ID']);
  cli.logout = async ({ env }) => void seen.push(env['OWN_CLIENT_ID']);
  cli.input = 'stored';
  await cli.run('auth', 'set-key', 'OWN_CLIENT_ID');
  await cli.run('channels', 'login', 'telegram');
  await cli.run('channels', 'logout', 'telegram');
  expect(seen).toEqual(['stored', 'stored']);
});
