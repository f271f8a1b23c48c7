import twilio from 'twilio';
import { expect, test } from 'vitest';
import type { WebhookRequest } from '../../../src/core/channel.ts';
import { fromWebhook, type InboundContext } from './inbound.ts';
import { type Proof, verify } from './request.ts';

const URL_ = 'https://gatehouse.example/hooks/sms';
const TOKEN = 'f0e1d2c3b4a5968778695a4b3c2d1e0f';
const PROOF: Proof = { publicUrl: URL_, authToken: TOKEN };
const FIELDS = {
  From: '+14155550001',
  To: '+15005550006',
  Body: 'größe & + =x 👋',
  MessageSid: `SM${'a'.repeat(32)}`,
  Empty: '',
};
const FORM = 'application/x-www-form-urlencoded';

interface Shape {
  readonly url?: string;
  readonly query?: string;
  readonly body?: string | Buffer;
  readonly type?: string;
  readonly signature?: string | undefined;
}

function request(shape: Shape = {}): WebhookRequest {
  const { query = '', body = new URLSearchParams(FIELDS).toString(), type = FORM, url = URL_ } = shape;
  const signature = 'signature' in shape ? shape.signature : twilio.getExpectedTwilioSignature(TOKEN, `${url}${query}`, FIELDS);
  return {
    method: 'POST',
    target: `/hooks/sms${query}`,
    query: new URLSearchParams(query),
    headers: { 'content-type': type, ...(signature !== undefined && { 'x-twilio-signature': signature }) },
    body: Buffer.from(body),
  };
}

test('what the official SDK signed is genuine, and its fields are read', () => {
  const verdict = verify(request(), PROOF);
  expect(verdict.kind).toBe('genuine');
  expect(verdict.kind === 'genuine' && Object.fromEntries(verdict.fields)).toEqual(FIELDS);
  expect(verify(request({ query: '?part=1&x=%27' }), PROOF).kind).toBe('genuine');
  expect(verify(request({ type: `${FORM}; charset=UTF-8` }), PROOF).kind).toBe('genuine');
});

test('A7 without a signature, or without a token to check it with, nothing is believed', () => {
  expect(verify(request({ signature: undefined }), PROOF)).toEqual({ kind: 'refused', why: 'no signature' });
  expect(verify(request({ signature: '' }), PROOF).kind).toBe('refused');
  const unsigned = twilio.getExpectedTwilioSignature('', URL_, FIELDS);
  expect(verify(request({ signature: unsigned }), { ...PROOF, authToken: '' }).kind).toBe('refused');
});

test('A7 another token, address, query, field or value is refused', () => {
  const other = twilio.getExpectedTwilioSignature('0'.repeat(32), URL_, FIELDS);
  expect(verify(request({ signature: other }), PROOF).kind).toBe('refused');
  expect(verify(request({ url: 'https://evil.example/hooks/sms' }), PROOF).kind).toBe('refused');
  const genuine = twilio.getExpectedTwilioSignature(TOKEN, URL_, FIELDS);
  expect(verify(request({ query: '?x=1', signature: genuine }), PROOF).kind).toBe('refused');
  for (const change of [{ Body: 'other' }, { From: '+19995550000' }, { Extra: '1' }, { MediaUrl0: 'http://evil.example/' }]) {
    const body = new URLSearchParams({ ...FIELDS, ...change }).toString();
    expect(verify(request({ body }), PROOF)).toEqual({ kind: 'refused', why: 'wrong signature' });
  }
  // The length of a signature must not matter to the comparison.
  for (const signature of ['x', `${genuine}=`, genuine.slice(0, -1), genuine.toLowerCase()]) {
    expect(verify(request({ signature }), PROOF).kind).toBe('refused');
  }
});

test('the host a request names is not believed: only the configured address counts', () => {
  const evil = 'https://evil.example/hooks/sms';
  const signature = twilio.getExpectedTwilioSignature('attacker', evil, FIELDS);
  const forged = request({ signature });
  const headers = { ...forged.headers, host: 'evil.example', 'x-forwarded-host': 'evil.example', 'x-forwarded-proto': 'https' };
  expect(verify({ ...forged, headers }, PROOF).kind).toBe('refused');
});

test.each([
  [URL_, 'https://gatehouse.example:443/hooks/sms'],
  ['https://gatehouse.example:443/hooks/sms', URL_],
  ['http://gatehouse.example/hooks/sms', 'http://gatehouse.example:80/hooks/sms'],
  ['https://gatehouse.example:8443/hooks/sms', 'https://gatehouse.example:8443/hooks/sms'],
  ['https://[::1]/hooks/sms', 'https://[::1]:443/hooks/sms'],
  [`${URL_}#rc=3&rp=all`, URL_],
  [`${URL_}#rc=3&rp=all`, `${URL_}#rc=3&rp=all`],
])('the address %s is also known as %s', (publicUrl, url) => {
  expect(verify(request({ url }), { ...PROOF, publicUrl }).kind).toBe('genuine');
});

test('a port that is not the standard one is part of the address', () => {
  expect(verify(request(), { ...PROOF, publicUrl: 'https://gatehouse.example:8443/hooks/sms' }).kind).toBe('refused');
});

test('a repeated field is signed as the SDK signs it', () => {
  const body = 'B=2&B=1&B=2&A=x';
  const signature = twilio.getExpectedTwilioSignature(TOKEN, URL_, { B: ['2', '1', '2'], A: 'x' });
  const verdict = verify(request({ body, signature }), PROOF);
  expect(verdict.kind === 'genuine' && verdict.fields.get('B')).toBe('2');
});

test('JSON is covered by its hash in the signed address, and by nothing less', () => {
  const body = JSON.stringify(FIELDS);
  const query = `?bodySHA256=${twilio.getExpectedBodyHash(body)}`;
  const signature = twilio.getExpectedTwilioSignature(TOKEN, `${URL_}${query}`, {});
  const shape = { body, query, signature, type: 'application/json' };
  const verdict = verify(request(shape), PROOF);
  expect(verdict.kind === 'genuine' && verdict.fields.get('Body')).toBe(FIELDS.Body);
  expect(verify(request({ ...shape, body: body.replace('größe', 'grösse') }), PROOF)).toEqual({
    kind: 'refused',
    why: 'wrong body hash',
  });
  const bare = twilio.getExpectedTwilioSignature(TOKEN, URL_, {});
  expect(verify(request({ body, type: 'application/json', signature: bare }), PROOF).kind).toBe('refused');
  for (const type of ['text/plain', 'multipart/form-data', '']) {
    expect(verify(request({ ...shape, type }), PROOF)).toEqual({ kind: 'refused', why: 'unknown content type' });
  }
  for (const broken of ['null', '"x"', '{', '']) {
    const hash = `?bodySHA256=${twilio.getExpectedBodyHash(broken)}`;
    const signed = twilio.getExpectedTwilioSignature(TOKEN, `${URL_}${hash}`, {});
    expect(verify(request({ body: broken, query: hash, signature: signed, type: 'application/json' }), PROOF).kind).toBe(
      'refused',
    );
  }
});

const CONTEXT: InboundContext = {
  channel: 'sms',
  number: FIELDS.To,
  accountSid: `AC${'b'.repeat(32)}`,
  isMediaHost: (host) => host === 'api.twilio.com',
  answerOptOutWords: false,
  now: 1,
};

test('A45 10,000 mutated requests: none is believed, none breaks the reader', () => {
  const genuine = request();
  const query = `?bodySHA256=${twilio.getExpectedBodyHash(JSON.stringify(FIELDS))}`;
  const json = request({
    body: JSON.stringify(FIELDS),
    type: 'application/json',
    query,
    signature: twilio.getExpectedTwilioSignature(TOKEN, `${URL_}${query}`, {}),
  });
  const random = seeded(7);
  // Collected, because an assertion costs more than refusing a request does.
  const wrong: string[] = [];
  for (let round = 0; round < 10_000; round += 1) {
    const source = round % 2 === 0 ? genuine : json;
    const body = mutate(source.body, random);
    const verdict = verify({ ...source, body }, PROOF);
    if (verdict.kind === 'genuine') {
      // It may be cut elsewhere, which the signature cannot tell, but has the same sender and the same key.
      const message = fromWebhook(verdict.fields, CONTEXT);
      const isTheirs = message?.senderId === FIELDS.From && message.platformId === FIELDS.MessageSid;
      if (message && !isTheirs) wrong.push(`${round}: ${message.senderId} ${message.platformId}`);
    }
    // The reader behind the signature holds for anything, too: a key may leak, Twilio may change.
    const message = fromWebhook(new Map(new URLSearchParams(body.toString('utf8'))), CONTEXT);
    if (message && message.media.length > 0) wrong.push(`${round}: ${JSON.stringify(message.media)}`);
  }
  expect(wrong).toEqual([]);
});

test('A3 a captured request that is cut elsewhere, to come from somebody else, is left to the list', () => {
  const body = 'payFrom+14155550001FromCity';
  const signed = {
    AccountSid: 'AC1',
    Body: body,
    From: '+19995550000',
    FromCity: 'X',
    MessageSid: FIELDS.MessageSid,
    To: FIELDS.To,
  };
  const signature = twilio.getExpectedTwilioSignature(TOKEN, URL_, signed);
  const forged = { ...signed, Body: 'pay', From: '+14155550001', FromCity: 'From+19995550000FromCityX' };
  // The same bytes are signed: the scheme itself cannot tell the two.
  expect(twilio.getExpectedTwilioSignature(TOKEN, URL_, forged)).toBe(signature);
  expect(verify(request({ body: new URLSearchParams(forged).toString(), signature }), PROOF)).toEqual({ kind: 'ambiguous' });
  const names = { ...signed, Body: 'pay', From: '+14155550001', 'FromCityFrom+19995550000FromCity': 'X' };
  const { FromCity: _, ...rest } = names;
  expect(verify(request({ body: new URLSearchParams(rest).toString(), signature }), PROOF).kind).not.toBe('genuine');
});

const REST = { AccountSid: 'AC1', FromCity: 'SF', FromCountry: 'US', MessageSid: FIELDS.MessageSid, To: FIELDS.To };

test.each<[string, string, Readonly<Record<string, string>>]>([
  [
    'into a field of an unknown name that hides it',
    'runCFromAFrom+19995550000FromA',
    { Body: 'run', C: 'FromA', From: '+19995550000', FromA: 'From+14155550001' },
  ],
  [
    'into a field of the same kind',
    'runFrom+19995550000FromCityX',
    { Body: 'run', From: '+19995550000', FromCity: 'XFrom+14155550001FromCitySF' },
  ],
  ['into the name of a field', 'runFrom+19995550000', { Body: 'run', From: '+19995550000', 'FromFrom+14155550001': '' }],
])('A3 a text that moves its true sender %s is left to the list', (_where, text, cut) => {
  const signed = { ...REST, Body: text, From: '+14155550001' };
  const signature = twilio.getExpectedTwilioSignature(TOKEN, URL_, signed);
  const body = new URLSearchParams({ ...REST, ...cut }).toString();
  expect(verify(request({ body, signature }), PROOF).kind).not.toBe('genuine');
});

test('A3 of two senders in one request none is believed', () => {
  const signed = { ...REST, Body: 'runFrom+12015550000', From: '+14155550001' };
  const signature = twilio.getExpectedTwilioSignature(TOKEN, URL_, signed);
  const body = new URLSearchParams([...Object.entries({ ...REST, Body: 'run', From: '+12015550000' }), ['From', '+14155550001']]);
  expect(verify(request({ body: body.toString(), signature }), PROOF)).toEqual({ kind: 'ambiguous' });
});

test('a text with the word From in it is genuine', () => {
  const signed = { ...REST, Body: 'From: Ada. From now on, no mail', From: '+14155550001' };
  const signature = twilio.getExpectedTwilioSignature(TOKEN, URL_, signed);
  expect(verify(request({ body: new URLSearchParams(signed).toString(), signature }), PROOF).kind).toBe('genuine');
});

function seeded(seed: number): () => number {
  let state = seed;
  return () => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return state / 2 ** 32;
  };
}

/** One to four bytes changed, cut, doubled or put in. */
function mutate(bytes: Buffer, random: () => number): Buffer {
  let out = Buffer.from(bytes);
  const times = 1 + Math.floor(random() * 4);
  for (let time = 0; time < times; time += 1) {
    const at = Math.floor(random() * out.length);
    const kind = random();
    if (kind < 0.4) out[at] = Math.floor(random() * 256);
    else if (kind < 0.6) out = Buffer.concat([out.subarray(0, at), out.subarray(at + 1 + Math.floor(random() * 8))]);
    else if (kind < 0.8)
      out = Buffer.concat([out.subarray(0, at), Buffer.from('&NumMedia=3&MediaUrl0=http://x/'), out.subarray(at)]);
    else out = Buffer.concat([out, out.subarray(at)]);
  }
  return out;
}
