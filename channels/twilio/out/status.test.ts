/** What becomes of messages after Twilio took them. */
import { afterEach, expect, test } from 'vitest';
import type { ChannelDeps } from '../../../src/core/channel.ts';
import { quickClock, TestHost } from '../../../src/testing/channel-host.ts';
import { outbound, until } from '../../../src/testing/fakes.ts';
import { type TwilioScene, twilioScene } from '../../../src/testing/twilio/scene.ts';
import { channel as descriptor } from '../index.ts';

const ADA = '+14155550001';

const open: TwilioScene[] = [];
afterEach(async () => {
  for (const scene of open.splice(0)) await scene[Symbol.asyncDispose]();
});

async function sent(deps: Partial<ChannelDeps> = {}) {
  const at = await twilioScene(descriptor);
  open.push(at);
  const { channel, host } = await at.start({ poll_interval_secs: 5 }, new TestHost(), deps);
  const part = outbound({ channel: 'twilio', chatId: ADA, text: 'hello', key: 'twilio/+15005550006/SM1#0' });
  const result = await channel.send(part, { plain: false, signal: new AbortController().signal });
  if (result.kind !== 'sent') throw new Error(result.kind);
  const undelivered = () => at.logger.lines.filter(({ event }) => event === 'twilio.undelivered').map(({ data }) => data);
  return { ...at, channel, host, sid: result.platformId, undelivered };
}

test('a callback goes to an address that names the part by a hash alone', async () => {
  const { platform } = await sent();
  expect(platform.sends[0]?.statusCallback).toMatch(/^https:\/\/gatehouse\.example\/hooks\/twilio\?part=[0-9a-f]{24}$/);
});

test('a message that did not arrive is recorded with the reason, once, without the number of the person', async () => {
  const { platform, sid, undelivered, host } = await sent();
  const batches = host.batches.length;
  expect(await platform.callback(sid, 'sent')).toBe(204);
  expect(await platform.callback(sid, 'undelivered', 30003)).toBe(204);
  expect(await platform.callback(sid, 'undelivered', 30003)).toBe(204);
  expect(undelivered()).toEqual([
    { sid, status: 'undelivered', code: 30003, meaning: 'the phone is switched off or out of reach' },
  ]);
  expect(host.batches.length).toBe(batches);
});

test('the operator sees for a day how many messages did not arrive, and why the last one', async () => {
  let ahead = 0;
  const { platform, sid, host } = await sent({ clock: { ...quickClock(), now: () => Date.now() + ahead } });
  await platform.callback(sid, 'undelivered', 30007);
  expect(host.states.at(-1)).toEqual({
    state: 'degraded',
    detail: '1 message did not arrive in the last 24 h; of the last: the network took the message for spam (Twilio error 30007)',
  });
  ahead = 24 * 3_600_000;
  await until('it is over', () => host.state === 'healthy');
});

test('callbacks that come in another order take nothing back', async () => {
  const { platform, sid, undelivered } = await sent();
  await platform.callback(sid, 'delivered');
  for (const status of ['queued', 'sent', 'undelivered', 'failed', 'nonsense']) await platform.callback(sid, status, 30008);
  expect(undelivered()).toEqual([]);
});

test.each([
  [21610, 'STOP'],
  [30005, 'not exist'],
  [30007, 'spam'],
  [99999, 'see https://www.twilio.com/docs/api/errors'],
])('error %d is told in words', async (code, words) => {
  const { platform, sid, undelivered } = await sent();
  await platform.callback(sid, 'failed', code);
  expect(undelivered()).toMatchObject([{ code, meaning: expect.stringContaining(words) }]);
});

test('what stops every message is shown in the health of the channel, until one is delivered', async () => {
  const { platform, host, channel, sid } = await sent();
  await platform.callback(sid, 'undelivered', 30034);
  expect(host.states.at(-1)).toMatchObject({
    state: 'degraded',
    detail: expect.stringMatching(/^messages do not arrive: .*A2P 10DLC/),
  });
  const part = outbound({ channel: 'twilio', chatId: ADA, text: 'again', key: 'k2' });
  const again = await channel.send(part, { plain: false, signal: new AbortController().signal });
  await platform.callback(again.kind === 'sent' ? again.platformId : '', 'delivered');
  expect(host.states.at(-1)?.detail).toMatch(/^1 message did not arrive/);
});

test('A7 a callback without a signature changes nothing', async () => {
  const { platform, sid, undelivered } = await sent();
  const url = platform.target?.toLocal(platform.sends[0]?.statusCallback ?? '') ?? '';
  const body = new URLSearchParams({ MessageSid: sid, MessageStatus: 'failed', ErrorCode: '30002' });
  expect((await fetch(url, { method: 'POST', body })).status).toBe(403);
  await until('it is quiet', () => undelivered().length === 0);
});
