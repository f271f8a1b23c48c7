/** What a webhook is handed by anybody who knows its address, and what a leaked key would let them write. */
import { expect, test } from 'vitest';
import { feishuEvent, messageEvent, sealWebhook, signWebhook } from '../../src/simulator/feishu/events.ts';
import { FEISHU_KEYS } from '../../src/simulator/feishu/webhook.ts';
import { readEvent, toInbound, unreadable } from './in/inbound.ts';
import { readWebhook } from './in/request.ts';

const { encryptKey, verificationToken } = FEISHU_KEYS;
const APP = { appId: 'cli_0123456789abcdef', token: verificationToken };
const EVENT = feishuEvent('im.message.receive_v1', messageEvent({ text: 'hello' }), APP);
const CONTEXT = { channel: 'feishu', account: APP.appId, me: { openId: 'ou_bot', name: 'Gatehouse' } };
const PIECES = [
  '"',
  '{',
  '}',
  '[',
  ']',
  ':',
  ',',
  '\0',
  '\\u0000',
  '\xff',
  'null',
  '1e999',
  '"encrypt":',
  '"header":',
  '"token":5',
  '=',
];

function generator(seed: number): (below: number) => number {
  let state = seed;
  return (below) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((state / 2 ** 32) * below);
  };
}

function mutate(source: string, draw: (below: number) => number): Buffer {
  let out = Buffer.from(source);
  for (let change = draw(3); change >= 0; change -= 1) {
    const at = draw(out.length + 1);
    const put = Buffer.from(PIECES[draw(PIECES.length)] ?? '', 'latin1');
    out = Buffer.concat([out.subarray(0, at), put, out.subarray(at + draw(12))]);
  }
  return out;
}

function read(body: Buffer, headers: Readonly<Record<string, string>>) {
  const request = { method: 'POST', target: '/hooks/feishu', query: new URLSearchParams(), headers, body } as const;
  return readWebhook(request, FEISHU_KEYS, Date.now());
}

test('A10 A45 10,000 mutated requests: none is believed, and none breaks the reader', () => {
  const draw = generator(3);
  const { body, headers } = sealWebhook(EVENT, encryptKey);
  const names = Object.keys(headers);
  // Collected, because an assertion costs more than refusing a request does.
  const wrong: string[] = [];
  for (let round = 0; round < 10_000; round += 1) {
    const name = names[draw(names.length)] ?? '';
    // Every third has its body as it was, and one of its headers changed.
    const changed = round % 3 === 0 ? Buffer.from(body) : mutate(body, draw);
    const other = round % 3 === 0 ? { ...headers, [name]: mutate(headers[name] ?? '', draw).toString('latin1') } : headers;
    const same = changed.equals(Buffer.from(body)) && (name === 'content-type' || other[name] === headers[name]);
    const verdict = read(changed, other);
    if (verdict.kind !== (same ? 'event' : 'refused')) wrong.push(`${round}: ${verdict.kind}`);
  }
  expect(wrong).toEqual([]);
});

test('A45 10,000 mutated events that are rightly signed and encrypted: each is read, refused or unreadable', () => {
  const draw = generator(4);
  const seen = new Set<string>();
  const wrong: string[] = [];
  for (let round = 0; round < 10_000; round += 1) {
    const sealed = sealWebhook(EVENT, encryptKey);
    // What is signed is the body; a hostile body may be signed by who knows the key.
    const body = round % 2 === 0 ? mutate(sealed.body, draw) : Buffer.from(sealWebhook(JSON.parse(inner(draw)), encryptKey).body);
    const verdict = read(body, signWebhook(body.toString('utf8'), encryptKey));
    seen.add(verdict.kind);
    if (verdict.kind !== 'event') continue;
    let message = unreadable(verdict.payload, CONTEXT, 1);
    try {
      message = toInbound(readEvent(verdict.payload), CONTEXT) ?? message;
    } catch (error) {
      const { message: why } = error as Error;
      if (!/^(?:not an event|the event has no)/.test(why)) wrong.push(`${round}: ${why}`);
    }
    if (typeof message.text !== 'string') wrong.push(`${round}: its text is of type ${typeof message.text}`);
  }
  expect(wrong).toEqual([]);
  expect([...seen].sort()).toEqual(['event', 'refused']);
});

/** The event with one piece of its JSON torn, made JSON again where that does not work out. */
function inner(draw: (below: number) => number): string {
  const text = mutate(JSON.stringify(EVENT), draw).toString('utf8');
  try {
    JSON.parse(text);
    return text;
  } catch {
    return JSON.stringify({ ...EVENT, event: text });
  }
}
