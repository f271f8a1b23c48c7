/** Receiving, by webhook and by the list, against the test server. */
import { symlink } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { ChannelDeps } from '../../../src/core/channel.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { jsonUrl, postWebhook, type SignedPost } from '../../../src/simulator/twilio/webhooks.ts';
import { newSid } from '../../../src/simulator/twilio/wire.ts';
import { quickClock, TestHost } from '../../../src/testing/channel-host.ts';
import { MemoryLogger, outbound, tempDir, until } from '../../../src/testing/fakes.ts';
import { PUBLIC_URL, type TwilioScene, twilioScene } from '../../../src/testing/twilio/scene.ts';
import { UNREADABLE_NOW } from '../../../src/testing/unreadable-file.ts';
import { CallError } from '../../kit/call-error.ts';
import { HealthSum } from '../../kit/health-sum.ts';
import { channel as descriptor } from '../index.ts';
import { receive } from './receive.ts';

const ADA = '+14155550001';
const BOB = '+14155550002';
const signal = new AbortController().signal;

const scene = (): Promise<TwilioScene> => twilioScene(descriptor);

/** A webhook posted by hand. */
function post({ platform }: TwilioScene, shape: Partial<SignedPost> = {}) {
  if (!platform.target) throw new Error('nothing listens');
  const fields = {
    MessageSid: newSid('SM'),
    AccountSid: platform.accountSid,
    From: ADA,
    To: platform.number,
    Body: 'hi',
    NumMedia: '0',
  };
  return postWebhook(platform.target, { fields, authToken: platform.authToken, signal, ...shape });
}

test.concurrent('the answer to a webhook is empty TwiML, after the commit', async () => {
  await using at = await scene();
  const { host } = await at.start();
  const gate = Promise.withResolvers<{ kind: 'accepted' }>();
  host.next.push(gate.promise);
  const answered = post(at);
  await until('it was offered', () => host.offered.length === 1);
  const early = await Promise.race([answered, systemClock.sleep(60).then(() => 'waiting')]);
  expect(early).toBe('waiting');
  gate.resolve({ kind: 'accepted' });
  expect(await answered).toEqual({
    status: 200,
    type: 'text/xml; charset=utf-8',
    body: '<?xml version="1.0" encoding="UTF-8"?><Response/>',
  });
});

test.concurrent('a word to a short code that Twilio says it answered is not answered after a restart either', async () => {
  await using at = await scene();
  const settings = { from_number: '12345' };
  const host = new TestHost();
  const { channel } = await at.start(settings, host);
  at.platform.inject(ADA, 'HELP', { to: '12345', fields: { OptOutType: 'HELP' } });
  await until('it was offered', () => host.offered.length === 1);
  await channel.stop();
  at.platform.inject(ADA, 'hi', { to: '12345', silent: true });
  await at.start(settings, host);
  await until('what was missed arrived', () => host.offered.some(({ text }) => text === 'hi'));
  expect(host.offered.map(({ text, refusal }) => [text, refusal])).toEqual([
    ['HELP', 'answered-by-platform'],
    ['hi', undefined],
  ]);
});

test.concurrent('A7 a webhook without a signature, with a wrong one or over a changed body reaches nothing', async () => {
  await using at = await scene();
  const { host } = await at.start();
  const batches = host.batches.length;
  expect((await post(at, { headers: { 'x-twilio-signature': undefined } })).status).toBe(403);
  expect((await post(at, { headers: { 'x-twilio-signature': '' } })).status).toBe(403);
  expect((await post(at, { authToken: '0'.repeat(32) })).status).toBe(403);
  expect((await post(at, { body: 'From=%2B19995550000&Body=forged' })).status).toBe(403);
  expect((await post(at, { headers: { 'content-type': 'text/plain' } })).status).toBe(403);
  expect((await post(at, { body: 'x'.repeat(70_000) })).status).toBe(413);
  expect(host.batches.length).toBe(batches);
  // One line a minute: strangers cannot fill the log.
  expect(at.logger.lines.filter(({ event }) => event === 'twilio.webhook-refused')).toMatchObject([
    { data: { reason: 'no signature', count: 1 } },
  ]);
});

test.concurrent('another account is refused, another number is not answered for', async () => {
  await using at = await scene();
  const { host } = await at.start();
  const base = { MessageSid: newSid('SM'), From: ADA, Body: 'hi' };
  expect((await post(at, { fields: { ...base, AccountSid: `AC${'9'.repeat(32)}`, To: at.platform.number } })).status).toBe(403);
  expect((await post(at, { fields: { ...base, AccountSid: at.platform.accountSid, To: '+15005559999' } })).status).toBe(200);
  expect(
    (await post(at, { fields: { ...base, AccountSid: at.platform.accountSid, To: at.platform.number, MessageSid: 'x' } })).status,
  ).toBe(400);
  expect(host.offered).toEqual([]);
});

test.concurrent('a JSON webhook is taken when the hash in its address is that of its body', async () => {
  await using at = await scene();
  const { host } = await at.start();
  const message = {
    MessageSid: newSid('SM'),
    AccountSid: at.platform.accountSid,
    From: ADA,
    To: at.platform.number,
    Body: 'json',
  };
  const body = JSON.stringify(message);
  const shape = { fields: {}, body, headers: { 'content-type': 'application/json' } };
  expect((await post(at, { ...shape, url: jsonUrl(PUBLIC_URL, body) })).status).toBe(200);
  expect((await post(at, { ...shape, url: jsonUrl(PUBLIC_URL, '{}') })).status).toBe(403);
  expect((await post(at, { ...shape, url: PUBLIC_URL })).status).toBe(403);
  expect(host.accepted.map(({ text }) => text)).toEqual(['json']);
});

test.concurrent('A13 a webhook that comes again, at once, after a restart and after 1001 others, has the same key', async () => {
  await using at = await scene();
  const { channel, host } = await at.start({ max_per_sender_per_minute: 5_000, max_per_minute: 5_000 });
  const sid = at.platform.inject(ADA, 'once');
  await until('it arrived', () => host.accepted.length === 1);
  expect(await at.platform.redeliver(sid)).toBe(200);
  for (let n = 0; n < 1_001; n += 1) at.platform.inject(BOB, `other ${n}`, { silent: true });
  await channel.stop();
  const later = await at.start({ max_per_sender_per_minute: 5_000, max_per_minute: 5_000 }, host);
  await until('the others came', () => host.accepted.length === 1_002);
  expect(await at.platform.redeliver(sid)).toBe(200);
  expect(host.accepted.filter(({ text }) => text === 'once')).toHaveLength(1);
  await later.channel.stop();
});

test.concurrent('the first start answers nothing that is older than it, and what came while the daemon was down is not missed', async () => {
  await using at = await scene();
  at.platform.inject(ADA, 'long ago', { silent: true, at: Date.now() - 5_000 });
  const { channel, host } = await at.start();
  expect(host.accepted).toEqual([]);
  await channel.stop();
  at.platform.inject(ADA, 'while down', { silent: true });
  await at.start({}, host);
  await until('it came', () => host.accepted.length === 1);
  expect(host.accepted.map(({ text }) => text)).toEqual(['while down']);
});

test.concurrent('F13 a webhook that cannot be stored in time is answered with 503, and its message is accepted later, once', async () => {
  await using at = await scene();
  const { host } = await at.start();
  host.next.push(...Array.from({ length: 5 }, () => new Error('disk full')));
  const sid = at.platform.inject(ADA, 'late');
  await until('the webhook was given up', () => at.platform.webhooks.get(sid));
  expect(at.platform.webhooks.get(sid)).toEqual([503]);
  expect([host.accepted.length, host.state]).toEqual([0, 'down']);
  await until('it was accepted', () => host.accepted.length === 1);
  expect(await at.platform.redeliver(sid)).toBe(200);
  await until('the channel recovered', () => host.state === 'healthy');
  expect(host.accepted).toHaveLength(1);
});

test.concurrent('F1 what was being offered when the daemon was killed comes with the list of the next start', async () => {
  await using at = await scene();
  const { channel, host } = await at.start();
  const gate = Promise.withResolvers<never>();
  host.next.push(gate.promise);
  const sid = at.platform.inject(ADA, 'cut off');
  await until('it was offered', () => host.offered.length === 1);
  const stopping = channel.stop();
  gate.reject(new Error('killed'));
  await stopping;
  await until('the webhook was answered', () => at.platform.webhooks.get(sid));
  expect(at.platform.webhooks.get(sid)).toEqual([503]);
  await at.start({}, host);
  await until('it came', () => host.accepted.length === 1);
  expect(host.accepted[0]?.id).toBe(host.offered[0]?.id);
});

test.concurrent('pages are followed to the cursor and handed over oldest first', async () => {
  await using at = await scene();
  const { channel, host } = await at.start();
  await channel.stop();
  at.platform.pageSize = 20;
  const now = Date.now();
  for (let n = 0; n < 130; n += 1) at.platform.inject(ADA, `m${n}`, { silent: true, at: now + n * 1_000 });
  await at.start({ max_per_sender_per_minute: 1_000 }, host);
  await until('all came', () => host.accepted.length === 130);
  expect(host.accepted.map(({ text }) => text)).toEqual(Array.from({ length: 130 }, (_, n) => `m${n}`));
  expect(at.platform.calls.filter((call) => call.includes('PageToken')).length).toBeGreaterThanOrEqual(6);
});

test.concurrent('a list that is in order is not read beyond the cursor', async () => {
  await using at = await scene();
  at.platform.pageSize = 10;
  const hour = 3_600_000;
  for (let n = 0; n < 100; n += 1) at.platform.inject(ADA, `old ${n}`, { silent: true, at: Date.now() - 2 * hour + n });
  const { channel, host } = await at.start();
  await channel.stop();
  at.platform.inject(ADA, 'new', { silent: true });
  at.platform.calls.length = 0;
  await at.start({}, host);
  await until('it came', () => host.accepted.length === 1);
  expect(at.platform.calls.length).toBeLessThanOrEqual(2);
});

test.concurrent('messages that are still arriving, of other numbers and of our own are not taken from the list', async () => {
  await using at = await scene();
  const { channel, host } = await at.start();
  await channel.stop();
  at.platform.inject(ADA, 'half', { silent: true, status: 'receiving' });
  at.platform.inject(ADA, 'elsewhere', { silent: true, to: '+15005559999' });
  at.platform.inject(at.platform.number, 'to myself', { silent: true });
  at.platform.inject(ADA, 'mine', { silent: true });
  await at.start({}, host);
  await until('it came', () => host.accepted.some(({ text }) => text === 'mine'));
  expect(host.accepted.map(({ text, refusal }) => [text, refusal])).toEqual([
    ['to myself', 'own-message'],
    ['mine', undefined],
  ]);
});

test.concurrent('without a public address messages come by the list alone', async () => {
  await using at = await scene();
  const noWebhooks: Partial<ChannelDeps> = { webhooks: { serve: () => Promise.reject(new Error('must not be asked')) } };
  const { host } = await at.start({ public_url: undefined, poll_interval_secs: 5 }, new TestHost(), noWebhooks);
  at.platform.inject(ADA, 'polled', { silent: true });
  await until('it came', () => host.accepted.length === 1);
  expect(host.state).toBe('healthy');
  expect(host.accepted[0]?.timestamp).toBeLessThanOrEqual(Date.now());
});

test.concurrent('a webhook port that is taken leaves the list, and says so', async () => {
  await using at = await scene();
  const taken = { webhooks: { serve: () => Promise.reject(new Error('GH1004: port taken')) } };
  const { host } = await at.start({ poll_interval_secs: 5 }, new TestHost(), taken);
  expect(host.states.at(-1)).toMatchObject({ state: 'degraded', detail: expect.stringContaining('port taken') });
  at.platform.inject(ADA, 'polled', { silent: true });
  await until('it came', () => host.accepted.length === 1);
});

test.concurrent('a webhook port that was taken is served once it is free, and a picture waits for that', async () => {
  await using at = await scene();
  let taken = true;
  const webhooks = { serve: async () => (taken ? Promise.reject(new Error('port taken')) : served) };
  const served = { path: '/hooks/twilio', localOrigin: 'http://127.0.0.1:1', [Symbol.asyncDispose]: async () => undefined };
  const { channel, host } = await at.start({ poll_interval_secs: 5 }, new TestHost(), { webhooks });
  const file = { path: '/nonexistent', name: 'p.png', mime: 'image/png', kind: 'photo', bytes: 3 } as const;
  const send = () => channel.send(outbound({ chatId: ADA, text: '', file, channel: 'twilio' }), { plain: false, signal });
  expect([host.state, (await send()).kind]).toEqual(['degraded', 'retry']);
  taken = false;
  await until('it is well again', () => host.state === 'healthy');
  expect(await send()).toMatchObject({ kind: 'refused', detail: expect.stringContaining('not there any more') });
});

test.concurrent('a picture that cannot be read now is sent later', async () => {
  await using at = await scene();
  await using dir = await tempDir();
  const { channel } = await at.start();
  const path = join(dir.path, 'copy');
  await symlink(UNREADABLE_NOW, path);
  const file = { path, name: 'p.png', mime: 'image/png', kind: 'photo', bytes: 3 } as const;
  const part = outbound({ chatId: ADA, text: '', file, channel: 'twilio' });
  expect(await channel.send(part, { plain: false, signal })).toMatchObject({ kind: 'retry', scope: 'part' });
});

test.concurrent('messages that only the list brings are reported, until a webhook comes through', async () => {
  await using at = await scene();
  const { host } = await at.start({ poll_interval_secs: 5 });
  // A minute later by the platform's clock: the webhook had its time.
  at.platform.skewMs = 60_000;
  at.platform.inject(ADA, 'lost webhook', { silent: true, at: Date.now() + 2_000 });
  await until('it came', () => host.accepted.length === 1);
  await until('it is reported', () => host.states.at(-1)?.detail?.includes('by the list only'));
  expect(host.state).toBe('degraded');
  at.platform.inject(ADA, 'through');
  await until('it is well again', () => host.state === 'healthy');
});

test.concurrent('F33 a platform that fails again and again is asked with growing waits, and by one reader', async () => {
  await using at = await scene();
  const { host } = await at.start({ poll_interval_secs: 5 });
  at.platform.calls.length = 0;
  at.platform.fault({ call: 'list', kind: 'error', status: 503, times: 3 });
  await until('it was noticed', () => host.states.some(({ detail }) => detail?.includes('GH1502: 503')));
  await until('it is well again', () => host.state === 'healthy');
  expect(at.platform.calls.length).toBeLessThan(12);
  for (const kind of ['cut', 'garbage', 'drop'] as const) {
    const before = host.states.length;
    at.platform.fault({ call: 'list', kind });
    await until('it was noticed', () => host.states.slice(before).some(({ state }) => state === 'degraded'));
    await until('it is well again', () => host.state === 'healthy');
  }
});

test.concurrent('F34 refused credentials are down and asked about rarely; webhooks signed with the right token still arrive', async () => {
  await using at = await scene();
  const { host } = await at.start({ poll_interval_secs: 5 });
  at.platform.fault({ call: 'list', kind: 'error', status: 401, code: 20003, message: 'Authenticate', times: 50 });
  await until('it is down', () => host.state === 'down');
  expect(host.states.at(-1)?.detail).toMatch(/^GH1501: .*auth token/);
  const calls = at.platform.calls.length;
  at.platform.inject(ADA, 'still there');
  await until('it arrived', () => host.accepted.length === 1);
  await systemClock.sleep(400);
  expect(at.platform.calls.length - calls).toBeLessThanOrEqual(1);
});

test.concurrent('F34 a list that was refused for a day is read once it is not', async () => {
  let readings = 0;
  let waited = 0;
  const stop = new AbortController();
  const host = new TestHost();
  const clock = {
    ...systemClock,
    sleep: async (ms: number) => {
      waited += ms;
      stop.signal.throwIfAborted();
    },
  };
  const run = async () => {
    readings += 1;
    if (readings <= 300) throw new CallError('message list', { kind: 'api', status: 401, code: 20003, detail: 'Suspended' });
    return { messages: [], serverTime: 0 };
  };
  await receive({
    health: new HealthSum(
      (...health) => host.health(...health),
      () => 0,
      ['api'],
    ),
    ...{ catchUp: { run }, pollMs: 5_000, clock, random: () => 0.5, logger: new MemoryLogger() },
    signal: stop.signal,
    settled: () => undefined,
    onRead: async () => stop.abort(),
  });
  expect([readings, host.state]).toEqual([301, 'healthy']);
  expect(waited).toBeGreaterThan(24 * 3_600_000);
});

test.concurrent('F35 a limited list waits as it was told', async () => {
  await using at = await scene();
  const { host } = await at.start({ poll_interval_secs: 5 });
  at.platform.fault({
    call: 'list',
    kind: 'error',
    status: 429,
    code: 20429,
    message: 'Too Many',
    headers: { 'retry-after': '40' },
  });
  await until('it was noticed', () => host.state === 'degraded');
  const calls = at.platform.calls.length;
  await systemClock.sleep(300); // of 2 s: 40 s, twenty times as fast
  expect(at.platform.calls.length).toBe(calls);
  await until('it is well again', () => host.state === 'healthy');
});

test.concurrent('F39 a list of files that fails keeps the message back until it can be read', async () => {
  await using at = await scene();
  const { channel, host } = await at.start();
  await channel.stop();
  const files = [{ bytes: Buffer.from('x'), mime: 'image/png' }];
  at.platform.inject(ADA, 'with file', { silent: true, files });
  at.platform.fault({ call: 'media-list', kind: 'error', status: 503 });
  await at.start({}, host);
  await until('it came', () => host.accepted.length === 1);
  expect(host.accepted[0]?.media).toHaveLength(1);
});

test.concurrent('F39 files that cannot be listed for good go missing with a note, and hold up nothing for ever', async () => {
  await using at = await scene();
  const { channel, host } = await at.start();
  await channel.stop();
  at.platform.inject(ADA, 'with file', { silent: true, files: [{ bytes: Buffer.from('x'), mime: 'image/png' }] });
  at.platform.inject(ADA, 'later', { silent: true });
  at.platform.fault({ call: 'media-list', kind: 'error', status: 403, code: 20003, times: 1_000 });
  await at.start({}, host);
  await until('both came', () => host.accepted.length === 2);
  expect(host.accepted.map(({ text, media }) => [text, media])).toEqual([
    ['with file\n[1 file that cannot be fetched]', []],
    ['later', []],
  ]);
  expect(host.states.some(({ state }) => state === 'down')).toBe(false);
});

test.concurrent('A5 a machine that answers at once is refused after its share, and the refusal is recorded', async () => {
  await using at = await scene();
  const { host } = await at.start({ max_per_sender_per_minute: 3 });
  for (let n = 0; n < 5; n += 1) at.platform.inject(ADA, `loop ${n}`);
  at.platform.inject(BOB, 'me too');
  await until('all arrived', () => host.accepted.length === 6);
  expect(host.accepted.map(({ refusal }) => refusal)).toEqual([
    undefined,
    undefined,
    undefined,
    'loop-cap',
    'loop-cap',
    undefined,
  ]);
  expect(host.accepted[3]).toMatchObject({ text: '', media: [] });
});

test.concurrent('A5 a flood of strangers makes others wait and loses nobody: the list brings what had no room', async () => {
  await using at = await scene();
  let ahead = 0;
  const clock = { ...quickClock(), now: () => Date.now() + ahead };
  const { host } = await at.start({ max_per_minute: 5, poll_interval_secs: 5 }, new TestHost(), { clock });
  for (let n = 0; n < 8; n += 1) at.platform.inject(`+1999555000${n}`, 'spam');
  const sid = at.platform.inject(ADA, 'mine');
  await until('the webhooks were answered', () => at.platform.webhooks.get(sid));
  expect(at.platform.webhooks.get(sid)).toEqual([503]);
  await systemClock.sleep(600); // two readings
  expect(host.accepted).toHaveLength(5);
  ahead = 61_000;
  await until('it came', () => host.accepted.some(({ text }) => text === 'mine'));
  expect(host.accepted.map(({ refusal }) => refusal)).toEqual(Array.from({ length: 9 }, () => undefined));
  expect(host.state).toBe('healthy');
});

test.concurrent('a cursor that cannot be read starts afresh, and says so', async () => {
  await using at = await scene();
  const { host } = await at.start({}, new TestHost('{"at":"x"}'));
  expect(at.logger.lines.some(({ event }) => event === 'twilio.cursor-unreadable')).toBe(true);
  expect(JSON.parse((await host.cursor()) ?? '')).toMatchObject({ at: expect.any(Number), floor: expect.any(Number) });
});
