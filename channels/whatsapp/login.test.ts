/** Linking, against our own server: it signs what a phone would sign. */
import { readdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { LoginUi } from '../../src/core/channel.ts';
import { startWhatsAppPlatform } from '../../src/simulator/whatsapp/server.ts';
import { channelDeps } from '../../src/testing/channel-deps.ts';
import { TestHost } from '../../src/testing/channel-host.ts';
import { tempDir, until } from '../../src/testing/fakes.ts';
import { whatsAppScene } from '../../src/testing/whatsapp/scene.ts';
import { channel as descriptor } from './index.ts';
import { LoginStore } from './wire/store.ts';

async function scene(settings: object = {}) {
  const platform = await startWhatsAppPlatform();
  const temporary = await tempDir();
  const dir = join(temporary.path, 'channels', 'wa');
  const deps = channelDeps({ name: 'wa', dir });
  const parsed = descriptor.settings.parse({ web_socket_url: platform.url, ...settings });
  const said: string[] = [];
  const codes: string[] = [];
  const ui: LoginUi = { say: (text) => said.push(text), qr: (content) => codes.push(content) };
  return {
    ...{ platform, dir, deps, parsed, said, codes },
    link: (signal = new AbortController().signal) => descriptor.login?.(parsed, deps, ui, signal),
    async [Symbol.asyncDispose]() {
      await platform[Symbol.asyncDispose]();
      await temporary[Symbol.asyncDispose]();
    },
  };
}

test('an account is linked by a scanned code, and then receives, also what came in between', async () => {
  await using at = await scene();
  const linking = at.link();
  await until('a code is shown', () => at.codes.length > 0);
  expect(at.codes[0]).toMatch(/^https:\/\/wa\.me\/settings\/linked_devices#ref-0,/);
  at.platform.linking.scan(at.codes[0] ?? '');
  await linking;
  expect(at.said).toEqual(['Linked as +15550000000.']);
  expect((await readdir(at.dir)).filter((name) => name.includes('new'))).toEqual([]);
  await at.platform.write({ from: at.platform.person('15551110000'), message: { conversation: 'in between' } });
  const channel = await descriptor.create(at.parsed, at.deps);
  expect(channel.account).toBe('15550000000');
  const host = new TestHost();
  await channel.start(host, new AbortController().signal);
  expect(await until('it came', () => host.accepted[0])).toMatchObject({ text: 'in between' });
  await channel.stop();
});

test('an account is linked by a code that is typed on the phone', async () => {
  await using at = await scene({ pairing_phone: '+15550000000' });
  const linking = at.link();
  const line = await until('a code is shown', () => at.said[0]);
  expect(at.codes).toEqual([]);
  await until('the platform knows', () => at.platform.linking.codeAsked);
  await at.platform.linking.typeCode(/Code: (\S+)/.exec(line)?.[1] ?? '');
  await linking;
  expect(at.said.at(-1)).toBe('Linked as +15550000000.');
});

test('a login that is given up leaves the one before in use, and nothing of its own', async () => {
  await using at = await scene();
  await at.platform.link(at.dir);
  const before = await readdir(at.dir);
  const abort = new AbortController();
  const linking = at.link(abort.signal);
  await until('a code is shown', () => at.codes.length > 0);
  abort.abort(new Error('Ctrl-C'));
  await expect(linking).rejects.toThrow('Ctrl-C');
  expect((await readdir(at.dir)).filter((name) => !name.startsWith('login.lock'))).toEqual(before);
  expect((await descriptor.create(at.parsed, at.deps)).account).toBe('15550000000');
  await until('the connection is closed', () => at.platform.connections === 0);
});

test('what a crash left of an earlier attempt does not get into the way', async () => {
  await using at = await scene();
  await at.platform.link(at.dir);
  await writeFile(join(at.dir, 'login-new.db'), 'half a file');
  await writeFile(join(at.dir, 'login-new.db-wal'), 'half a log');
  const linking = at.link();
  await until('a code is shown', () => at.codes.length > 0);
  at.platform.linking.scan(at.codes[0] ?? '');
  await linking;
  expect(at.said).toEqual(['Linked as +15550000000.']);
});

test.each([
  ['15550000000', '91'],
  // Another account is another bot.
  ['15559990000', undefined],
])('A3 who has which number is kept when the account %s is linked again', async (phone, kept) => {
  await using at = await scene();
  await at.platform.link(at.dir);
  const path = join(at.dir, 'login.db');
  {
    using before = await LoginStore.open(path, { create: false, now: 0 });
    before?.pin('15551110000', '91');
    before?.write({ creds: { creds: { me: { id: `${phone}:7@s.whatsapp.net` } } } }, 0);
  }
  const linking = at.link();
  await until('a code is shown', () => at.codes.length > 0);
  at.platform.linking.scan(at.codes[0] ?? '');
  await linking;
  using after = await LoginStore.open(path, { create: false, now: 0 });
  expect(after?.lidOf('15551110000')).toBe(kept);
});

test('F42 an account that the daemon uses is not linked anew under it', async () => {
  await using at = await whatsAppScene();
  const settings = descriptor.settings.parse({ web_socket_url: at.platform.url });
  const linking = descriptor.login?.(settings, at.deps, { say: () => undefined, qr: () => undefined }, at.signal);
  await expect(linking).rejects.toMatchObject({ code: 'GH1503', hint: expect.stringContaining('stop the daemon') });
  const leaving = descriptor.logout?.(settings, at.deps, at.signal);
  await expect(leaving).rejects.toMatchObject({ code: 'GH1503', hint: expect.stringContaining('stop the daemon') });
});

test('a platform that cannot be reached is GH1502', async () => {
  await using at = await scene({ web_socket_url: 'ws://127.0.0.1:9/ws' });
  await expect(at.link()).rejects.toMatchObject({ code: 'GH1502' });
});
