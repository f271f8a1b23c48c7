import { expect, test } from 'vitest';
import type { OutboundFile, OutboundPart } from '../../../src/core/message.ts';
import { refusalOf } from '../../../src/simulator/discord/rules.ts';
import { outbound } from '../../../src/testing/fakes.ts';
import { CallError, type CallFailure } from '../../kit/call-error.ts';
import { isFinal, toSendResult } from '../wire/failure.ts';
import { awaitingOf, nonceOf, placeOf, toAnswer, toCreate, toEditCall } from './outbound.ts';
import { opusSeconds } from './voice-note.ts';

const CHANNEL = '110000000000000010';
const QUESTION = '500000000000000005';
const NOW = Date.UTC(2026, 0, 1);

const part = (override: Partial<OutboundPart> = {}): OutboundPart => outbound({ chatId: CHANNEL, ...override });
const create = async (override: Partial<OutboundPart>, plain = false) =>
  (await toCreate(part(override), CHANNEL, { plain })).body;

test('A31 a message bears the key of its part as a nonce, notifies nobody, and has no previews of links', async () => {
  const { method, route, body } = await toCreate(part({ text: 'hi @everyone', key: 'k#0' }), CHANNEL, { plain: true });
  expect([method, route]).toEqual(['POST', `/channels/${CHANNEL}/messages`]);
  expect(body).toEqual({
    content: 'hi @everyone',
    allowed_mentions: { parse: [], replied_user: false },
    flags: 4,
    nonce: nonceOf('k#0'),
    enforce_nonce: true,
  });
});

test('a nonce fits the field, differs from part to part and is the same each time', () => {
  expect(nonceOf('k#0')).toMatch(/^[\da-f]{24}$/);
  expect(nonceOf('k#0')).toBe(nonceOf('k#0'));
  expect(nonceOf('k#1')).not.toBe(nonceOf('k#0'));
});

test('the first part of an answer refers to the question, the others do not', async () => {
  const replyContext = { messageId: QUESTION };
  const reference = { message_id: QUESTION, fail_if_not_exists: false };
  expect(await create({ replyContext })).toMatchObject({ message_reference: reference });
  expect(await create({ replyContext, ordinal: 1, count: 2 })).not.toHaveProperty('message_reference');
  expect(await create({ replyContext: { messageId: '../x' } })).not.toHaveProperty('message_reference');
});

test('markup that grows beyond the limit goes out as it was written', async () => {
  const text = `a${' _'.repeat(949)}`;
  expect((await create({ text }))['content']).toBe(text);
  expect((await create({ text: '[x]: y' }))['content']).toBe(String.raw`\[x\]: y`);
  expect((await create({ text: '**a**' }, true))['content']).toBe('**a**');
});

test('an emoji counts as one', async () => {
  expect((await create({ text: `*a* ${'😀'.repeat(1_900)}` }))['content']).toBe(`*a* ${'😀'.repeat(1_900)}`);
});

test('five choices are a row of buttons whose ids differ', async () => {
  const choices = Array.from({ length: 5 }, (_, n) => ({ label: n === 0 ? 'x'.repeat(100) : `Choice ${n}`, value: 'same' }));
  const rows = (await create({ choices }))['components'] as { components: { label: string; custom_id: string }[] }[];
  expect(rows.map(({ components }) => components.length)).toEqual([5]);
  const buttons = rows.flatMap(({ components }) => components);
  expect(buttons[0]?.label).toHaveLength(80);
  expect(new Set(buttons.map((button) => button.custom_id)).size).toBe(5);
});

test.each([6, 25])('%i choices are a menu that the platform takes', async (count) => {
  const value = 'é'.repeat(30);
  const choices = Array.from({ length: count }, () => ({ label: '😀'.repeat(101), value }));
  const body = await create({ choices });
  expect(refusalOf(body, [], 1_000)).toBeUndefined();
  const [row] = body['components'] as { components: { type: number; options: { label: string; value: string }[] }[] }[];
  const [menu] = row?.components ?? [];
  expect(menu).toMatchObject({ type: 3, custom_id: 'gh:menu' });
  expect(menu?.options).toHaveLength(count);
  expect([...(menu?.options[0]?.label ?? '')]).toHaveLength(100);
  expect(new Set(menu?.options.map((option) => option.value)).size).toBe(count);
});

test('an edit takes buttons away that are not offered any more', async () => {
  const { method, route, body } = await toEditCall(part({ text: 'done' }), CHANNEL, QUESTION, false);
  expect([method, route]).toEqual(['PATCH', `/channels/${CHANNEL}/messages/${QUESTION}`]);
  expect(body).toMatchObject({ content: 'done', components: [] });
});

test('a command is answered in place for a quarter of an hour, by the first part', async () => {
  const awaiting = { application: '135000000000000001', token: 'tok' };
  const replyContext = { interaction: { ...awaiting, until: NOW } };
  expect(awaitingOf(part({ replyContext }), NOW - 1)).toEqual({ ...awaiting, closingMs: 0 });
  expect(awaitingOf(part({ replyContext }), NOW + 20_000)).toEqual({ ...awaiting, closingMs: 100_000 });
  expect(awaitingOf(part({ replyContext }), NOW + 120_000)).toBeUndefined();
  expect(awaitingOf(part({ replyContext, ordinal: 1 }), NOW - 1)).toBeUndefined();
  expect(awaitingOf(part({ replyContext: { interaction: { ...awaiting, token: '../x', until: NOW } } }), 0)).toBeUndefined();
  const { method, route, body } = await toAnswer(part({ text: 'x' }), awaiting, false);
  expect([method, route]).toEqual(['PATCH', '/webhooks/135000000000000001/tok/messages/@original']);
  expect(body).not.toHaveProperty('nonce');
});

test('a thread is written to by its own id, and an id that is none goes nowhere', () => {
  expect(placeOf({ chatId: CHANNEL })).toBe(CHANNEL);
  expect(placeOf({ chatId: CHANNEL, threadId: '120000000000000012' })).toBe('120000000000000012');
  expect(placeOf({ chatId: '../users/@me' })).toBeUndefined();
});

/** One page that ends at a count of samples. */
function opus(samples: number): Buffer {
  const head = Buffer.concat([Buffer.alloc(28), Buffer.from('OpusHead'), Buffer.from([1, 1, 0x38, 0x01]), Buffer.alloc(8)]);
  head.write('OggS', 0);
  const last = Buffer.alloc(64);
  last.write('OggS', 0);
  last.writeBigInt64LE(BigInt(samples), 6);
  return Buffer.concat([head, Buffer.alloc(5_000, 7), last]);
}

const voice: OutboundFile = { path: '/x', name: 'note.ogg', mime: 'audio/ogg', kind: 'voice', bytes: 10 };

test('a spoken answer is a voice message, and a file where it may not be one', async () => {
  const bytes = opus(48_000 * 3 + 312);
  expect(opusSeconds(bytes)).toBe(3);
  const { body } = await toCreate(part({ text: '', file: voice }), CHANNEL, { plain: false, bytes });
  expect(body).toMatchObject({
    flags: 1 << 13,
    attachments: [{ filename: 'voice-message.ogg', duration_secs: 3 }],
    enforce_nonce: true,
  });
  expect(body).not.toHaveProperty('content');
  const refused = toSendResult({ kind: 'api', status: 403, code: 50_173, detail: 'no voice messages here' });
  expect(refused).toMatchObject({ kind: 'refused', reason: 'markup' });
  const plain = await toCreate(part({ text: '', file: voice }), CHANNEL, { plain: true, bytes });
  expect(plain.body).toMatchObject({ flags: 4, attachments: [{ filename: 'note.ogg' }] });
});

test.each([
  ['nothing', Buffer.alloc(0)],
  ['another format', Buffer.from('ID3 something')],
  ['a header alone', opus(0).subarray(0, 20)],
  ['no samples', opus(0)],
  ['pages within pages', Buffer.from('OggS'.repeat(30_000))],
])('%s has no length and is sent as a file', async (_name, bytes) => {
  expect(opusSeconds(bytes)).toBeUndefined();
  const { body } = await toCreate(part({ text: '', file: voice }), CHANNEL, { plain: false, bytes });
  expect(body).toMatchObject({ flags: 4 });
});

test.each<[string, CallFailure, object]>([
  ['not connected', { kind: 'unreached', detail: 'x' }, { kind: 'retry', scope: 'account' }],
  [
    'a bucket',
    { kind: 'limited', retryAfterMs: 1_500, scope: 'chat', detail: 'x' },
    { kind: 'retry', scope: 'chat', afterMs: 1_500 },
  ],
  ['all of it', { kind: 'limited', retryAfterMs: 9, scope: 'account', detail: 'x' }, { kind: 'retry', scope: 'account' }],
  ['no answer', { kind: 'lost', detail: 'x' }, { kind: 'unknown' }],
  ['502', { kind: 'api', status: 502, detail: 'x' }, { kind: 'unknown' }],
  ['401', { kind: 'api', status: 401, detail: 'x' }, { kind: 'refused', reason: 'auth' }],
  ['a channel that is gone', { kind: 'api', status: 404, code: 10_003, detail: 'x' }, { kind: 'refused', reason: 'chat-gone' }],
  ['a closed door', { kind: 'api', status: 403, code: 50_007, detail: 'x' }, { kind: 'refused', reason: 'blocked' }],
  ['a 403 of another kind', { kind: 'api', status: 403, detail: 'x' }, { kind: 'refused', reason: 'blocked' }],
  [
    'too long',
    {
      kind: 'api',
      status: 400,
      code: 50_035,
      detail: 'Invalid Form Body\ncontent[BASE_TYPE_MAX_LENGTH]: Must be 2000 or fewer in length.',
    },
    { kind: 'refused', reason: 'too-long' },
  ],
  ['anything else', { kind: 'api', status: 400, code: 50_035, detail: 'x' }, { kind: 'refused', reason: 'invalid' }],
  ['a link taken for harmful', { kind: 'api', status: 400, code: 240_000, detail: 'x' }, { kind: 'refused', reason: 'invalid' }],
  ['words that AutoMod stops', { kind: 'api', status: 400, code: 200_000, detail: 'x' }, { kind: 'refused', reason: 'invalid' }],
])('F35 F36 F37 %s', (_name, failure, result) => {
  expect(toSendResult(failure)).toMatchObject(result);
});

test.each([
  [40_004, 'Send messages has been temporarily disabled'],
  [40_006, 'This feature has been temporarily disabled server-side'],
  [40_062, 'Service resource is being rate limited'],
  [40_333, 'internal network error'],
])('F35 %i, "%s", passes: an answer waits for it, and a history is asked for again', (code, detail) => {
  const failure: CallFailure = { kind: 'api', status: 403, code, detail };
  expect(toSendResult(failure)).toMatchObject({ kind: 'retry', scope: 'chat', afterMs: 60_000 });
  expect(isFinal(new CallError('GET /channels/1/messages', failure))).toBe(false);
});
