/** The adapter against an emulator of the platform that is not ours: signed events in, the Web API out. */
import { expect, test } from 'vitest';
import { channelDeps, testWebhooks } from '../../src/testing/channel-deps.ts';
import { answeringClock, TestHost } from '../../src/testing/channel-host.ts';
import { outbound, until } from '../../src/testing/fakes.ts';
import { startCrablineSlack } from '../../src/testing/slack/crabline.ts';
import { channel as descriptor } from './index.ts';

async function scene(limit?: { remaining: number; retryAfterSeconds: number }) {
  const webhooks = testWebhooks();
  const probe = await webhooks.for('probe').serve(async () => ({ status: 200 }));
  const platform = await startCrablineSlack(`${probe.localOrigin}/hooks/slack`, limit);
  const secrets: Record<string, string> = { SLACK_BOT_TOKEN: platform.botToken, SLACK_SIGNING_SECRET: platform.signingSecret };
  const settings = descriptor.settings.parse({ mode: 'http', api_root: platform.apiRoot, send_timeout_secs: 100 });
  const secret = (variable: string): string => secrets[variable] ?? '';
  const deps = channelDeps({ name: 'slack', webhooks: webhooks.for('slack'), secret, clock: answeringClock() });
  const channel = await descriptor.create(settings, deps);
  const host = new TestHost();
  await channel.start(host, new AbortController().signal);
  return {
    platform,
    channel,
    host,
    send: (part: Parameters<typeof outbound>[0], signal = new AbortController().signal) =>
      channel.send(outbound({ channel: 'slack', account: channel.account, ...part }), { plain: false, signal }),
    async [Symbol.asyncDispose]() {
      await channel.stop();
      await platform[Symbol.asyncDispose]();
      await webhooks[Symbol.asyncDispose]();
    },
  };
}

test('an event signed by another implementation comes in, and its answer goes out with our key in its metadata', async () => {
  await using at = await scene();
  await at.platform.inject({ channel: 'D000000001', user: 'U0ADA', text: 'ping &amp; more' });
  const message = await until('the message arrived', () => at.host.accepted[0]);
  expect(message).toMatchObject({ text: 'ping & more', senderId: 'U0ADA', chatId: 'D000000001', isGroup: false });
  const part = {
    chatId: message.chatId,
    text: '**pong** & <more>',
    ...(message.replyContext && { replyContext: message.replyContext }),
  };
  const sent = await at.send(part);
  expect(sent).toMatchObject({ kind: 'sent', platformId: expect.stringMatching(/^D000000001:\d+\.\d+$/) });
  const [body] = await at.platform.sends();
  expect(body).toMatchObject({ channel: 'D000000001', text: '*pong* &amp; &lt;more&gt;' });
  // What was sent is found again by its key alone.
  if (sent.kind !== 'sent') throw new Error('not sent');
  const found = await at.channel.find?.(outbound({ channel: 'slack', ...part }), new AbortController().signal);
  expect(found).toEqual({ platformId: sent.platformId });
  expect(await at.channel.find?.(outbound({ channel: 'slack', ...part, key: 'another' }), new AbortController().signal)).toBe(
    'absent',
  );
});

test('a mention in a channel is answered in a thread under it', async () => {
  await using at = await scene();
  const said = await at.platform.inject({ channel: 'C000000001', user: 'U0ADA', text: '<@U0BOT> hello' });
  const message = await until('the message arrived', () => at.host.accepted[0]);
  expect(message).toMatchObject({ text: 'hello', mentionsBot: true, isGroup: true, threadId: said['ts'] });
  const thread = message.threadId === undefined ? {} : { threadId: message.threadId };
  expect(await at.send({ chatId: message.chatId, ...thread, text: 'hi' })).toMatchObject({ kind: 'sent' });
  expect((await at.platform.sends())[0]).toMatchObject({ thread_ts: said['ts'] });
  expect(await at.send({ chatId: message.chatId, threadId: '1600000000.000001', text: 'hi' })).toMatchObject({
    kind: 'refused',
    reason: 'chat-gone',
  });
});

test('F35 the stated wait of a rate limit is passed on', async () => {
  await using at = await scene({ remaining: 1, retryAfterSeconds: 7 });
  await at.platform.inject({ channel: 'D000000001', user: 'U0ADA', text: 'ping' });
  expect(await at.send({ chatId: 'D000000001', text: 'one' })).toMatchObject({ kind: 'sent' });
  expect(await at.send({ chatId: 'D000000001', text: 'two' })).toMatchObject({ kind: 'retry', afterMs: 7_000, scope: 'chat' });
});

test('F36 a text beyond the limit is refused as too long', async () => {
  await using at = await scene();
  await at.platform.inject({ channel: 'D000000001', user: 'U0ADA', text: 'ping' });
  expect(await at.send({ chatId: 'D000000001', text: 'x'.repeat(40_001) })).toMatchObject({
    kind: 'refused',
    reason: 'too-long',
  });
});
