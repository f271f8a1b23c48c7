/**
 * Whom a webhook believes. The platform's side is written from its documentation, in
 * `src/simulator/feishu/events.ts`.
 */
import { createCipheriv, createHash, randomBytes } from 'node:crypto';
import { afterEach, expect, test } from 'vitest';
import type { WebhookRequest } from '../../../src/core/channel.ts';
import type { Clock } from '../../../src/core/ports.ts';
import { systemClock } from '../../../src/lib/clock.ts';
import { feishuEvent, messageEvent, sealWebhook, signWebhook } from '../../../src/simulator/feishu/events.ts';
import { FEISHU_KEYS } from '../../../src/simulator/feishu/webhook.ts';
import { quickClock, TestHost } from '../../../src/testing/channel-host.ts';
import { until } from '../../../src/testing/fakes.ts';
import { type FeishuPlatform, feishuPlatform, feishuScene } from '../../../src/testing/feishu/scene.ts';
import { readWebhook } from './request.ts';

const open: AsyncDisposable[] = [];
afterEach(async () => {
  for (const item of open.splice(0).reverse()) await item[Symbol.asyncDispose]();
});

const { encryptKey, verificationToken } = FEISHU_KEYS;
const APP = { appId: 'cli_0123456789abcdef', token: verificationToken };
const EVENT = feishuEvent('im.message.receive_v1', messageEvent({ text: 'hello' }), APP);

function request(body: string, headers: Readonly<Record<string, string>> = {}): WebhookRequest {
  return { method: 'POST', target: '/hooks/feishu', query: new URLSearchParams(), headers, body: Buffer.from(body) };
}

function verdict(body: string, headers?: Readonly<Record<string, string>>, now = Date.now()) {
  return readWebhook(request(body, headers), FEISHU_KEYS, now);
}

test('an event that is encrypted and signed is read', () => {
  const { body, headers } = sealWebhook(EVENT, encryptKey);
  expect(verdict(body, headers)).toEqual({ kind: 'event', payload: EVENT });
});

test('the worked example of the documentation is decrypted', () => {
  // "Encryption and decryption strategy": key `test key`, plain text `hello world`.
  const encrypted = 'P37w+VZImNgPEO1RBhJ6RtKl7n6zymIbEG1pReEzghk=';
  const body = JSON.stringify({ encrypt: encrypted });
  // The text is no event, so only its reason tells that it was read: the token is refused, not the
  // encryption.
  const keys = { encryptKey: 'test key', verificationToken };
  const seen = readWebhook(request(body, signWebhook(body, 'test key')), keys, Date.now());
  expect(seen).toEqual({ kind: 'refused', reason: 'the verification token is wrong' });
});

const now = Date.now();
const seal = (payload: unknown, key: string = encryptKey, timestamp?: number) =>
  sealWebhook(payload, key, timestamp === undefined ? {} : { timestamp });
const { body: SEALED, headers: SIGNED } = seal(EVENT);
const without = (name: string) => Object.fromEntries(Object.entries(SIGNED).filter(([key]) => key !== name));
const noToken = { ...EVENT, header: { ...EVENT.header, token: '' } };

test.each<[string, string, Record<string, string>]>([
  ['no signature headers', SEALED, { 'content-type': 'application/json' }],
  ['no signature', SEALED, without('x-lark-signature')],
  ['no timestamp', SEALED, without('x-lark-request-timestamp')],
  ['no nonce', SEALED, without('x-lark-request-nonce')],
  ['a signature of another key', SEALED, signWebhook(SEALED, 'another key')],
  ['a signature of another body', SEALED, signWebhook(`${SEALED} `, encryptKey)],
  ['a changed nonce', SEALED, { ...SIGNED, 'x-lark-request-nonce': '1' }],
  ['a changed timestamp', SEALED, { ...SIGNED, 'x-lark-request-timestamp': String(Math.floor(now / 1_000) + 100) }],
  ['a signature in capitals', SEALED, { ...SIGNED, 'x-lark-signature': SIGNED['x-lark-signature']?.toUpperCase() ?? '' }],
  ['an empty signature', SEALED, { ...SIGNED, 'x-lark-signature': '' }],
  ['a signature over plain text', JSON.stringify(EVENT), signWebhook(JSON.stringify(EVENT), encryptKey)],
  ['another encryption key', ...(Object.values(seal(EVENT, 'another key')) as [string, Record<string, string>])],
  ['no token', ...(Object.values(seal(noToken)) as [string, Record<string, string>])],
  [
    'another token',
    ...(Object.values(seal({ ...EVENT, header: { ...EVENT.header, token: `${verificationToken}x` } })) as [
      string,
      Record<string, string>,
    ]),
  ],
  [
    'a token that is no text',
    ...(Object.values(seal({ ...EVENT, header: { ...EVENT.header, token: [verificationToken] } })) as [
      string,
      Record<string, string>,
    ]),
  ],
  [
    'a timestamp of yesterday',
    ...(Object.values(seal(EVENT, encryptKey, now / 1_000 - 86_400)) as [string, Record<string, string>]),
  ],
  [
    'a timestamp of tomorrow',
    ...(Object.values(seal(EVENT, encryptKey, now / 1_000 + 86_400)) as [string, Record<string, string>]),
  ],
  [
    'a timestamp that is no number',
    SEALED,
    (() => {
      const stamp = 'never';
      const signature = createHash('sha256').update(`${stamp}1${encryptKey}${SEALED}`).digest('hex');
      return { 'x-lark-request-timestamp': stamp, 'x-lark-request-nonce': '1', 'x-lark-signature': signature };
    })(),
  ],
  ['an empty body', '', signWebhook('', encryptKey)],
  ['a body that is a list', '[]', signWebhook('[]', encryptKey)],
])('A10 %s is refused', (_what, body, headers) => {
  expect(verdict(body, headers, now)).toMatchObject({ kind: 'refused' });
});

test('A10 every flipped bit of a signed request is refused', () => {
  const { body, headers } = seal(EVENT);
  const bytes = Buffer.from(body);
  for (let at = 0; at < bytes.length; at += 1) {
    const torn = Buffer.from(bytes);
    torn[at] = (torn[at] ?? 0) ^ (1 << (at % 8));
    expect(readWebhook({ ...request(''), headers, body: torn }, FEISHU_KEYS, Date.now()).kind).toBe('refused');
  }
});

test('A10 a challenge is answered only to who knows key and token', () => {
  const challenge = { challenge: 'ajls384kdjx98XX', token: verificationToken, type: 'url_verification' };
  const unsigned = seal(challenge).body;
  expect(verdict(unsigned)).toEqual({ kind: 'challenge', challenge: 'ajls384kdjx98XX' });
  expect(verdict(unsigned, signWebhook(unsigned, encryptKey))).toMatchObject({ kind: 'challenge' });
  expect(verdict(unsigned, signWebhook(unsigned, 'another key'))).toMatchObject({ kind: 'refused' });
  expect(verdict(JSON.stringify(challenge))).toMatchObject({ kind: 'refused' });
  expect(verdict(seal({ ...challenge, token: 'guess' }).body)).toMatchObject({ kind: 'refused' });
  expect(verdict(seal({ ...challenge, token: undefined }).body)).toMatchObject({ kind: 'refused' });
  expect(verdict(seal(challenge, 'another key').body)).toMatchObject({ kind: 'refused' });
  expect(verdict(seal({ ...challenge, padding: 'x'.repeat(5_000) }).body)).toMatchObject({ kind: 'refused' });
});

async function serving(clock: Clock = systemClock): Promise<{ platform: FeishuPlatform; host: TestHost }> {
  const platform = await feishuPlatform('webhook');
  open.push(platform);
  const channel = await platform.create({ clock });
  open.push({ [Symbol.asyncDispose]: () => channel.stop() });
  const host = new TestHost();
  await channel.start(host, new AbortController().signal);
  return { platform, host };
}

async function post(url: string, body: string, headers: Readonly<Record<string, string>>) {
  const response = await fetch(url, { method: 'POST', headers: { ...headers, connection: 'close' }, body });
  return { status: response.status, text: await response.text() };
}

test('A10 a refusal has no effect and tells nothing of its reason', async () => {
  const { platform, host } = await serving();
  const url = platform.hookUrl();
  // A wrong padding and a wrong token must look the same: else captured requests could be read bit by bit.
  const key = createHash('sha256').update(encryptKey).digest();
  const cipher = createCipheriv('aes-256-cbc', key, randomBytes(16)).setAutoPadding(false);
  const unpadded = JSON.stringify({
    encrypt: Buffer.concat([randomBytes(16), cipher.update(Buffer.alloc(32)), cipher.final()]).toString('base64'),
  });
  const wrongToken = seal({ ...EVENT, header: { ...EVENT.header, token: 'x' } });
  const answers = await Promise.all([
    post(url, unpadded, signWebhook(unpadded, encryptKey)),
    post(url, wrongToken.body, wrongToken.headers),
    post(url, SEALED, {}),
    post(url, 'x', SIGNED),
  ]);
  expect(answers).toEqual(Array.from({ length: 4 }, () => ({ status: 401, text: '' })));
  expect((await fetch(url, { headers: { connection: 'close' } })).status).toBe(405);
  expect(host.offered).toEqual([]);
  expect(host.state).toBe('healthy');
});

test('the challenge of the developer console is answered with its value', async () => {
  const { platform } = await serving();
  const { body } = seal({ challenge: 'c-1', token: verificationToken, type: 'url_verification' });
  expect(await post(platform.hookUrl(), body, {})).toEqual({ status: 200, text: '{"challenge":"c-1"}' });
});

test('while the API is down the address is there: the console is answered, and events are asked for again', async () => {
  const platform = await feishuPlatform('webhook');
  open.push(platform);
  const down = { match: /bot\/v3\/info/, kind: 'error', status: 503, code: 1, msg: 'busy' } as const;
  platform.server.faults.push(...Array.from({ length: 5 }, () => down));
  const channel = await platform.create({ clock: quickClock(10) });
  open.push({ [Symbol.asyncDispose]: () => channel.stop() });
  const host = new TestHost();
  await channel.start(host, new AbortController().signal);
  const event = feishuEvent('im.message.receive_v1', messageEvent({ text: 'hi' }), { ...APP, appId: platform.server.appId });
  const { body, headers } = seal(event);
  expect((await post(platform.hookUrl(), body, headers)).status).toBe(503);
  const challenge = seal({ challenge: 'c-1', token: verificationToken, type: 'url_verification' });
  expect((await post(platform.hookUrl(), challenge.body, {})).status).toBe(200);
  await until('it is well', () => host.state === 'healthy');
  expect((await post(platform.hookUrl(), body, headers)).status).toBe(200);
  expect(host.accepted.map(({ text }) => text)).toEqual(['hi']);
});

test('A13 a request that is replayed is answered and has no second effect, also after a restart', async () => {
  const { platform, host } = await serving();
  const event = feishuEvent('im.message.receive_v1', messageEvent({ text: 'pay' }), { ...APP, appId: platform.server.appId });
  const { body, headers } = seal(event);
  for (let replay = 0; replay < 3; replay += 1) expect((await post(platform.hookUrl(), body, headers)).status).toBe(200);
  for (const channel of open.splice(1)) await channel[Symbol.asyncDispose]();
  const second = await platform.create({ clock: systemClock });
  open.push({ [Symbol.asyncDispose]: () => second.stop() });
  await second.start(host, new AbortController().signal);
  expect((await post(platform.hookUrl(), body, headers)).status).toBe(200);
  expect(host.accepted.map(({ text }) => text)).toEqual(['pay']);
  // Sealed anew by the platform, hours later, and under another event id: the message is still the same one.
  const again = seal({ ...event, header: { ...event.header, event_id: 'another' } });
  expect((await post(platform.hookUrl(), again.body, again.headers)).status).toBe(200);
  expect(host.accepted).toHaveLength(1);
});

test('F13 an event that cannot be committed within the 3 s the platform waits is refused with 503 and comes again', async () => {
  const { platform, host } = await serving(quickClock(5));
  const gate = Promise.withResolvers<{ kind: 'accepted' }>();
  host.next.push(gate.promise);
  const event = feishuEvent('im.message.receive_v1', messageEvent({ text: 'slow' }), { ...APP, appId: platform.server.appId });
  const { body, headers } = seal(event);
  expect((await post(platform.hookUrl(), body, headers)).status).toBe(503);
  gate.resolve({ kind: 'accepted' });
  expect((await post(platform.hookUrl(), body, headers)).status).toBe(200);
  expect(host.accepted.map(({ text }) => text)).toEqual(['slow']);
});

test('A10 mode webhook refuses to start without its two secrets', async () => {
  await using platform = await feishuPlatform('webhook');
  const { channel: descriptor } = await import('../index.ts');
  const { channelDeps } = await import('../../../src/testing/channel-deps.ts');
  for (const missing of ['FEISHU_ENCRYPT_KEY', 'FEISHU_VERIFICATION_TOKEN']) {
    const deps = channelDeps({
      secret: (variable) => {
        if (variable === missing) throw new Error(`GH1103 ${variable}`);
        return platform.server.appId;
      },
    });
    await expect(descriptor.create(descriptor.settings.parse({ mode: 'webhook' }), deps)).rejects.toThrow(missing);
  }
});

test('a button is answered with an empty JSON object, which the platform takes for "done"', async () => {
  await using at = await feishuScene('webhook', { clock: systemClock });
  const value = { choice: 'yes', chat: 'oc_ou_ada', group: false };
  const press = { operator: { open_id: 'ou_ada' }, action: { value, tag: 'button' }, context: { open_chat_id: 'oc_ou_ada' } };
  const { body, headers } = seal(feishuEvent('card.action.trigger', press, { ...APP, appId: at.server.appId }));
  expect(await post(at.hookUrl(), body, headers)).toEqual({ status: 200, text: '{}' });
  expect(await at.message()).toMatchObject({ text: 'yes', senderId: 'ou_ada', isGroup: false });
});
