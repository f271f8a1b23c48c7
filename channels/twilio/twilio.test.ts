/** Settings, sending and secrets, against the test server. */
import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { inspect, promisify } from 'node:util';
import { afterEach, expect, test } from 'vitest';
import type { Channel, SendResult } from '../../src/core/channel.ts';
import type { OutboundPart } from '../../src/core/message.ts';
import { systemClock } from '../../src/lib/clock.ts';
import { channelDeps } from '../../src/testing/channel-deps.ts';
import { outbound, until } from '../../src/testing/fakes.ts';
import { type TwilioScene, twilioScene } from '../../src/testing/twilio/scene.ts';
import { channel as descriptor } from './index.ts';

const ADA = '+14155550001';

const open: TwilioScene[] = [];
afterEach(async () => {
  for (const scene of open.splice(0)) await scene[Symbol.asyncDispose]();
});

async function scene(authToken?: string): Promise<TwilioScene> {
  const made = await twilioScene(descriptor, authToken);
  open.push(made);
  return made;
}

function send(channel: Channel, part: Partial<OutboundPart>, plain = false): Promise<SendResult> {
  const signal = new AbortController().signal;
  return channel.send(outbound({ channel: 'twilio', account: channel.account, chatId: ADA, ...part }), { plain, signal });
}

test('settings have defaults and refuse what cannot work', () => {
  const parse = (settings: object) => descriptor.settings.parse({ from_number: '+15005550006', ...settings });
  expect(parse({})).toMatchObject({
    account_sid_env: 'TWILIO_ACCOUNT_SID',
    api_root: 'https://api.twilio.com',
    poll_interval_secs: 60,
  });
  expect(parse({ from_number: '12345', public_url: 'https://x.example/hooks/sms#rc=3&rp=all' })).toMatchObject({
    from_number: '12345',
  });
  for (const wrong of [
    { from_number: '15005550006x' },
    { from_number: 'whatsapp:+15005550006' },
    { public_url: 'https://x.example/hooks/sms?a=1' },
    { public_url: 'https://user:secret@x.example/hooks/sms' },
    { public_url: 'ftp://x.example/' },
    { api_root: 'nowhere' },
    { form_number: '+15005550006' },
  ]) {
    expect(() => parse(wrong)).toThrow();
  }
});

test('loading the descriptor does not load the SDK', async () => {
  const script = `await import(${JSON.stringify(join(import.meta.dirname, 'index.ts'))});
    const { default: { _cache } } = await import('node:module');
    console.log(Object.keys(_cache).filter((file) => file.includes('twilio/lib')).length);`;
  const { stdout } = await promisify(execFile)(process.execPath, ['--input-type=module', '-e', script]);
  expect(stdout.trim()).toBe('0');
});

test('a secret that is no account SID is refused at once, without showing it', async () => {
  const settings = descriptor.settings.parse({ from_number: '+15005550006' });
  const failed = descriptor.create(settings, channelDeps({ secret: () => 'SKhunter2' }));
  await expect(failed).rejects.toMatchObject({ code: 'GH1101' });
  await expect(failed).rejects.not.toThrow(/hunter2/);
});

test('the account is the number, and its rate is what the number may send', async () => {
  const at = await scene();
  expect(await at.create()).toMatchObject({ account: '+15005550006', type: 'twilio', inboundClass: 'B', sendClass: 'find' });
  expect((await at.create()).limits.rate?.perAccount?.perSecond).toBe(1);
  expect((await at.create({ messages_per_second: 100 })).limits.rate?.perAccount).toEqual({ burst: 100, perSecond: 100 });
});

test('one part is one call, with the callback address', async () => {
  const { platform, start } = await scene();
  const { channel } = await start();
  platform.calls.length = 0;
  expect(await send(channel, { text: '**hi** there' })).toMatchObject({ kind: 'sent' });
  expect(platform.calls).toEqual([`POST /2010-04-01/Accounts/${platform.accountSid}/Messages.json`]);
  expect(Object.fromEntries(platform.forms[0] ?? [])).toEqual({
    ...{ To: ADA, From: platform.number, Body: 'hi there' },
    StatusCallback: expect.stringContaining('?part='),
  });
});

test('text of any script arrives as it was written', async () => {
  const { platform, start } = await scene();
  const { channel } = await start();
  const text = 'größe & + = % 你好 👋🏽\nline "two"';
  expect(await send(channel, { text })).toMatchObject({ kind: 'sent' });
  expect(platform.sends[0]?.body).toBe(text);
});

test('F36 a text beyond the limit is too long, a person who wrote STOP is blocked, a name cannot be answered', async () => {
  const { platform, start } = await scene();
  const { channel } = await start();
  expect(await send(channel, { text: 'x'.repeat(1_601) })).toMatchObject({ kind: 'refused', reason: 'too-long' });
  platform.blocked.add(ADA);
  expect(await send(channel, { text: 'x' })).toMatchObject({
    kind: 'refused',
    reason: 'blocked',
    detail: expect.stringContaining('STOP'),
  });
  const calls = platform.calls.length;
  expect(await send(channel, { text: 'x', chatId: 'AMAZON' })).toMatchObject({ kind: 'refused', reason: 'chat-gone' });
  expect(platform.calls.length).toBe(calls);
});

test('F37 a platform that accepts and hangs leaves the outcome unknown after the time limit', async () => {
  const { platform, start } = await scene();
  const { channel } = await start({ send_timeout_secs: 2 });
  platform.fault({ call: 'send', kind: 'hang' });
  expect(await send(channel, { text: 'maybe' })).toMatchObject({ kind: 'unknown' });
  expect(platform.sends).toHaveLength(1);
});

test('F37 an answer that cannot be read is unknown, a connection that never stood is retried', async () => {
  const { platform, start, create } = await scene();
  const { channel } = await start();
  platform.fault({ call: 'send', kind: 'garbage' });
  expect(await send(channel, { text: 'garbage' })).toMatchObject({ kind: 'unknown' });
  platform.fault({ call: 'send', kind: 'cut' });
  expect(await send(channel, { text: 'cut' })).toMatchObject({ kind: 'unknown' });
  platform.fault({ call: 'send', kind: 'error', status: 502 });
  expect(await send(channel, { text: 'gateway' })).toMatchObject({ kind: 'unknown' });
  // TLS to a port that speaks none: the handshake fails, so nothing was sent.
  const secure = await create({ api_root: platform.url.replace('http:', 'https:') });
  expect(await send(secure, { text: 'tls' })).toMatchObject({ kind: 'retry', scope: 'account' });
  await platform.close();
  expect(await send(channel, { text: 'refused' })).toMatchObject({ kind: 'retry', reason: 'not connected: ECONNREFUSED' });
});

test('F35 one wait counts for the account, as its limit does', async () => {
  const { platform, start } = await scene();
  const { channel } = await start();
  const headers = { 'retry-after': '7' };
  platform.fault({ call: 'send', kind: 'error', status: 429, code: 20429, message: 'Too Many Requests', headers });
  expect(await send(channel, { text: 'a' })).toMatchObject({ kind: 'retry', scope: 'account', afterMs: 7_000 });
  expect(platform.sends).toEqual([]);
});

test('stop waits for a send under way, so that its outcome is known', async () => {
  const { platform, start } = await scene();
  const { channel, host } = await start();
  platform.fault({ call: 'send', kind: 'drop' });
  const sending = send(channel, { text: 'last words' });
  await until('the send left', () => platform.calls.some((call) => call.startsWith('POST')));
  await channel.stop();
  expect(await sending).toMatchObject({ kind: 'unknown' });
  expect(await send(channel, { text: 'too late' })).toMatchObject({ kind: 'retry' });
  expect(host.state).toBe('stopped');
});

test('a channel is started once', async () => {
  const { start } = await scene();
  const { channel, host } = await start();
  await expect(channel.start(host, new AbortController().signal)).rejects.toMatchObject({ code: 'GH1004' });
});

test('requests go to the configured address with its path, whatever host the SDK names', async () => {
  const { platform, create } = await scene();
  const channel = await create({ api_root: `${platform.url}/proxy/twilio/` });
  expect(await send(channel, { text: 'x' })).toMatchObject({ kind: 'refused', reason: 'auth' });
  expect(platform.calls).toEqual([`POST /proxy/twilio/2010-04-01/Accounts/${platform.accountSid}/Messages.json`]);
});

test('A29 A48 the auth token appears in no log line, health report, result or error, however a call fails', async () => {
  const token = 'CANARYd41d8cd98f00b204e9800998ec';
  const { platform, start, logger } = await scene(token);
  const { channel, host } = await start({ send_timeout_secs: 2, poll_interval_secs: 5 });
  const seen: unknown[] = [logger.lines, host.states];
  const signal = new AbortController().signal;
  for (const kind of ['drop', 'hang', 'cut', 'garbage'] as const) {
    platform.fault({ call: 'send', kind });
    seen.push(await send(channel, { text: kind }));
  }
  for (const status of [400, 401, 403, 404, 409, 429, 500]) {
    // As a proxy might, which repeats what it was sent.
    platform.fault({ call: 'send', kind: 'error', status, message: `error ${status} for ${token}` });
    seen.push(await send(channel, { text: String(status) }));
  }
  const ref = `MM${'1'.repeat(32)}/ME${'2'.repeat(32)}`;
  const fetchFile = () => channel.download?.({ kind: 'document', ref }, signal).catch((error: unknown) => seen.push(error));
  platform.fault({ call: 'media', kind: 'error', status: 401 });
  await fetchFile();
  platform.fault({ call: 'list', kind: 'error', status: 403, message: `no ${token}` });
  await until('the list failed', () => host.states.some(({ detail }) => detail?.includes('GH1501')));
  platform.fault({ call: 'list', kind: 'cut' });
  seen.push(await channel.find?.(outbound({ chatId: ADA }), signal));
  if (platform.target)
    await fetch(platform.target.toLocal(platform.target.publicUrl), { method: 'POST', body: new URLSearchParams({ a: token }) });
  await platform.close();
  seen.push(await send(channel, { text: 'nobody listens' }));
  await fetchFile();
  await systemClock.sleep(20);
  expect(seen.length).toBeGreaterThan(14);
  const everything = inspect(seen, { depth: 20, showHidden: true, maxArrayLength: null, maxStringLength: null });
  expect(everything).not.toContain('CANARY');
  expect(everything).not.toContain(Buffer.from(`${platform.accountSid}:${token}`).toString('base64'));
});
