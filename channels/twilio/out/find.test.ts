/** Was it sent? Against the test server, whose list has no key of ours, as the real one. */
import { afterEach, expect, test } from 'vitest';
import type { Channel } from '../../../src/core/channel.ts';
import type { OutboundPart } from '../../../src/core/message.ts';
import { quickClock } from '../../../src/testing/channel-host.ts';
import { outbound } from '../../../src/testing/fakes.ts';
import { type TwilioScene, twilioScene } from '../../../src/testing/twilio/scene.ts';
import { channel as descriptor } from '../index.ts';

const ADA = '+14155550001';
const signal = new AbortController().signal;
const MINUTE = 60_000;

const open: TwilioScene[] = [];
afterEach(async () => {
  for (const scene of open.splice(0)) await scene[Symbol.asyncDispose]();
});

async function scene(): Promise<TwilioScene & { channel: Channel }> {
  const made = await twilioScene(descriptor);
  open.push(made);
  return { ...made, channel: (await made.start()).channel };
}

function part(text: string, override: Partial<OutboundPart> = {}): OutboundPart {
  const replyContext = { receivedAt: Date.now() };
  return outbound({ channel: 'twilio', account: '+15005550006', chatId: ADA, text, key: `k-${text}`, replyContext, ...override });
}

function send(channel: Channel, one: OutboundPart) {
  return channel.send(one, { plain: false, signal });
}

test('F8 F37 a message whose answer was lost is found, by this process and by the next', async () => {
  const { platform, channel, create } = await scene();
  const one = part('**the** answer is [here](https://example.org)');
  platform.fault({ call: 'send', kind: 'drop' });
  expect(await send(channel, one)).toMatchObject({ kind: 'unknown' });
  const found = { platformId: platform.sends[0]?.sid };
  expect(await channel.find?.(one, signal)).toEqual(found);
  expect(await (await create()).find?.(one, signal)).toEqual(found);
});

test('F8 a message that never left is absent', async () => {
  const { platform, channel, create } = await scene();
  const one = part('hello');
  platform.fault({ call: 'send', kind: 'cut' });
  expect(await send(channel, one)).toMatchObject({ kind: 'unknown' });
  expect(await channel.find?.(one, signal)).toBe('absent');
  expect(await (await create()).find?.(one, signal)).toBe('absent');
});

test('the same words to another person, of another kind, received or long ago are not this part', async () => {
  const { platform, channel, create } = await scene();
  await send(channel, part('ok', { chatId: '+14155550009', key: 'other' }));
  platform.inject(ADA, 'ok', { silent: true });
  const old = { sid: 'SMold', accountSid: platform.accountSid, from: platform.number, to: ADA, body: 'ok', status: 'delivered' };
  platform.messages.push({ ...old, direction: 'outbound-api', at: Date.now() - MINUTE / 2, media: [] });
  platform.messages.push({
    ...old,
    sid: 'MMx',
    direction: 'outbound-api',
    at: Date.now(),
    media: [{ sid: 'ME', mime: 'image/png' }],
  });
  expect(await (await create()).find?.(part('ok'), signal)).toBe('absent');
});

test('of two parts with the same words each is found as itself while the process lives', async () => {
  const { platform, channel } = await scene();
  const [first, second] = [part('same', { key: 'k1' }), part('same', { key: 'k2' })];
  expect(await send(channel, first)).toMatchObject({ kind: 'sent' });
  platform.fault({ call: 'send', kind: 'cut' });
  expect(await send(channel, second)).toMatchObject({ kind: 'unknown' });
  // The list holds one message of these words, and it is the first.
  expect(await channel.find?.(second, signal)).toBe('absent');
  expect(await channel.find?.(first, signal)).toEqual({ platformId: platform.sends[0]?.sid });
});

test('after a restart an answer of the same words, sent since, is taken for this one: the list has no key', async () => {
  const { platform, channel, create } = await scene();
  await send(channel, part('same', { key: 'k1' }));
  expect(await (await create()).find?.(part('same', { key: 'k2' }), signal)).toEqual({ platformId: platform.sends[0]?.sid });
});

test('a message of ours that answers nothing cannot be told from an earlier one, and that is said', async () => {
  const { platform, create } = await scene();
  const reminder = part('good morning');
  const { replyContext: _, ...unasked } = reminder;
  const later = await create();
  expect(await later.find?.(unasked, signal)).toBe('absent');
  const sent = {
    sid: 'SM1',
    accountSid: platform.accountSid,
    from: platform.number,
    to: ADA,
    body: 'good morning',
    status: 'sent',
  };
  platform.messages.push({ ...sent, direction: 'outbound-api', at: Date.now() - 120 * MINUTE, media: [] });
  expect(await later.find?.(unasked, signal)).toBeUndefined();
});

test('a status callback proves a send whose answer was lost, and keeps it from being taken for another', async () => {
  const { platform, channel } = await scene();
  const [one, twin] = [part('twins', { key: 'k1' }), part('twins', { key: 'k2' })];
  platform.fault({ call: 'send', kind: 'drop' });
  expect(await send(channel, one)).toMatchObject({ kind: 'unknown' });
  const sid = platform.sends[0]?.sid ?? '';
  expect(await platform.callback(sid, 'sent')).toBe(204);
  const lists = platform.calls.length;
  expect(await channel.find?.(one, signal)).toEqual({ platformId: sid });
  expect(platform.calls.length).toBe(lists);
  expect(await channel.find?.(twin, signal)).toBe('absent');
});

test('a clock of ours that is ahead hides nothing', async () => {
  const { platform, channel, create } = await scene();
  const one = part('skewed', { replyContext: { receivedAt: Date.now() + 600_000 } });
  platform.fault({ call: 'send', kind: 'drop' });
  await send(channel, one);
  const ahead = { ...quickClock(), now: () => Date.now() + 600_000 };
  const found = await (await create({}, { clock: ahead })).find?.(one, signal);
  expect(found).toEqual({ platformId: platform.sends[0]?.sid });
});

test('a trial account, which puts a sentence in front, is seen through', async () => {
  const { platform, create } = await scene();
  const body = 'Sent from your Twilio trial account - hi there\r\nfriend ';
  const sent = { sid: 'SM1', accountSid: platform.accountSid, from: platform.number, to: ADA, body, status: 'sent' };
  platform.messages.push({ ...sent, direction: 'outbound-api', at: Date.now(), media: [] });
  expect(await (await create()).find?.(part('hi there\nfriend'), signal)).toEqual({ platformId: 'SM1' });
});

test('a message whose signs were made plain on the way is found, as one that was sent before they were', async () => {
  const { platform, create } = await scene();
  const sent = { accountSid: platform.accountSid, from: platform.number, to: ADA, status: 'sent', direction: 'outbound-api' };
  platform.messages.push({ ...sent, sid: 'SM1', body: "It's plain", at: Date.now(), media: [] });
  platform.messages.push({ ...sent, sid: 'SM2', body: 'It’s printed', at: Date.now(), media: [] });
  expect(await (await create()).find?.(part('It’s plain'), signal)).toEqual({ platformId: 'SM1' });
  expect(await (await create()).find?.(part('It’s printed'), signal)).toEqual({ platformId: 'SM2' });
});

test('a list of many pages is followed, and not without end', async () => {
  const { platform, create } = await scene();
  platform.pageSize = 5;
  const one = part('deep');
  const sent = { accountSid: platform.accountSid, from: platform.number, to: ADA, status: 'sent', direction: 'outbound-api' };
  platform.messages.push({ ...sent, sid: 'SMdeep', body: 'deep', at: Date.now(), media: [] });
  for (let n = 0; n < 30; n += 1) platform.messages.push({ ...sent, sid: `SM${n}`, body: `n${n}`, at: Date.now(), media: [] });
  expect(await (await create()).find?.(one, signal)).toEqual({ platformId: 'SMdeep' });
  for (let n = 0; n < 100; n += 1) platform.messages.push({ ...sent, sid: `SMx${n}`, body: `n${n}`, at: Date.now(), media: [] });
  platform.calls.length = 0;
  await (await create()).find?.(one, signal);
  expect(platform.calls.length).toBeLessThanOrEqual(10);
});

test('a list that cannot be read says nothing, and an abort ends the search with its reason', async () => {
  const { platform, channel, create } = await scene();
  platform.fault({ call: 'list', kind: 'error', status: 503 });
  expect(await channel.find?.(part('x'), signal)).toBeUndefined();
  platform.fault({ call: 'list', kind: 'hang' });
  const abort = new AbortController();
  const patient = await create({ find_grace_secs: 20 });
  const searching = patient.find?.(part('x'), abort.signal);
  const reason = new Error('enough');
  setTimeout(() => abort.abort(reason), 30);
  await expect(searching).rejects.toBe(reason);
});
