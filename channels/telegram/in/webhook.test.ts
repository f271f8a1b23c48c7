/** Receiving by webhook, over the real webhook server, from a platform that repeats what was not taken. */
import { afterEach, expect, test } from 'vitest';
import { startTelegramServer, type TelegramServer } from '../../../src/simulator/telegram/server.ts';
import { channelDeps, testWebhooks } from '../../../src/testing/channel-deps.ts';
import { quickClock, TestHost } from '../../../src/testing/channel-host.ts';
import { MemoryLogger, until } from '../../../src/testing/fakes.ts';
import { channel as descriptor } from '../index.ts';

const open: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close();
});

/**
 * A free port is known once it is served, and the platform has to be told it before: so the server listens
 * first.
 */
async function scene() {
  const platform = await startTelegramServer({});
  const webhooks = testWebhooks();
  open.push(
    () => webhooks[Symbol.asyncDispose](),
    () => platform.close(),
  );
  const probe = await webhooks.for('probe').serve(async () => ({ status: 204 }));
  const logger = new MemoryLogger();
  const start = async (host: TestHost, settings: object = { mode: 'webhook' }) => {
    const parsed = descriptor.settings.parse({
      api_root: platform.url,
      public_url: probe.localOrigin,
      poll_timeout_secs: 1,
      ...settings,
    });
    const deps = channelDeps({ name: 'telegram', secret: () => platform.token, clock: quickClock(20), logger });
    const channel = await descriptor.create(parsed, { ...deps, webhooks: webhooks.for('telegram') });
    open.push(() => channel.stop());
    await channel.start(host, new AbortController().signal);
    return channel;
  };
  return { platform, logger, start, address: `${probe.localOrigin}/hooks/telegram` };
}

const post = (url: string, secret: string | undefined, body: string) =>
  fetch(url, { method: 'POST', body, headers: secret === undefined ? {} : { 'x-telegram-bot-api-secret-token': secret } });

function secretOf(platform: TelegramServer): string {
  return String(platform.lastCall.get('setWebhook')?.['secret_token']);
}

test('mode webhook needs a public address', () => {
  expect(() => descriptor.settings.parse({ mode: 'webhook' })).toThrow('needs the address');
  expect(() => descriptor.settings.parse({ mode: 'webhook', public_url: 'https://x.example/path' })).toThrow('an origin');
});

test('updates are asked for under our address with a secret, and what waited before is not dropped', async () => {
  const at = await scene();
  at.platform.inject({ text: 'written before' });
  const host = new TestHost();
  await at.start(host);
  await until('it arrived', () => host.accepted.length === 1);
  expect(at.platform.lastCall.get('setWebhook')).toMatchObject({
    url: at.address,
    secret_token: expect.stringMatching(/^[0-9a-f]{64}$/),
    drop_pending_updates: false,
    allowed_updates: expect.arrayContaining(['message', 'message_reaction', 'callback_query']),
  });
  expect(at.platform.calls).not.toContain('getUpdates');
});

test('F1 F3 an update is taken for delivered after its commit alone, and comes again until then', async () => {
  const at = await scene();
  const host = new TestHost();
  host.next.push(new Error('GH1301: disk full'));
  const gate = Promise.withResolvers<{ kind: 'accepted' }>();
  host.next.push(gate.promise);
  await at.start(host);
  at.platform.inject({ text: 'kept' });
  await until('it was offered twice', () => host.next.length === 0);
  expect(at.platform.unconfirmed).toBe(1);
  expect(host.states.at(-1)).toMatchObject({ state: 'down' });
  gate.resolve({ kind: 'accepted' });
  await until('it was taken', () => at.platform.unconfirmed === 0);
  expect(host.accepted.map(({ text }) => text)).toEqual(['kept']);
  await until('it is well again', () => host.states.at(-1)?.state === 'healthy');
});

test('messages of one chat keep their order, those of others do not wait for them', async () => {
  const at = await scene();
  const host = new TestHost();
  await at.start(host);
  for (let n = 0; n < 20; n += 1) at.platform.inject({ text: `m${n}`, chat_id: n % 2 === 0 ? 1000 : 2000, from: { id: 1000 } });
  await until('all arrived', () => host.accepted.length === 20);
  const of = (chatId: string) => host.accepted.filter((message) => message.chatId === chatId).map(({ text }) => text);
  expect(of('1000')).toEqual(Array.from({ length: 10 }, (_, n) => `m${2 * n}`));
  expect(of('2000')).toEqual(Array.from({ length: 10 }, (_, n) => `m${2 * n + 1}`));
});

test('A12 hostile: a request without our secret is refused with 401, and is read no further', async () => {
  const at = await scene();
  const host = new TestHost();
  await at.start(host);
  const forged = JSON.stringify({
    update_id: 1,
    message: { message_id: 1, date: 1, chat: { id: 1, type: 'private' }, from: { id: 1 }, text: 'x' },
  });
  for (const secret of [undefined, '', 'guess', `${secretOf(at.platform)}x`])
    expect((await post(at.address, secret, forged)).status).toBe(401);
  expect(host.batches).toEqual([]);
  const refusals = at.logger.lines.filter(({ event }) => event === 'telegram.request-refused');
  expect(refusals.length).toBeGreaterThan(0);
  expect(JSON.stringify(at.logger.lines)).not.toContain(secretOf(at.platform));
});

test('what is no update is taken and forgotten, or it would come again for ever', async () => {
  const at = await scene();
  const host = new TestHost();
  await at.start(host);
  for (const body of ['', '{', '[]', '{}', '{"update_id":"1"}', '{"update_id":1.5}'])
    expect((await post(at.address, secretOf(at.platform), body)).status).toBe(200);
  expect((await fetch(at.address)).status).toBe(405);
  expect(host.batches).toEqual([]);
});

test('a webhook that another program set is noticed and set again', async () => {
  const at = await scene();
  const host = new TestHost();
  await at.start(host);
  at.platform.hook.url = 'https://example.org/other';
  await until('it is ours again', () => at.platform.hook.url === at.address, 20_000);
  at.platform.inject({ text: 'here again' });
  await until('it arrived', () => host.accepted.length === 1);
});

test('after a stop the webhook stays, what is written meanwhile waits, and mode poll takes it over', async () => {
  const at = await scene();
  const first = await at.start(new TestHost());
  await first.stop();
  expect(at.platform.hook.url).toBe(at.address);
  at.platform.inject({ text: 'meanwhile' });
  const host = new TestHost();
  await at.start(host, { mode: 'poll' });
  await until('it arrived', () => host.accepted.length === 1, 20_000);
  expect(at.platform.hook.url).toBe('');
});
