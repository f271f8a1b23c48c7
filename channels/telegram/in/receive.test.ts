/** Receiving, against the test server: what the contract suite cannot know about long polls. */

import { afterEach, expect, test } from 'vitest';
import type { Channel } from '../../../src/core/channel.ts';
import { startTelegramServer, type TelegramServer } from '../../../src/simulator/telegram/server.ts';
import { channelDeps } from '../../../src/testing/channel-deps.ts';
import { quickClock, TestHost } from '../../../src/testing/channel-host.ts';
import { MemoryLogger, until } from '../../../src/testing/fakes.ts';
import { channel as descriptor } from '../index.ts';

const open: { stop(): Promise<void> }[] = [];
afterEach(async () => {
  for (const item of open.splice(0).reverse()) await item.stop();
});

async function server(): Promise<TelegramServer> {
  const started = await startTelegramServer({ username: 'gatehouse_bot' });
  open.push({ stop: () => started.close() });
  return started;
}

async function start(platform: TelegramServer, host = new TestHost(), factor = 20): Promise<Channel> {
  const channel = await descriptor.create(descriptor.settings.parse({ api_root: platform.url, poll_timeout_secs: 1 }), {
    ...channelDeps(),
    name: 'telegram',
    secret: () => platform.token,
    clock: quickClock(factor),
    logger: new MemoryLogger(),
    random: () => 0.5,
  });
  open.push(channel);
  await channel.start(host, new AbortController().signal);
  return channel;
}

test('F1 F3 a batch is confirmed only by the poll after its commit, and the cursor is the next update id', async () => {
  const platform = await server();
  for (let index = 0; index < 5; index += 1) platform.inject({ text: `m${index}` });
  const host = new TestHost();
  const gate = Promise.withResolvers<{ kind: 'accepted' }>();
  host.next.push(gate.promise);
  await start(platform, host);
  await until('the batch was offered', () => host.next.length === 0);
  const polls = platform.calls.filter((method) => method === 'getUpdates').length;
  await new Promise((resolve) => setTimeout(resolve, 50));
  expect(platform.calls.filter((method) => method === 'getUpdates').length).toBe(polls);
  expect(platform.unconfirmed).toBe(5);
  gate.resolve({ kind: 'accepted' });
  await until('they are confirmed', () => platform.unconfirmed === 0);
  expect(host.batches.map(({ messages, cursor }) => [messages.length, cursor])).toEqual([[5, '6']]);
  expect(platform.lastCall.get('getUpdates')).toMatchObject({ allowed_updates: expect.arrayContaining(['edited_message']) });
});

/** A channel that ended between the commit of what came and its confirmation. */
async function stoppedAfterCommit(platform: TelegramServer): Promise<TestHost> {
  const host = new TestHost();
  const gate = Promise.withResolvers<{ kind: 'accepted' }>();
  host.next.push(gate.promise);
  const first = await start(platform, host);
  await until('the batch was offered', () => host.next.length === 0);
  const stopped = first.stop();
  gate.resolve({ kind: 'accepted' });
  await stopped;
  return host;
}

test('F2 stopped between commit and confirmation, the batch comes again under the same keys', async () => {
  const platform = await server();
  platform.inject({ text: 'twice' });
  const host = await stoppedAfterCommit(platform);
  expect(platform.unconfirmed).toBe(1);
  host.resetCursor(undefined);
  await start(platform, host);
  await until('it was offered again', () => host.batches.length === 2);
  expect(host.batches[1]?.messages[0]?.id).toBe(host.batches[0]?.messages[0]?.id);
  expect(host.accepted).toHaveLength(1);
});

test('F2 with the cursor at hand a restart confirms what was committed instead of asking for it again', async () => {
  const platform = await server();
  platform.inject({ text: 'once' });
  const host = await stoppedAfterCommit(platform);
  await start(platform, host);
  await until('it was confirmed', () => platform.unconfirmed === 0);
  expect(host.batches).toHaveLength(1);
});

test('update ids that start again lower are received: the offset is no filter', async () => {
  const platform = await server();
  platform.nextUpdateId = 5_000;
  const host = new TestHost();
  await start(platform, host);
  platform.inject({ text: 'before' });
  await until('the first arrived', () => host.accepted.length === 1);
  await until('it was confirmed', () => platform.unconfirmed === 0);
  await until('the offset was left out again', () => platform.lastCall.get('getUpdates')?.['offset'] === undefined);
  platform.nextUpdateId = 100;
  platform.inject({ text: 'after the restart of the ids' });
  await until('the second arrived', () => host.accepted.length === 2);
  expect(await host.cursor()).toBe('101');
});

test('updates that are no messages move the cursor too', async () => {
  const platform = await server();
  platform.injectUpdate({ poll: { id: '1' } });
  const host = new TestHost();
  await start(platform, host);
  await until('it was confirmed', () => platform.unconfirmed === 0);
  expect(await host.cursor()).toBe('2');
});

test('an update that breaks the schema is counted as unreadable and does not stop those behind it', async () => {
  const platform = await server();
  platform.injectUpdate({ message: { message_id: 1 } });
  platform.inject({ text: 'behind it' });
  const host = new TestHost();
  await start(platform, host);
  await until('both arrived', () => host.accepted.length === 2);
  expect(host.accepted.map((message) => message.refusal ?? message.text)).toEqual(['unreadable', 'behind it']);
});

test('F42 a second poller is reported with GH1503 and the two do not fight', async () => {
  const platform = await server();
  const [one, two] = [new TestHost(), new TestHost()];
  await start(platform, one);
  await start(platform, two);
  await until('the conflict is reported', () => [...one.states, ...two.states].some(({ detail }) => detail?.includes('GH1503')));
  const before = platform.calls.length;
  await new Promise((resolve) => setTimeout(resolve, 1_500));
  // The waits run 20 times as fast, so this was half a minute: without back-off it would be thousands of
  // calls.
  expect(platform.calls.length - before).toBeLessThan(20);
  platform.inject({ text: 'still received' });
  await until('one of them received it', () => one.accepted.length + two.accepted.length >= 1);
});

test('F42 a webhook left behind is removed, and nothing pending is thrown away', async () => {
  const platform = await server();
  platform.hook.url = 'https://example.org/old';
  platform.inject({ text: 'waiting' });
  const host = new TestHost();
  await start(platform, host);
  await until('the message arrived', () => host.accepted.length === 1);
  expect(platform.lastCall.get('deleteWebhook')).toMatchObject({ drop_pending_updates: false });
  expect(host.states.some(({ detail }) => detail?.includes('GH1503'))).toBe(true);
  expect(host.state).toBe('healthy');
});

test('a rate limit on the poll is obeyed', async () => {
  const platform = await server();
  platform.fault({ method: 'getUpdates', kind: 'error', status: 429, description: 'Too Many', parameters: { retry_after: 10 } });
  const host = new TestHost();
  const started = performance.now();
  await start(platform, host);
  expect(host.state).toBe('degraded');
  await until('it recovered', () => host.state === 'healthy');
  expect(performance.now() - started).toBeGreaterThan(10_000 / 20);
});

test('F33 a platform that breaks every poll is asked with growing waits, one poll at a time, and each message comes once', async () => {
  const platform = await server();
  const waits: number[] = [];
  const quick = quickClock(20);
  const sleep = (ms: number, signal?: AbortSignal): Promise<void> => {
    // The others are deadlines of calls.
    if (ms < 20_000) waits.push(ms);
    return quick.sleep(ms, signal);
  };
  const deps = { ...channelDeps(), name: 'telegram', secret: () => platform.token, clock: { ...quick, sleep }, random: () => 1 };
  const settings = descriptor.settings.parse({ api_root: platform.url, poll_timeout_secs: 1 });
  const channel = await descriptor.create(settings, deps);
  open.push(channel);
  platform.fault({ method: 'getUpdates', kind: 'drop', times: 4 });
  const host = new TestHost();
  platform.inject({ text: 'once' });
  await channel.start(host, new AbortController().signal);
  await until('it is received', () => host.accepted.length === 1);
  await until('the channel is well', () => host.state === 'healthy');
  expect(waits.slice(0, 4)).toEqual([1_000, 2_000, 4_000, 8_000]);
  expect(host.offered).toHaveLength(1);
  // The platform ends the older of two polls and says so.
  expect(host.states.filter(({ detail }) => detail?.includes('GH1503'))).toEqual([]);
});

test('a poll that is silent far beyond its time is given up and started again', async () => {
  const platform = await server();
  const host = new TestHost();
  await start(platform, host, 400);
  platform.fault({ method: 'getUpdates', kind: 'hang' });
  await until('the silence was noticed', () => host.states.some(({ detail }) => detail?.includes('GH1502')));
  platform.inject({ text: 'afterwards' });
  await until('the message arrived', () => host.accepted.length === 1);
});

test('F34 a refused token that is accepted again is picked up without a restart, and its state says how to mend it', async () => {
  const platform = await server();
  platform.fault({ method: 'getMe', kind: 'error', status: 401, description: 'Unauthorized' });
  const host = new TestHost();
  await start(platform, host, 150);
  expect(host.state).toBe('down');
  expect(host.states.at(-1)?.detail).toMatch(/^GH1501: .* \(401 Unauthorized\): .*@BotFather.*restart/);
  platform.inject({ text: 'mended' });
  await until('the message arrived', () => host.accepted.length === 1);
});

test('2,000 messages arrive in order without loss or repetition', async () => {
  const platform = await server();
  const host = new TestHost();
  await start(platform, host);
  for (let index = 0; index < 2_000; index += 1) platform.inject({ text: String(index) });
  await until('all arrived', () => host.accepted.length === 2_000);
  expect(host.accepted.map((message) => message.text)).toEqual(Array.from({ length: 2_000 }, (_, index) => String(index)));
});
