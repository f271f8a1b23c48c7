/** Sending and downloading, against the test server. */

import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readFile, writeFile } from 'node:fs/promises';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { inspect, promisify } from 'node:util';
import { afterEach, expect, test } from 'vitest';
import type { Channel, ChannelDeps, SendResult } from '../../src/core/channel.ts';
import type { OutboundFile, OutboundPart } from '../../src/core/message.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { startTelegramServer, type TelegramServer } from '../../src/simulator/telegram/server.ts';
import { sha256 } from '../../src/simulator/telegram/wire.ts';
import { channelDeps } from '../../src/testing/channel-deps.ts';
import { TestHost } from '../../src/testing/channel-host.ts';
import { MemoryLogger, outbound, tempDir, until } from '../../src/testing/fakes.ts';
import { channel as descriptor } from './index.ts';

const open: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close();
});

interface Scene {
  readonly platform: TelegramServer;
  readonly channel: Channel;
  readonly host: TestHost;
  readonly logger: MemoryLogger;
}

async function scene(settings: object = {}, token?: string, deps: Partial<ChannelDeps> = {}): Promise<Scene> {
  const platform = await startTelegramServer(token === undefined ? {} : { token });
  open.push(() => platform.close());
  const logger = new MemoryLogger();
  const channel = await descriptor.create(descriptor.settings.parse({ api_root: `${platform.url}/`, ...settings }), {
    ...channelDeps(),
    name: 'telegram',
    secret: () => platform.token,
    clock: systemClock,
    logger,
    random: () => 0.5,
    ...deps,
  });
  open.push(() => channel.stop());
  const host = new TestHost();
  await channel.start(host, new AbortController().signal);
  return { platform, channel, host, logger };
}

function send(channel: Channel, part: Partial<OutboundPart>, plain = false): Promise<SendResult> {
  const signal = new AbortController().signal;
  return channel.send(outbound({ channel: 'telegram', account: channel.account, chatId: '1000', ...part }), { plain, signal });
}

test('settings have defaults, refuse unknown keys, and every key is described', () => {
  expect(descriptor.settings.parse({})).toMatchObject({ token_env: 'TELEGRAM_BOT_TOKEN', rate_limits: true });
  expect(() => descriptor.settings.parse({ tokn_env: 'X' })).toThrow();
  expect(() => descriptor.settings.parse({ api_root: 'ftp://x' })).toThrow();
});

test('loading the descriptor does not load the SDK', async () => {
  const script = `await import(${JSON.stringify(join(import.meta.dirname, 'index.ts'))});
    const { default: { _cache } } = await import('node:module');
    console.log(Object.keys(_cache).filter((file) => file.includes('grammy')).length);`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script]);
  expect(stdout.trim()).toBe('0');
});

test('a secret that is no bot token is refused at once, without showing it', async () => {
  const deps = {
    ...channelDeps(),
    name: 't',
    secret: () => 'hunter2',
    clock: systemClock,
    logger: new MemoryLogger(),
    random: Math.random,
  };
  const failed = descriptor.create(descriptor.settings.parse({}), deps);
  await expect(failed).rejects.toMatchObject({ code: 'GH1101' });
  await expect(failed).rejects.not.toThrow(/hunter2/);
});

test('the account is the bot id, and the rate limits can be turned off', async () => {
  const { channel } = await scene();
  expect(channel).toMatchObject({ account: '700001', inboundClass: 'B', sendClass: 'blind' });
  expect(channel.limits.rate?.perChat?.perSecond).toBe(1);
  expect((await scene({ rate_limits: false })).channel.limits.rate).toBeUndefined();
});

test('F36 HTML the platform refuses is reported as markup, and the plain second try arrives', async () => {
  const { platform, channel } = await scene();
  const description = "Bad Request: can't parse entities: Unsupported start tag";
  platform.fault({ method: 'sendMessage', kind: 'error', status: 400, description });
  expect(await send(channel, { text: '**x**' })).toMatchObject({ kind: 'refused', reason: 'markup' });
  expect(await send(channel, { text: '**x**' }, true)).toMatchObject({ kind: 'sent' });
  expect(platform.sends.map((sent) => sent.text)).toEqual(['**x**']);
});

test('an empty fence arrives as it was written, and takes the place of a draft', async () => {
  const { platform, channel } = await scene();
  const fence = '```\n```';
  expect(await send(channel, { text: fence })).toMatchObject({ kind: 'sent' });
  const draft = await send(channel, { text: 'thinking' });
  if (draft.kind !== 'sent') throw new Error('not sent');
  const part = outbound({ channel: 'telegram', account: channel.account, chatId: '1000', text: fence });
  const { signal } = new AbortController();
  expect(await channel.edit?.(draft.platformId, part, { plain: false, signal })).toMatchObject({ kind: 'sent' });
  expect(platform.sends.map(({ text }) => text)).toEqual([fence, fence]);
});

test('more links than the platform takes are refused as markup, and the plain second try arrives', async () => {
  const { platform, channel } = await scene();
  const text = '[x](https://example.org/y) '.repeat(120);
  platform.fault({ method: 'sendMessage', kind: 'error', status: 400, description: 'Bad Request: ENTITIES_TOO_LONG' });
  expect(await send(channel, { text })).toMatchObject({ kind: 'refused', reason: 'markup' });
  expect(await send(channel, { text }, true)).toMatchObject({ kind: 'sent' });
});

test('F36 a text beyond the limit is too long', async () => {
  const { channel } = await scene();
  expect(await send(channel, { text: 'x'.repeat(4_097) })).toMatchObject({ kind: 'refused', reason: 'too-long' });
});

test('F37 a platform that accepts and hangs leaves the outcome unknown after the time limit', async () => {
  const { platform, channel } = await scene({ send_timeout_secs: 1 });
  platform.fault({ method: 'sendMessage', kind: 'hang' });
  expect(await send(channel, { text: 'maybe' })).toMatchObject({ kind: 'unknown' });
  expect(platform.sends).toHaveLength(1);
});

test('F37 a connection that breaks after the request left is unknown, one that never stood is retried', async () => {
  const { platform, channel } = await scene();
  platform.fault({ method: 'sendMessage', kind: 'cut' });
  expect(await send(channel, { text: 'cut' })).toMatchObject({ kind: 'unknown' });
  // TLS to a port that speaks none: the handshake fails, so nothing was sent.
  const settings = descriptor.settings.parse({ api_root: platform.url.replace('http:', 'https:') });
  const secure = await descriptor.create(settings, {
    ...channelDeps(),
    name: 'telegram',
    secret: () => platform.token,
    clock: systemClock,
    logger: new MemoryLogger(),
    random: () => 0.5,
  });
  open.push(() => secure.stop());
  expect(await send(secure, { text: 'tls' })).toMatchObject({ kind: 'retry', scope: 'account' });
  await platform.close();
  expect(await send(channel, { text: 'refused' })).toMatchObject({
    kind: 'retry',
    reason: 'not connected: ECONNREFUSED',
    scope: 'account',
  });
});

/** A channel before a platform that deals with each connection itself. */
async function before(answer: RequestListener, settings: object = {}): Promise<Channel> {
  const server = createServer(answer).listen(0, '127.0.0.1');
  await once(server, 'listening');
  open.push(async () => {
    server.close();
    server.closeAllConnections();
  });
  const api_root = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const deps = { ...channelDeps(), name: 'telegram', secret: () => '1:token' };
  const channel = await descriptor.create(descriptor.settings.parse({ api_root, ...settings }), deps);
  open.push(() => channel.stop());
  return channel;
}

async function upload(bytes: number): Promise<OutboundFile> {
  const dir = await tempDir();
  open.push(async () => dir[Symbol.asyncDispose]());
  const path = join(dir.path, 'copy');
  await writeFile(path, Buffer.alloc(bytes));
  return { path, name: 'large.bin', mime: 'application/octet-stream', kind: 'document', bytes };
}

test.each<[string, RequestListener]>([
  ['the connection broke', (request) => void request.once('data', () => request.destroy())],
  ['its time was over', (request) => void request.once('data', () => request.pause())],
  ['it was answered by a proxy', (_request, response) => void response.writeHead(502).end('<html>')],
])('a file of which not all had left when %s was not taken', async (_what, answer) => {
  const channel = await before(answer, { upload_timeout_secs: 1 });
  expect(await send(channel, { text: '', file: await upload(30_000_000) })).toMatchObject({ kind: 'retry', scope: 'part' });
});

test('a file that cannot be read has not left', async () => {
  const channel = await before((request) => void request.resume());
  const file = { ...(await upload(1)), path: '/proc/self/mem' };
  expect(await send(channel, { text: '', file })).toMatchObject({ kind: 'retry', scope: 'part' });
});

test.each<[string, RequestListener]>([
  ['the connection broke', (request) => void request.once('end', () => request.socket.destroy()).resume()],
  ['its time was over', (request) => void request.resume()],
  ['it was answered by a proxy', (request, response) => void request.once('end', () => response.end('<html>')).resume()],
])('F37 a file of which all had left when %s is unknown', async (_what, answer) => {
  const channel = await before(answer, { upload_timeout_secs: 1 });
  expect(await send(channel, { text: '', file: await upload(1_000_000) })).toMatchObject({ kind: 'unknown' });
});

test('F35 a limited chat does not hold up another', async () => {
  const { platform, channel } = await scene();
  platform.fault({ chatId: '1000', kind: 'error', status: 429, description: 'Too Many', parameters: { retry_after: 30 } });
  const [limited, free] = await Promise.all([send(channel, { text: 'a' }), send(channel, { text: 'b', chatId: '2000' })]);
  expect(limited).toMatchObject({ kind: 'retry', scope: 'chat', afterMs: 30_000 });
  expect(free).toMatchObject({ kind: 'sent' });
});

test('a group that became a supergroup is written to under its new id, also by typing', async () => {
  const { platform, channel, host } = await scene();
  platform.fault({
    method: 'sendMessage',
    chatId: '-4001',
    kind: 'error',
    status: 400,
    description: 'Bad Request: group chat was upgraded to a supergroup chat',
    parameters: { migrate_to_chat_id: -1005 },
  });
  expect(await send(channel, { text: 'hi', chatId: '-4001' })).toMatchObject({ kind: 'retry', scope: 'part' });
  expect(await send(channel, { text: 'hi', chatId: '-4001' })).toMatchObject({ kind: 'sent', platformId: '-1005:1' });
  await channel.typing?.({ chatId: '-4001' }, new AbortController().signal);
  expect(platform.lastCall.get('sendChatAction')).toMatchObject({ chat_id: '-1005', action: 'typing' });
  const detail = 'group -4001 became -1005: put the new id in place of the old one into allowed_groups and gateway.owner';
  expect(host.states.at(-1)).toEqual({ state: 'degraded', detail });
});

test('typing names every topic, the General one too', async () => {
  const { platform, channel } = await scene();
  await channel.typing?.({ chatId: '-1001', threadId: '1' }, new AbortController().signal);
  expect(platform.lastCall.get('sendChatAction')).toMatchObject({ chat_id: '-1001', message_thread_id: 1 });
});

test('files arrive whole, under their name, with a caption, as what they are', async () => {
  const { platform, channel } = await scene();
  await using dir = await tempDir();
  const bytes = Buffer.alloc(300_000, 'gatehouse');
  const path = join(dir.path, 'private-copy');
  await writeFile(path, bytes);
  const file = (override: Partial<OutboundFile>): OutboundFile => ({
    path,
    name: 'größe; x.pdf',
    mime: 'application/pdf',
    kind: 'document',
    bytes: bytes.length,
    ...override,
  });
  expect(await send(channel, { text: '**see**', file: file({}) })).toMatchObject({ kind: 'sent' });
  expect(await send(channel, { text: '', file: file({ kind: 'voice', mime: 'audio/ogg', name: 'v.ogg' }) })).toMatchObject({
    kind: 'sent',
  });
  expect(await send(channel, { text: '', file: file({ kind: 'photo', mime: 'image/png', name: 'p.png' }) })).toMatchObject({
    kind: 'sent',
  });
  expect(platform.sends.map(({ method, text }) => [method, text])).toEqual([
    ['sendDocument', 'see'],
    ['sendVoice', ''],
    ['sendPhoto', ''],
  ]);
  expect(platform.sends[0]?.file).toEqual({ name: 'größe_ x.pdf', bytes: bytes.length, sha256: sha256(bytes) });
});

test.each([
  ['photo', 'image/png', 'sendPhoto', 'Bad Request: PHOTO_INVALID_DIMENSIONS'],
  ['voice', 'audio/ogg', 'sendVoice', 'Bad Request: VOICE_MESSAGES_FORBIDDEN'],
] as const)('a %s that the platform takes in no such shape goes out as a document', async (kind, mime, method, description) => {
  const { platform, channel } = await scene();
  platform.fault({ method, kind: 'error', status: 400, description });
  await using dir = await tempDir();
  const path = join(dir.path, 'file');
  await writeFile(path, 'bytes');
  const file: OutboundFile = { path, name: 'file', mime, kind, bytes: 5 };
  expect(await send(channel, { text: 'see', file })).toMatchObject({ kind: 'sent' });
  expect(platform.sends.map((sent) => [sent.method, sent.text])).toEqual([['sendDocument', 'see']]);
});

test('a file that is gone is refused before anything is sent', async () => {
  const { platform, channel } = await scene();
  const file: OutboundFile = { path: '/nonexistent/x', name: 'x', mime: 'text/plain', kind: 'document', bytes: 1 };
  expect(await send(channel, { text: '', file })).toMatchObject({ kind: 'refused', reason: 'invalid' });
  expect(platform.calls).not.toContain('sendDocument');
});

test('stop waits for a send under way, so that its outcome is known', async () => {
  const { platform, channel } = await scene();
  platform.fault({ method: 'sendMessage', kind: 'delay', delayMs: 200 });
  const sending = send(channel, { text: 'last words' });
  await until('the send left', () => platform.calls.includes('sendMessage'));
  await channel.stop();
  expect(await sending).toMatchObject({ kind: 'sent' });
  expect(await send(channel, { text: 'too late' })).toMatchObject({ kind: 'retry' });
});

test('F39 a file the platform calls too big is GH1504', async () => {
  const { platform, channel } = await scene();
  platform.addFile('huge', Buffer.from('x'), 30 * 1024 * 1024);
  const signal = new AbortController().signal;
  await expect(channel.download?.({ kind: 'video', ref: 'huge' }, signal)).rejects.toMatchObject({ code: 'GH1504' });
  const stated = { kind: 'video', ref: 'any', size: 30 * 1024 * 1024 } as const;
  await expect(channel.download?.(stated, signal)).rejects.toMatchObject({ code: 'GH1504' });
});

test('F39 a file that is gone, breaks off, or comes too slowly fails alone with GH1505', async () => {
  const { platform, channel } = await scene({ download_timeout_secs: 1 });
  platform.addFile('f', Buffer.from('bytes'));
  const read = async (ref: string): Promise<string> => {
    const file = await channel.download?.({ kind: 'document', ref }, new AbortController().signal);
    const chunks: Uint8Array[] = [];
    for await (const chunk of file?.bytes ?? []) chunks.push(chunk);
    return Buffer.concat(chunks).toString();
  };
  await expect(read('gone')).rejects.toMatchObject({ code: 'GH1505' });
  for (const kind of ['drop', 'cut', 'hang'] as const) {
    platform.fault({ method: 'getFile', kind });
    await expect(read('f')).rejects.toMatchObject({ code: 'GH1505' });
  }
  expect(await read('f')).toBe('bytes');
});

test('an aborted download ends with the reason of its signal', async () => {
  const { platform, channel } = await scene();
  platform.fault({ method: 'getFile', kind: 'hang' });
  platform.addFile('f', Buffer.from('x'));
  const abort = new AbortController();
  const reading = channel.download?.({ kind: 'video', ref: 'f' }, abort.signal);
  const reason = new Error('enough');
  setTimeout(() => abort.abort(reason), 30);
  await expect(reading).rejects.toBe(reason);
});

test('A29 A48 the token appears in no log line, health report, result or error, however a call fails', async () => {
  const token = '700001:CANARY-d41d8cd98f00b204e9800998ecf84';
  const { platform, channel, host, logger } = await scene({ send_timeout_secs: 1 }, token);
  const seen: unknown[] = [logger.lines, host.states];
  const signal = new AbortController().signal;
  const fetchFile = async (ref: string): Promise<void> => {
    try {
      const file = await channel.download?.({ kind: 'document', ref }, signal);
      for await (const _ of file?.bytes ?? []);
    } catch (error) {
      seen.push(error);
    }
  };
  for (const kind of ['drop', 'hang', 'cut'] as const) {
    platform.fault({ method: 'sendMessage', kind });
    seen.push(await send(channel, { text: kind }));
  }
  for (const status of [400, 401, 403, 404, 409, 429, 500]) {
    platform.fault({ method: 'sendMessage', kind: 'error', status, description: `error ${status}` });
    seen.push(await send(channel, { text: String(status) }));
  }
  await fetchFile('missing');
  platform.fault({ method: 'getFile', kind: 'cut' });
  await fetchFile('missing');
  platform.inject({ text: 'poke the poll' });
  platform.fault({ method: 'getUpdates', kind: 'cut', times: 2 });
  await until('the poll failed', () => host.states.some(({ detail }) => detail?.includes('GH1502')));
  await platform.close();
  seen.push(await send(channel, { text: 'nobody listens' }));
  await fetchFile('missing');
  await expect(channel.typing?.({ chatId: '1' }, signal)).rejects.toSatisfy((error) => Boolean(seen.push(error)));
  expect(seen.length).toBeGreaterThan(15);
  const everything = inspect(seen, { depth: 20, showHidden: true });
  expect(everything).not.toContain('CANARY');
  expect(everything).not.toContain(encodeURIComponent(token));
});

const COMMANDS = [
  { name: 'new', args: '[--keep N]', summary: 'start afresh' },
  { name: 'stop', summary: 'stop the answer' },
];
const SHOWN = [
  { command: 'new', description: 'start afresh' },
  { command: 'stop', description: 'stop the answer' },
];

test('the commands stand in the menu of Telegram, and are put there once', async () => {
  const { platform } = await scene({}, undefined, { commands: COMMANDS });
  await until('they are shown', () => platform.menu.shown.length > 0);
  expect(platform.menu.shown).toEqual(SHOWN);
});

test('a menu of an earlier version is brought up to date, also where a command is gone; one with an entry of a person is not', async () => {
  const [platform, dir] = [await startTelegramServer({}), await tempDir()];
  open.push(
    () => platform.close(),
    async () => await dir[Symbol.asyncDispose](),
  );
  const path = join(dir.path, 'telegram', 'menu.json');
  const written = async () => (existsSync(path) ? await readFile(path, 'utf8') : '');
  const show = async (commands: ChannelDeps['commands'], isDone: () => Promise<boolean>) => {
    platform.lastCall.clear();
    const deps = {
      ...channelDeps({ name: 'telegram', secret: () => platform.token, dir: join(dir.path, 'telegram') }),
      commands,
    };
    const channel = await descriptor.create(descriptor.settings.parse({ api_root: platform.url }), deps);
    await channel.start(new TestHost(), new AbortController().signal);
    await until('it was looked at', () => platform.lastCall.has('getMyCommands'));
    await until('it is done', isDone);
    await channel.stop();
    return platform.menu.shown;
  };
  const old = [...COMMANDS, { name: 'gone', summary: 'of an earlier version' }];
  expect(await show(old, async () => (await written()).includes('gone'))).toHaveLength(3);
  expect(await show(COMMANDS, async () => !(await written()).includes('gone'))).toEqual(SHOWN);
  for (const entry of [
    { command: 'menu', description: 'what we cook today' },
    { command: 'gone', description: 'words of a person' },
  ]) {
    const own = [...SHOWN, entry];
    platform.menu.shown = own;
    const while100 = async () => await new Promise<boolean>((resolve) => setTimeout(resolve, 100, true));
    expect(await show([{ name: 'new', summary: 'changed' }], while100)).toBe(own);
  }
});

test('a menu that a person made at @BotFather stays as it is, and one that is switched off is not looked at', async () => {
  const platform = await startTelegramServer({});
  open.push(() => platform.close());
  const own = [{ command: 'menu', description: 'what we cook today' }];
  platform.menu.shown = own;
  const start = async (settings: object) => {
    const deps = { ...channelDeps({ name: 'telegram', secret: () => platform.token }), commands: COMMANDS };
    const channel = await descriptor.create(descriptor.settings.parse({ api_root: platform.url, ...settings }), deps);
    open.push(() => channel.stop());
    await channel.start(new TestHost(), new AbortController().signal);
  };
  const looks = () => platform.lastCall.has('getMyCommands');
  await start({ command_menu: false });
  expect(looks()).toBe(false);
  await start({});
  await until('it was looked at', looks);
  expect(platform.menu.shown).toBe(own);
  expect(platform.lastCall.has('setMyCommands')).toBe(false);
});
