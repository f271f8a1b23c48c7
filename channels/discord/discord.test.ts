/** Faults and attacks, against the emulator with our proxy in front. */
import { execFile } from 'node:child_process';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { inspect, promisify } from 'node:util';
import { afterEach, expect, test } from 'vitest';
import { checkValue } from '../../config/check-value.ts';
import type { Channel, SendResult } from '../../src/core/channel.ts';
import type { OutboundPart } from '../../src/core/message.ts';
import type { Clock } from '../../src/core/ports.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { backoffClock, type DiscordProxy, startDiscordProxy } from '../../src/simulator/discord/proxy.ts';
import { channelDeps } from '../../src/testing/channel-deps.ts';
import { TestHost } from '../../src/testing/channel-host.ts';
import { gate, MemoryLogger, outbound, until } from '../../src/testing/fakes.ts';
import { SteadyClock } from '../../src/testing/steady-clock.ts';
import { channel as descriptor } from './index.ts';
import { idAt } from './wire/ids.ts';

const ADA = '201000000000000001';
const DM = '301000000000000001';
const MESSAGES = /^POST \/channels\/\d+\/messages$/;

const open: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close();
});

interface Scene {
  readonly proxy: DiscordProxy;
  readonly channel: Channel;
  readonly host: TestHost;
  readonly logger: MemoryLogger;
  /** A new adapter on what the journal holds, as after a restart of the daemon. */
  readonly again: () => Promise<Channel>;
  readonly write: (text: string, chat?: string) => Promise<string>;
}

interface SceneOptions {
  readonly settings?: object;
  readonly token?: string;
  readonly prepare?: (proxy: DiscordProxy) => void;
  readonly clock?: Clock;
}

async function scene({ settings = {}, token, prepare, clock = backoffClock() }: SceneOptions = {}): Promise<Scene> {
  const proxy = await startDiscordProxy();
  open.push(() => proxy.close());
  prepare?.(proxy);
  const logger = new MemoryLogger();
  const host = new TestHost();
  const again = async (): Promise<Channel> => {
    const parsed = descriptor.settings.parse({
      api_root: `${proxy.url}/`,
      cdn_origins: [proxy.origin],
      slash_commands: false,
      ...settings,
    });
    const secret = () => token ?? proxy.peer.token;
    const deps = channelDeps({ name: 'discord', secret, clock, logger, random: () => 0.5 });
    const channel = await descriptor.create(parsed, deps);
    open.push(() => channel.stop());
    await channel.start(host, new AbortController().signal);
    return channel;
  };
  const write = (content: string, channelId = DM) => proxy.write({ channelId, senderId: ADA, senderName: 'Ada', content });
  return { proxy, channel: await again(), host, logger, again, write };
}

function send(channel: Channel, part: Partial<OutboundPart>, plain = false): Promise<SendResult> {
  const signal = new AbortController().signal;
  return channel.send(outbound({ channel: 'discord', account: channel.account, chatId: DM, ...part }), { plain, signal });
}

const texts = (host: TestHost): readonly string[] => host.accepted.map(({ text }) => text);
const arrived = (host: TestHost, text: string) => until(`"${text}" arrived`, () => texts(host).includes(text));

test('settings have defaults and refuse unknown keys and addresses that are none', () => {
  expect(descriptor.settings.parse({})).toMatchObject({
    token_env: 'DISCORD_BOT_TOKEN',
    message_content: true,
    mention_everyone: false,
  });
  expect(() => descriptor.settings.parse({ tokn_env: 'X' })).toThrow();
  expect(() => descriptor.settings.parse({ cdn_origins: ['file:///etc'] })).toThrow();
});

test('loading the descriptor does not load the SDK', async () => {
  const script = `await import(${JSON.stringify(join(import.meta.dirname, 'index.ts'))});
    const { default: { _cache } } = await import('node:module');
    console.log(Object.keys(_cache).filter((file) => file.includes('discord.js')).length);`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script]);
  expect(stdout.trim()).toBe('0');
});

test.each(['hunter2', 'a.b.c', `${Buffer.from('no digits here!!').toString('base64url')}.x.hunter2`])(
  'a secret that is no bot token is refused at once, without showing it',
  async (secret) => {
    const failed = descriptor.create(descriptor.settings.parse({}), channelDeps({ secret: () => secret }));
    await expect(failed).rejects.toMatchObject({ code: 'GH1101' });
    await expect(failed).rejects.not.toThrow(/hunter2/);
  },
);

test('the account is the id in the token, and the classes and limits are those of the platform', async () => {
  const { channel, proxy } = await scene({ settings: { rate_limits: false } });
  expect(channel).toMatchObject({ account: proxy.peer.botId, inboundClass: 'C', sendClass: 'idem', idemWindowMs: 120_000 });
  expect(channel.limits).toMatchObject({ text: 1_900, unit: 'codepoint', uploadBytes: 20 * 1024 * 1024 });
  expect(channel.limits.rate).toBeUndefined();
});

test('without the Message Content intent it works as far as it goes, and says what to do', async () => {
  const { host, proxy, write } = await scene({
    prepare: (platform) => {
      platform.gateway.contentAllowed = false;
    },
  });
  expect(host.state).toBe('degraded');
  expect(host.states.at(-1)?.detail).toMatch(/Message Content intent is not enabled.*Privileged Gateway Intents/);
  expect(proxy.gateway.logins.map(({ intents = 0 }) => (intents >> 15) & 1)).toEqual([1, 0]);
  await write('private chats have their text');
  await arrived(host, 'private chats have their text');
});

test('F34 a token that was reset ends the retries, and tells what to do', async () => {
  const { host, proxy, channel } = await scene();
  proxy.fault({ call: /gateway\/bot/, kind: 'answer', status: 401, body: { message: '401: Unauthorized', code: 0 }, times: 99 });
  proxy.gateway.forgetSessions();
  proxy.gateway.kick(4_004);
  await until('it is down', () => host.state === 'down');
  expect(host.states.at(-1)?.detail).toMatch(/^GH1501: .*Bot page/);
  const logins = proxy.gateway.logins.length;
  await new Promise((resolve) => setTimeout(resolve, 300));
  expect(proxy.gateway.logins).toHaveLength(logins);
  await channel.stop();
  expect(host.state).toBe('stopped');
});

test('a journal that can write again does not make a channel well whose login was refused meanwhile', async () => {
  const { host, proxy, write } = await scene();
  const gate = Promise.withResolvers<never>();
  host.next.push(new Error('disk full'), gate.promise);
  await write('held up');
  await until('it is told', () => host.states.at(-1)?.detail?.includes('disk full'));
  proxy.fault({ call: /gateway\/bot/, kind: 'answer', status: 401, body: { message: '401: Unauthorized', code: 0 }, times: 99 });
  proxy.gateway.kick(4_004);
  await until('nobody is connected', () => proxy.gateway.connections === 0);
  await new Promise((resolve) => setTimeout(resolve, 100));
  gate.reject(new Error('disk full'));
  await arrived(host, 'held up');
  await until('the login is told', () => host.states.at(-1)?.detail?.startsWith('GH1501'));
  expect(host.states.slice(1).filter(({ state }) => state === 'healthy')).toHaveLength(1);
  expect(host.state).toBe('down');
});

test('a login that is refused while missed messages are fetched stays refused when they are', async () => {
  const { host, proxy, channel, again, write } = await scene();
  await write('known');
  await arrived(host, 'known');
  await channel.stop();
  proxy.gateway.forgetSessions();
  await write('missed');
  const history = gate();
  proxy.fault({ call: /^GET \/channels\/\d+\/messages$/, kind: 'hold', until: history.opened });
  proxy.gateway.onReady = () => setTimeout(() => proxy.gateway.kick(4_004), 50);
  const states = host.states.length;
  const started = again();
  await until('the refusal is told', () => host.state === 'down');
  expect(texts(host)).toEqual(['known']);
  history.open();
  await started;
  await arrived(host, 'missed');
  expect(host.states.slice(states).map(({ state }) => state)).toEqual(['starting', 'down']);
});

test('F33 a gateway that drops every connection meets growing waits, one socket at a time and no message twice', async () => {
  const waits: number[] = [];
  const sleep: Clock['sleep'] = (ms, signal) => {
    // Deadlines and the proof of stability are longer than any of the waits looked at here.
    if (ms < 20_000) waits.push(ms);
    return systemClock.sleep(ms < 20_000 ? 5 : ms, signal);
  };
  const { host, proxy, write } = await scene({ clock: { ...systemClock, sleep } });
  await write('before');
  await arrived(host, 'before');
  proxy.gateway.flaps = 4;
  let most = 0;
  proxy.gateway.kick(4_000);
  await until('it has come back four times and once more', () => {
    most = Math.max(most, proxy.gateway.connections);
    return proxy.gateway.logins.length === 6 && host.state === 'healthy';
  });
  expect(waits).toEqual([750, 1_500, 3_000, 6_000, 12_000]);
  // What was given up wakes up half a second later, and must not connect.
  await new Promise((resolve) => setTimeout(resolve, 700));
  expect(most).toBe(1);
  expect(proxy.gateway.logins.map(({ kind }) => kind)).toEqual(['identify', ...Array.from({ length: 5 }, () => 'resume')]);
  expect(host.states.some(({ state, detail }) => state === 'degraded' && detail?.startsWith('GH1502'))).toBe(true);
  await write('after');
  await arrived(host, 'after');
  expect(texts(host)).toEqual(['before', 'after']);
  expect(host.offered.filter(({ text }) => text === 'after')).toHaveLength(1);
});

test('a reconnect the platform asks for is no news, and what was pushed meanwhile is replayed in order', async () => {
  const { host, proxy, write } = await scene();
  await write('one');
  await arrived(host, 'one');
  const states = host.states.length;
  proxy.gateway.askReconnect();
  await until('the connection is gone', () => proxy.gateway.connections === 0);
  await write('two');
  await write('three');
  await arrived(host, 'three');
  expect(texts(host)).toEqual(['one', 'two', 'three']);
  expect(proxy.gateway.logins.map(({ kind }) => kind)).toEqual(['identify', 'resume']);
  expect(host.states.slice(states)).toEqual([]);
});

test('F1 F41 a restart goes on with the session, and with what was edited, deleted and reacted to meanwhile', async () => {
  const { host, proxy, channel, again, write } = await scene();
  const id = await write('frist');
  await arrived(host, 'frist');
  await channel.stop();
  expect(proxy.gateway.closes).toEqual([4_200]);
  proxy.change(id, { content: 'first', edited_timestamp: new Date().toISOString() }, 'MESSAGE_UPDATE');
  proxy.gateway.dispatch('MESSAGE_REACTION_ADD', { user_id: ADA, channel_id: DM, message_id: id, emoji: { name: '👍' } });
  proxy.gateway.dispatch('MESSAGE_DELETE', { id, channel_id: DM });
  await again();
  await until('all arrived', () => host.accepted.length === 4);
  expect(host.accepted.map(({ kind }) => kind)).toEqual(['message', 'edit', 'reaction', 'delete']);
  expect(proxy.gateway.logins.map(({ kind }) => kind)).toEqual(['identify', 'resume']);
});

test('F2 events that come twice have the same key both times', async () => {
  const { host, proxy, write } = await scene();
  const id = await write('once');
  await arrived(host, 'once');
  proxy.gateway.dispatch('MESSAGE_REACTION_ADD', { user_id: ADA, channel_id: DM, message_id: id, emoji: { name: '👍' } });
  await until('the reaction arrived', () => host.accepted.length === 2);
  proxy.gateway.repeatLast(3);
  await write('behind them');
  await arrived(host, 'behind them');
  expect(texts(host)).toEqual(['once', '👍', 'behind them']);
});

test('a history of several pages is read to its end, oldest first', async () => {
  const { host, channel, proxy, again, write } = await scene();
  await write('known');
  await arrived(host, 'known');
  await channel.stop();
  proxy.gateway.forgetSessions();
  const base = Date.now();
  const message = (n: number) => ({
    id: idAt(base + n),
    type: 0,
    channel_id: DM,
    author: { id: ADA, username: 'ada' },
    content: `m${n}`,
  });
  const page = (from: number, count: number) => Array.from({ length: count }, (_, n) => message(from + n)).reverse();
  for (const body of [page(0, 100), page(100, 100), page(200, 7)]) {
    proxy.fault({ call: /^GET \/channels\/\d+\/messages$/, kind: 'answer', status: 200, body });
  }
  await again();
  await until('all arrived', () => host.accepted.length === 208);
  expect(texts(host).slice(1)).toEqual(Array.from({ length: 207 }, (_, n) => `m${n}`));
});

test('a history that is limited or out of order is asked for again, before anything behind it', async () => {
  const { host, channel, proxy, again, write } = await scene();
  await write('known');
  await arrived(host, 'known');
  await channel.stop();
  proxy.gateway.forgetSessions();
  await write('missed');
  const history = /^GET \/channels\/\d+\/messages$/;
  proxy.fault({ call: history, kind: 'answer', status: 503, body: 'no' });
  proxy.fault({ call: history, kind: 'answer', status: 429, headers: { 'retry-after': '1' }, body: { retry_after: 1 } });
  proxy.fault({ call: history, kind: 'drop' });
  await again();
  await write('new');
  await arrived(host, 'new');
  expect(texts(host)).toEqual(['known', 'missed', 'new']);
});

test('a history and a look-up that hang cost time and no message', async () => {
  // The deadline of a call is 20 s; here it is half of one.
  const steady = new SteadyClock();
  const sleep: Clock['sleep'] = (ms, signal) => steady.sleep(ms === 20_000 ? 500 : ms < 20_000 ? 5 : ms, signal);
  const { host, channel, proxy, again, write } = await scene({ clock: { ...systemClock, sleep } });
  const { guildId, channelId } = proxy.peer;
  const group = { guildId, channelId, senderId: ADA };
  await write('known');
  await proxy.write({ ...group, content: 'known in the server' });
  await until('both arrived', () => host.accepted.length === 2);
  await channel.stop();
  await write('missed');
  await proxy.write({ ...group, content: 'missed in the server' });
  proxy.fault({ call: /^GET \/channels\/\d+\/messages$/, kind: 'hang' });
  proxy.fault({ call: /^GET \/channels\/\d+$/, kind: 'hang' });
  await again();
  await until('all arrived', () => host.accepted.length === 4);
  expect(host.accepted.find(({ text }) => text === 'missed in the server')).toMatchObject({ isGroup: true, chatId: channelId });
  expect(host.offered.every(({ refusal }) => refusal === undefined)).toBe(true);
});

test('F1 a stranger whose first message is still being looked into when the session is lost is found again', async () => {
  const { host, channel, proxy, again, write } = await scene();
  const history = /^GET \/channels\/\d+\/messages$/;
  proxy.fault({ call: history, kind: 'hang' });
  await write('first words');
  await until('the history was asked for', () => proxy.calls.some(({ call }) => history.test(call)));
  await channel.stop();
  proxy.gateway.forgetSessions();
  expect(texts(host)).toEqual([]);
  await again();
  await arrived(host, 'first words');
});

test('a chat whose history may not be read is named, and goes on', async () => {
  const { host, channel, proxy, again, write } = await scene();
  await write('known');
  await arrived(host, 'known');
  await channel.stop();
  proxy.gateway.forgetSessions();
  const body = { message: 'Missing Access', code: 50_001 };
  proxy.fault({ call: /^GET \/channels\/\d+\/messages$/, kind: 'answer', status: 403, body, times: 9 });
  await again();
  expect(host.state).toBe('healthy');
  expect(host.states.at(-1)?.detail).toMatch(
    /not answered in 1 chats: give the bot the permissions View Channel and Read Message History/,
  );
  await write('new');
  await arrived(host, 'new');
});

test('a room whose history is not shown, for which the platform has no error, is named', async () => {
  const { host, channel, proxy, again } = await scene();
  const { guildId, channelId } = proxy.peer;
  await proxy.write({ guildId, channelId, senderId: ADA, content: 'known' });
  await arrived(host, 'known');
  await channel.stop();
  proxy.fault({ call: /^GET \/channels\/\d+\/messages$/, kind: 'answer', status: 200, body: [], times: 9 });
  await again();
  expect(host.state).toBe('healthy');
  await until('it is told', () => /may be missing in 1 chats: .* Read Message History/.test(host.states.at(-1)?.detail ?? ''));
});

test('F35 buckets: a limited chat does not hold up another, and the platform states the wait', async () => {
  const { channel, proxy } = await scene();
  const { channelId } = proxy.peer;
  await proxy.write({ channelId: DM, senderId: ADA, content: 'hi' });
  const headers = {
    'retry-after': '30',
    'x-ratelimit-remaining': '0',
    'x-ratelimit-reset-after': '30',
    'x-ratelimit-limit': '5',
    'x-ratelimit-bucket': 'b',
  };
  const body = { message: 'You are being rate limited.', retry_after: 30, global: false };
  proxy.fault({ call: new RegExp(`^POST /channels/${DM}/messages$`), kind: 'answer', status: 429, headers, body });
  const [limited, free] = await Promise.all([
    send(channel, { text: 'a' }),
    send(channel, { text: 'b', chatId: channelId, key: 'b' }),
  ]);
  expect(limited).toMatchObject({ kind: 'retry', scope: 'chat', afterMs: 30_000 });
  expect(free).toMatchObject({ kind: 'sent' });
});

test('F35 the limit of the whole bot holds up all of it', async () => {
  const { channel, proxy } = await scene();
  const headers = { 'retry-after': '2', 'x-ratelimit-global': 'true', 'x-ratelimit-scope': 'global' };
  proxy.fault({ call: MESSAGES, kind: 'answer', status: 429, headers, body: { message: 'slow', retry_after: 2, global: true } });
  expect(await send(channel, { text: 'a' })).toMatchObject({ kind: 'retry', scope: 'account', afterMs: 2_000 });
});

test.each(['drop', 'hang', 'cut'] as const)(
  'F37 a send that was taken and then lost (%s) is seen once after the second try',
  async (kind) => {
    const { channel, proxy, write } = await scene(
      kind === 'hang' ? { settings: { send_timeout_secs: 4 }, clock: systemClock } : {},
    );
    await write('hi');
    proxy.fault({ call: MESSAGES, kind });
    expect(await send(channel, { text: 'maybe' })).toMatchObject({ kind: 'unknown' });
    const second = await send(channel, { text: 'maybe' });
    expect(second).toMatchObject({ kind: 'sent' });
    const posts = (await proxy.peer.calls()).filter(({ method, path }) => method === 'POST' && path.endsWith('/messages'));
    expect(posts).toHaveLength(1);
    // The same message, not another with the same words.
    expect(await send(channel, { text: 'maybe' })).toEqual(second);
  },
);

test('F37 a connection that never stood is safe to try again', async () => {
  const { channel, proxy } = await scene();
  await proxy.close();
  expect(await send(channel, { text: 'refused' })).toMatchObject({
    kind: 'retry',
    reason: 'not connected: ECONNREFUSED',
    scope: 'account',
  });
});

test('F36 an error page of something in between is told by its status', async () => {
  const { channel, proxy } = await scene();
  proxy.fault({ call: MESSAGES, kind: 'answer', status: 403, body: '<html>blocked</html>' });
  expect(await send(channel, { text: 'x' })).toMatchObject({ kind: 'refused', reason: 'blocked' });
  proxy.fault({ call: MESSAGES, kind: 'answer', status: 200, body: '<html>login</html>' });
  expect(await send(channel, { text: 'x' })).toMatchObject({ kind: 'unknown' });
});

test('an id that is none of Discord reaches no route', async () => {
  const { channel, proxy } = await scene();
  const calls = proxy.calls.length;
  const signal = new AbortController().signal;
  for (const chatId of ['../users/@me', '', '1', 'x/messages/1']) {
    expect(await send(channel, { text: 'x', chatId })).toMatchObject({ kind: 'refused', reason: 'chat-gone' });
    await channel.typing?.({ chatId }, signal);
    await expect(channel.react?.({ chatId, platformId: '1' }, '👀', signal)).rejects.toThrow('no message');
  }
  expect(proxy.calls).toHaveLength(calls);
});

test('stop waits for a send under way, so that its outcome is known', async () => {
  const { channel, proxy, write } = await scene();
  await write('hi');
  const sending = send(channel, { text: 'last words' });
  await channel.stop();
  expect(await sending).toMatchObject({ kind: 'sent' });
  expect(await send(channel, { text: 'too late' })).toMatchObject({ kind: 'retry' });
  expect(proxy.sends().map(({ body }) => body['content'])).toEqual(['last words']);
});

const command = (fields: object = {}) => ({
  id: idAt(Date.now()),
  application_id: '135000000000000001',
  token: 'interaction-token',
  type: 2,
  channel_id: DM,
  user: { id: ADA, username: 'ada' },
  data: { type: 1, name: 'help' },
  ...fields,
});

test('a command is acknowledged only once it is committed', async () => {
  const { host, proxy } = await scene();
  const gate = Promise.withResolvers<{ kind: 'accepted' }>();
  host.next.push(gate.promise);
  proxy.gateway.dispatch('INTERACTION_CREATE', command());
  await until('it was offered', () => host.next.length === 0);
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(proxy.calls.some(({ call }) => call.includes('/callback'))).toBe(false);
  gate.resolve({ kind: 'accepted' });
  await until('it is acknowledged', () => proxy.calls.some(({ call, body }) => call.includes('/callback') && body['type'] === 5));
});

test('a command whose answer is too late for it is answered by a message', async () => {
  const { channel, host, proxy, write } = await scene();
  await write('hi');
  proxy.gateway.dispatch('INTERACTION_CREATE', command());
  const message = await until('it arrived', () => host.accepted.find(({ text }) => text === '/help'));
  proxy.fault({ call: /^PATCH \/webhooks/, kind: 'answer', status: 404, body: { message: 'Unknown Webhook', code: 10_015 } });
  const part = { text: 'help', ...(message.replyContext && { replyContext: message.replyContext }) };
  expect(await send(channel, part)).toMatchObject({ kind: 'retry', scope: 'part', afterMs: 0 });
  expect(await send(channel, part)).toMatchObject({ kind: 'sent' });
  expect(proxy.sends().map(({ call }) => call)).toEqual([`POST /channels/${DM}/messages`]);
});

test('a notice about a later part does not replace the first part of the answer to a command', async () => {
  const { channel, host, proxy, write } = await scene();
  await write('hi');
  proxy.gateway.dispatch('INTERACTION_CREATE', command());
  const message = await until('it arrived', () => host.accepted.find(({ text }) => text === '/help'));
  const context = { ordinal: 0, ...(message.replyContext && { replyContext: message.replyContext }) };
  expect(await send(channel, { key: 'a#0', text: 'first', ...context })).toMatchObject({ kind: 'sent' });
  expect(await send(channel, { key: 'a#undelivered', text: 'the rest is lost', ...context })).toMatchObject({ kind: 'sent' });
  // The same part again is the same answer, as after an answer that was lost.
  expect(await send(channel, { key: 'a#0', text: 'first', ...context })).toMatchObject({ kind: 'sent' });
  const answer = 'PATCH /webhooks/135000000000000001/interaction-token/messages/@original';
  expect(proxy.sends().map(({ call }) => call)).toEqual([answer, `POST /channels/${DM}/messages`, answer]);
});

test('a command that nobody answers does not think for ever', async () => {
  const { proxy } = await scene({
    clock: { ...systemClock, sleep: (ms, signal) => systemClock.sleep(ms > 600_000 ? 50 : ms, signal) },
  });
  proxy.gateway.dispatch('INTERACTION_CREATE', command());
  const gone = 'DELETE /webhooks/135000000000000001/interaction-token/messages/@original';
  await until('it is taken away', () => proxy.calls.some(({ call }) => call === gone));
});

test('A8 A18 a file is fetched from the file servers alone, without the token and without a redirect', async () => {
  const seen: (string | undefined)[] = [];
  const elsewhere = createServer((request, response) => {
    seen.push(request.headers.authorization);
    if (request.url === '/away') response.writeHead(302, { location: 'http://127.0.0.1:1/' });
    response.end('x');
  });
  await new Promise<void>((resolve) => elsewhere.listen(0, '127.0.0.1', resolve));
  open.push(() => new Promise((resolve) => elsewhere.close(resolve)));
  const origin = `http://127.0.0.1:${(elsewhere.address() as AddressInfo).port}`;
  const { channel, host, proxy } = await scene();
  const wide = await scene({ settings: { cdn_origins: [origin] } });
  const fetchFrom = async (at: { proxy: DiscordProxy; host: TestHost; channel: Channel }, url: string) => {
    const attachments = [{ id: '9000000000000009', filename: 'x', size: 1, url }];
    await at.proxy.write({ channelId: DM, senderId: ADA, content: url }, { fields: { attachments } });
    const message = await until('it arrived', () => at.host.accepted.find(({ text }) => text === url));
    const [media] = message.media;
    if (!media || !at.channel.download) throw new Error('no file');
    return at.channel.download(media, new AbortController().signal);
  };
  for (const url of [`${origin}/x`, 'http://169.254.169.254/', `${proxy.origin}@127.0.0.1/`, 'file:///etc/passwd', 'nonsense']) {
    await expect(fetchFrom({ channel, host, proxy }, url)).rejects.toMatchObject({ code: 'GH1505' });
  }
  expect(seen).toEqual([]);
  await expect(fetchFrom(wide, `${origin}/away`)).rejects.toMatchObject({ code: 'GH1505' });
  await fetchFrom(wide, `${origin}/fine`);
  expect(seen).toEqual([undefined, undefined]);
});

test('F39 a file that is gone, too large by its own word, or slow fails alone', async () => {
  const { channel, host, proxy } = await scene({ settings: { download_timeout_secs: 1 } });
  const files = [{ name: 'big', bytes: Buffer.from('x'), statedSize: 30 * 1024 * 1024 }];
  await proxy.write({ channelId: DM, senderId: ADA, content: 'big' }, { files });
  const [big] = (await until('it arrived', () => host.accepted[0])).media;
  const signal = new AbortController().signal;
  if (!big) throw new Error('no file');
  await expect(channel.download?.(big, signal)).rejects.toMatchObject({ code: 'GH1504' });
  const { size: _stated, ...unstated } = big;
  await expect(channel.download?.(unstated, signal)).rejects.toMatchObject({ code: 'GH1504' });
  const gone = { ...unstated, ref: unstated.ref.replace(/\d$/, '0') };
  await expect(channel.download?.(gone, signal)).rejects.toMatchObject({ code: 'GH1505' });
  proxy.fault({ call: /^GET \/channels\/\d+\/messages\/\d+$/, kind: 'hang' });
  await expect(channel.download?.(unstated, signal)).rejects.toMatchObject({ code: 'GH1505' });
  const abort = new AbortController();
  proxy.fault({ call: /^GET \/channels\/\d+\/messages\/\d+$/, kind: 'hang' });
  const reading = channel.download?.(unstated, abort.signal);
  const reason = new Error('enough');
  setTimeout(() => abort.abort(reason), 30);
  await expect(reading).rejects.toBe(reason);
});

test('A29 A48 neither the token nor that of a command appears in a log line, health report, result or error', async () => {
  const canary = `${Buffer.from('135000000000000001').toString('base64url')}.CANARY.d41d8cd98f00b204e9800998ecf8427e`;
  const { channel, host, proxy, logger } = await scene({
    settings: { send_timeout_secs: 1 },
    token: canary,
  });
  const seen: unknown[] = [logger.lines, host.states];
  expect(host.state).toBe('down');
  const replyContext = {
    interaction: { application: '135000000000000001', token: 'CANARY-command', until: Date.now() + 60_000 },
  };
  for (const kind of ['drop', 'hang', 'cut'] as const) {
    proxy.fault({ call: /./, kind });
    seen.push(await send(channel, { text: kind }));
    proxy.fault({ call: /./, kind });
    seen.push(await send(channel, { text: kind, replyContext }));
  }
  for (const status of [400, 401, 403, 404, 429, 500]) {
    proxy.fault({ call: /./, kind: 'answer', status, body: { message: `bad ${canary}`, code: status } });
    seen.push(await send(channel, { text: String(status) }));
  }
  const signal = new AbortController().signal;
  const ref = '1000000000000000/1000000000000000/1000000000000000';
  await expect(channel.download?.({ kind: 'document', ref }, signal)).rejects.toSatisfy((error) => Boolean(seen.push(error)));
  await expect(channel.typing?.({ chatId: DM }, signal)).rejects.toSatisfy((error) => Boolean(seen.push(error)));
  await proxy.close();
  seen.push(await send(channel, { text: 'nobody listens' }), await send(channel, { text: 'nobody listens', replyContext }));
  expect(seen.length).toBeGreaterThan(15);
  expect(inspect(seen, { depth: 20, showHidden: true })).not.toContain('CANARY');
});

test('a time to archive that Discord does not have is refused with those that it has', () => {
  const { findings } = checkValue(descriptor.settings, { auto_archive_duration: 90 }, { auto_archive_duration: 90 });
  expect(findings).toMatchObject([
    { path: ['auto_archive_duration'], message: 'this value is not known; it must be one of: 60, 1440, 4320, 10080' },
  ]);
});
