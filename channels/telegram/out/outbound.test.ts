import { expect, test } from 'vitest';
import type { OutboundFile } from '../../../src/core/message.ts';
import { outbound } from '../../../src/testing/fakes.ts';
import type { CallFailure } from '../../kit/call-error.ts';
import { toCall, toSendResult } from './outbound.ts';

function call(override: Parameters<typeof outbound>[0], plain = false) {
  const part = outbound({ chatId: '1000', ...override });
  return toCall(part, { plain, chatId: part.chatId });
}

function file(override: Partial<OutboundFile>): OutboundFile {
  return { path: '/tmp/x', name: 'x', mime: 'application/octet-stream', kind: 'document', bytes: 10, ...override };
}

test('A31 text goes out as HTML without a link preview', async () => {
  expect(await call({ text: '**hi**' })).toEqual({
    method: 'sendMessage',
    payload: { chat_id: '1000', text: '<b>hi</b>', parse_mode: 'HTML', link_preview_options: { is_disabled: true } },
  });
});

test('plain text goes out untouched and without a mode', async () => {
  const { payload } = await call({ text: '**hi** <b>' }, true);
  expect(payload).toMatchObject({ text: '**hi** <b>' });
  expect(payload).not.toHaveProperty('parse_mode');
});

test('markup that people would see as more than 4096 characters goes out as it was written', async () => {
  const text = '<ftp://aaaaaa> '.repeat(266);
  const { payload } = await call({ text });
  expect(payload).toMatchObject({ text });
  expect(payload).not.toHaveProperty('parse_mode');
});

test('escapes do not count: 4000 signs stay 4000', async () => {
  expect((await call({ text: 'a<'.repeat(2_000) })).payload).toHaveProperty('parse_mode');
});

test('text that renders to nothing goes out as it was written', async () => {
  const { payload } = await call({ text: '#' });
  expect(payload).toMatchObject({ text: '#' });
  expect(payload).not.toHaveProperty('parse_mode');
});

test.each(['```\n```', '```py\n\n```', '```'])('an empty fence goes out as it was written: %j', async (text) => {
  const { payload } = await call({ text });
  expect(payload).toMatchObject({ text });
  expect(payload).not.toHaveProperty('parse_mode');
});

test('the direct messages of a channel name the topic of the person', async () => {
  const { payload } = await call({ chatId: '-1001', threadId: 'dm:77' });
  expect(payload).toMatchObject({ direct_messages_topic_id: 77 });
  expect(payload).not.toHaveProperty('message_thread_id');
});

test('the first part of an answer in a group refers to the question, the others and private chats do not', async () => {
  const replyContext = { messageId: 7 };
  const reply = { reply_parameters: { message_id: 7, allow_sending_without_reply: true } };
  expect((await call({ chatId: '-4001', replyContext })).payload).toMatchObject(reply);
  expect((await call({ chatId: '-4001', replyContext, ordinal: 1 })).payload).not.toHaveProperty('reply_parameters');
  expect((await call({ chatId: '1000', replyContext })).payload).not.toHaveProperty('reply_parameters');
});

test('a topic is named, the General topic is not', async () => {
  expect((await call({ chatId: '-1001', threadId: '42' })).payload).toMatchObject({ message_thread_id: 42 });
  expect((await call({ chatId: '-1001', threadId: '1' })).payload).not.toHaveProperty('message_thread_id');
});

test.each([
  ['sendPhoto', { kind: 'photo', mime: 'image/png' }],
  ['sendDocument', { kind: 'photo', mime: 'image/png', bytes: 11 * 1024 * 1024 }],
  ['sendDocument', { kind: 'photo', mime: 'image/svg+xml' }],
  ['sendVoice', { kind: 'voice', mime: 'audio/ogg' }],
  ['sendVoice', { kind: 'voice', mime: 'audio/ogg; codecs=opus' }],
  ['sendAudio', { kind: 'voice', mime: 'audio/mpeg' }],
  ['sendAudio', { kind: 'audio', mime: 'audio/mp4' }],
  ['sendVideo', { kind: 'video', mime: 'video/mp4' }],
  ['sendDocument', { kind: 'video', mime: 'video/webm' }],
  ['sendDocument', { kind: 'document', mime: 'application/pdf' }],
] as const)('%s carries %o', async (method, override) => {
  expect((await call({ text: '', file: file(override) })).method).toBe(method);
});

test('a caption has its own limit and is left out when empty', async () => {
  const named = await call({ text: '*see*', file: file({}) });
  expect(named.payload).toMatchObject({ caption: '<i>see</i>', parse_mode: 'HTML' });
  expect((await call({ text: '', file: file({}) })).payload).toEqual({ chat_id: '1000' });
});

test('A23 a hostile file name cannot break the upload', async () => {
  const { upload } = await call({ text: '', file: file({ name: '../a";\r\nx: y\u0000.txt' }) });
  expect(upload?.name).toBe('.._a_x: y_.txt');
  expect((await call({ file: file({ name: `${'n'.repeat(300)}.txt` }) })).upload?.name).toHaveLength(120);
});

const api = (status: number, description: string, more: object = {}): CallFailure => ({
  kind: 'api',
  status,
  detail: description,
  ...more,
});

test.each([
  ["400 can't parse entities", api(400, "Bad Request: can't parse entities: Unsupported start tag"), 'markup'],
  ['400 too much markup', api(400, 'Bad Request: ENTITIES_TOO_LONG'), 'markup'],
  ['400 too long', api(400, 'Bad Request: message is too long'), 'too-long'],
  ['400 caption too long', api(400, 'Bad Request: message caption is too long'), 'too-long'],
  ['400 chat not found', api(400, 'Bad Request: chat not found'), 'chat-gone'],
  ['400 topic gone', api(400, 'Bad Request: message thread not found'), 'chat-gone'],
  ['400 no rights', api(400, 'Bad Request: not enough rights to send text messages to the chat'), 'blocked'],
  ['403 blocked', api(403, 'Forbidden: bot was blocked by the user'), 'blocked'],
  ['403 kicked', api(403, 'Forbidden: bot was kicked from the supergroup chat'), 'chat-gone'],
  ['403 not a member', api(403, 'Forbidden: bot is not a member of the channel chat'), 'chat-gone'],
  ['403 deactivated', api(403, 'Forbidden: user is deactivated'), 'chat-gone'],
  ['401', api(401, 'Unauthorized'), 'auth'],
  ['404', api(404, 'Not Found'), 'auth'],
  ['413', api(413, 'Request Entity Too Large'), 'invalid'],
  ['another 400', api(400, 'Bad Request: PHOTO_INVALID_DIMENSIONS'), 'invalid'],
])('F36 %s is a refusal', (_name, failure, reason) => {
  expect(toSendResult(failure)).toMatchObject({ kind: 'refused', reason });
});

test('F35 a rate limit concerns the chat and waits as told', () => {
  const failure = api(429, 'Too Many Requests: retry after 7', { retryAfterMs: 7_000 });
  expect(toSendResult(failure)).toMatchObject({ kind: 'retry', scope: 'chat', afterMs: 7_000 });
});

test('F37 what may have been accepted is unknown, what cannot have been is retried', () => {
  expect(toSendResult(api(502, 'Bad Gateway')).kind).toBe('unknown');
  expect(toSendResult({ kind: 'lost', detail: 'x' }).kind).toBe('unknown');
  expect(toSendResult({ kind: 'unreached', detail: 'x' })).toMatchObject({ kind: 'retry', scope: 'account' });
});

test('buttons stand below each other, or beside each other where the part says so', async () => {
  const choices = ['one', 'two', 'three'].map((word) => ({ label: word, value: `s:${word}` }));
  const rowsOf = async (perRow?: number): Promise<unknown> =>
    (await call({ text: 'Topics', choices, ...(perRow ? { perRow } : {}) })).payload['reply_markup'];
  const button = (word: string) => ({ text: word, callback_data: `s:${word}` });
  expect(await rowsOf()).toEqual({ inline_keyboard: [[button('one')], [button('two')], [button('three')]] });
  expect(await rowsOf(2)).toEqual({ inline_keyboard: [[button('one'), button('two')], [button('three')]] });
});
