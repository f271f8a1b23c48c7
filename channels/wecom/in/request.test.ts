// The platform's side is played by its own package: another author's crypto must agree with ours.
import { createCipheriv } from 'node:crypto';
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { WebhookRequest } from '../../../src/core/channel.ts';
import type { InboundMessage } from '../../../src/core/message.ts';
import { WecomPush } from '../../../src/simulator/wecom/push.ts';
import { FakeClock, MemoryLogger } from '../../../src/testing/fakes.ts';
import { encryptedOf, openCallback, parseAesKey } from './request.ts';
import { createWebhookHandler } from './webhook.ts';

const CORP = 'wwtestcompany';

function scene() {
  const push = new WecomPush({ corpId: CORP, agentId: 7 });
  const clock = new FakeClock(Date.now());
  const logger = new MemoryLogger();
  const taken: InboundMessage[] = [];
  const keys = { token: push.token, aesKey: parseAesKey(push.aesKey, 'KEY'), receiveId: CORP };
  const handle = createWebhookHandler({
    keys,
    context: { channel: 'wecom', account: `${CORP}:7`, corpId: CORP, agentId: '7' },
    take: async (message) => void taken.push(message),
    clock,
    logger,
  });
  const ask = (method: 'GET' | 'POST', query: URLSearchParams, body: string | Buffer = '') => {
    const request: WebhookRequest = { method, target: `/hooks/wecom?${query}`, query, headers: {}, body: Buffer.from(body) };
    return handle(request, new AbortController().signal);
  };
  const post = (sealed: { query: URLSearchParams; body: string | Buffer }) => ask('POST', sealed.query, sealed.body);
  const hello = push.xml('ada', { MsgType: 'text', Content: 'hello' });
  return { push, clock, logger, taken, keys, ask, post, hello };
}

test('a message that the platform signed and encrypted is taken, and answered empty', async () => {
  const { push, post, taken, hello } = scene();
  expect(await post(push.seal(hello))).toEqual({ status: 200 });
  expect(taken).toMatchObject([{ senderId: 'ada', text: 'hello', chatId: 'ada' }]);
});

test('the echo of the address check is decrypted and returned as it is', async () => {
  const { push, keys, ask } = scene();
  const { query, body } = push.seal('1616140317555161061');
  query.set('echostr', encryptedOf(Buffer.from(body)) ?? '');
  expect(await ask('GET', query)).toEqual({ status: 200, body: '1616140317555161061' });
  query.set('echostr', `${query.get('echostr')}AAAA`);
  expect(await ask('GET', query)).toEqual({ status: 403 });
  expect(openCallback({ query: new URLSearchParams(), encrypted: undefined }, keys, Date.now())).toHaveProperty('reason');
});

test.each([
  ['another token', { token: 'guess' }],
  ['another key', { aesKey: 'B'.repeat(43) }],
  ['another company', { receiveId: 'wwsomebodyelse' }],
  ['a company whose id begins with ours', { receiveId: `${CORP}x` }],
  ['no company', { receiveId: '' }],
  ['a stamp of six minutes ago', { timestamp: Math.floor(Date.now() / 1_000) - 360 }],
  ['a stamp of six minutes ahead', { timestamp: Math.floor(Date.now() / 1_000) + 360 }],
  ['a stamp that is no number', { timestamp: '1e9' }],
  ['a negative stamp', { timestamp: '-1' }],
])('A9 a callback with %s is refused and nothing is taken', async (_name, forgery) => {
  const { push, post, taken, hello } = scene();
  expect(await post(push.seal(hello, forgery))).toEqual({ status: 403 });
  expect(taken).toEqual([]);
});

test.each(['msg_signature', 'timestamp', 'nonce'])('A9 a callback without %s is refused', async (name) => {
  const { push, post, taken, hello } = scene();
  const sealed = push.seal(hello);
  sealed.query.delete(name);
  expect(await post(sealed)).toEqual({ status: 403 });
  const empty = push.seal(hello);
  empty.query.set(name, '');
  expect(await post(empty)).toEqual({ status: 403 });
  expect(taken).toEqual([]);
});

test('A9 a signature in capital letters is the same, one that is too short or too long is none', async () => {
  const { push, post, taken, hello } = scene();
  const given = (change: (signature: string) => string) => {
    const sealed = push.seal(hello);
    sealed.query.set('msg_signature', change(sealed.query.get('msg_signature') ?? ''));
    return post(sealed);
  };
  expect(await given((signature) => signature.toUpperCase())).toEqual({ status: 200 });
  expect(await given((signature) => signature.slice(1))).toEqual({ status: 403 });
  expect(await given((signature) => `${signature}0`)).toEqual({ status: 403 });
  expect(await given(() => '0'.repeat(40))).toEqual({ status: 403 });
  expect(taken).toHaveLength(1);
});

test('A13 a recorded callback is refused once it is old, and is the same message before', async () => {
  const { push, post, taken, clock, hello } = scene();
  const sealed = push.seal(hello);
  expect([await post(sealed), await post(sealed)]).toEqual([{ status: 200 }, { status: 200 }]);
  expect(new Set(taken.map(({ id }) => id)).size).toBe(1);
  await clock.advance(6 * 60_000);
  expect(await post(sealed)).toEqual({ status: 403 });
});

test('a callback of another application of the company is refused', async () => {
  const { push, post, taken } = scene();
  expect(await post(push.seal(push.xml('ada', { MsgType: 'text', Content: 'x', AgentID: 8 })))).toEqual({ status: 403 });
  expect(await post(push.seal(push.xml('ada', { MsgType: 'text', Content: 'x', ToUserName: 'wwother' })))).toEqual({
    status: 403,
  });
  expect(taken).toEqual([]);
});

test('padding that is not the padding of the platform is refused', () => {
  const { push, keys } = scene();
  const seal = (tail: Buffer) => {
    const head = Buffer.concat([Buffer.alloc(16, 1), Buffer.from([0, 0, 0, 2]), Buffer.from('hi'), Buffer.from(CORP)]);
    const cipher = createCipheriv('aes-256-cbc', keys.aesKey, keys.aesKey.subarray(0, 16)).setAutoPadding(false);
    const encrypted = Buffer.concat([cipher.update(Buffer.concat([head, tail])), cipher.final()]).toString('base64');
    const { query } = push.sealRaw(encrypted);
    return openCallback({ query, encrypted }, keys, Date.now());
  };
  const missing = 64 - (16 + 4 + 2 + CORP.length);
  expect(missing).toBeLessThanOrEqual(32);
  expect(seal(Buffer.alloc(missing, missing))).toMatchObject({ plaintext: Buffer.from('hi') });
  const wrong = Buffer.alloc(missing, missing);
  wrong[0] = 0;
  expect(seal(wrong)).toHaveProperty('reason');
  expect(seal(Buffer.alloc(missing, 0))).toHaveProperty('reason');
  expect(seal(Buffer.alloc(missing, 33))).toHaveProperty('reason');
});

test('a body is a callback with exactly one ciphertext, and nothing else of it is read before the signature', () => {
  const of = (body: string) => encryptedOf(Buffer.from(body));
  expect(of('<xml><Encrypt><![CDATA[QUJD]]></Encrypt></xml>')).toBe('QUJD');
  expect(of('<xml><Encrypt>QUJD</Encrypt></xml>')).toBe('QUJD');
  expect(of('<xml><Encrypt>QUJD</Encrypt><Encrypt>QUJD</Encrypt></xml>')).toBeUndefined();
  expect(of('<!DOCTYPE x [<!ENTITY e "QUJD">]><xml><Encrypt>&e;</Encrypt></xml>')).toBeUndefined();
  expect(of('')).toBeUndefined();
});

test('an EncodingAESKey that is none stops the channel before it starts, without the key in the words', () => {
  for (const bad of ['', 'short', 'A'.repeat(42), 'A'.repeat(44), `${'A'.repeat(42)}!`]) {
    expect(() => parseAesKey(bad, 'WECOM_ENCODING_AES_KEY')).toThrow(/WECOM_ENCODING_AES_KEY does not hold/);
  }
});

test('refused callbacks are told once a minute with their number, so that nobody can fill the log', async () => {
  const { push, post, clock, logger, hello } = scene();
  for (let time = 0; time < 50; time += 1) await post(push.seal(hello, { token: 'guess' }));
  await clock.advance(60_000);
  await post(push.seal(hello, { token: 'guess' }));
  const lines = logger.lines.filter(({ event }) => event === 'wecom.callback-refused').map(({ data }) => data['count']);
  expect(lines).toEqual([1, 50]);
});

test('A9 no change of one byte, anywhere in 10,000 callbacks, gets anything taken', async () => {
  const { push, post, taken, hello } = scene();
  const whole = push.seal(hello);
  const body = Buffer.from(whole.body);
  // Outside the ciphertext the body is not signed, and not looked at either.
  const [from, to] = [whole.body.indexOf('<![CDATA[', whole.body.indexOf('<Encrypt>')), whole.body.indexOf('</Encrypt>')];
  const query = String(whole.query);
  await fc.assert(
    fc.asyncProperty(fc.boolean(), fc.nat(), fc.integer({ min: 1, max: 255 }), async (inBody, place, flip) => {
      const changed = Buffer.from(inBody ? body : query);
      const at = inBody ? from + (place % (to - from)) : place % changed.length;
      changed[at] = (changed[at] ?? 0) ^ flip;
      const sealed = inBody
        ? { query: whole.query, body: changed }
        : { query: new URLSearchParams(changed.toString('latin1')), body };
      // These changes mean the same: another case in the signature, white space around the ciphertext.
      const same =
        encryptedOf(Buffer.from(sealed.body)) === encryptedOf(body) &&
        ['timestamp', 'nonce'].every((name) => sealed.query.get(name) === whole.query.get(name)) &&
        sealed.query.get('msg_signature')?.toLowerCase() === whole.query.get('msg_signature');
      taken.length = 0;
      expect((await post(sealed)).status).toBe(same ? 200 : 403);
      expect(taken.length).toBe(same ? 1 : 0);
    }),
    { numRuns: 10_000, seed: 7 },
  );
});
