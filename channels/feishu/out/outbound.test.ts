import { expect, test } from 'vitest';
import type { OutboundFile } from '../../../src/core/message.ts';
import { outbound } from '../../../src/testing/fakes.ts';
import type { CallFailure } from '../../kit/call-error.ts';
import { toSendResult } from '../wire/failure.ts';
import { targetOf, toFileMessage, toMessage, toUpload, uuidOf } from './outbound.ts';

const part = (override: Parameters<typeof outbound>[0] = {}) => outbound({ chatId: 'oc_1', ...override });

test('a private chat is written to, a group question is answered, a thread is always answered into', () => {
  const asked = { messageId: 'om_1', group: false };
  const group = { messageId: 'om_1', group: true };
  expect(targetOf(part({ replyContext: asked }), false)).toEqual({ chatId: 'oc_1' });
  expect(targetOf(part({ replyContext: group }), false)).toEqual({ messageId: 'om_1', inThread: false });
  expect(targetOf(part({ replyContext: group, ordinal: 1 }), false)).toEqual({ chatId: 'oc_1' });
  expect(targetOf(part({ replyContext: group, ordinal: 1, threadId: 'omt_1' }), false)).toEqual({
    messageId: 'om_1',
    inThread: true,
  });
  expect(targetOf(part({ replyContext: group }), true)).toEqual({ chatId: 'oc_1' });
  expect(targetOf(part({ threadId: 'omt_1' }), false)).toEqual({ chatId: 'oc_1' });
  expect(targetOf(part({ replyContext: { messageId: 5, group: true } }), false)).toEqual({ chatId: 'oc_1' });
});

test('the key of a send is the same for every attempt, differs from part to part, and is short enough', () => {
  const key = 'feishu/cli_x/om_y#0'.repeat(20);
  expect(uuidOf(part({ key }))).toBe(uuidOf(part({ key, text: 'other', ordinal: 3 })));
  expect(uuidOf(part({ key }))).not.toBe(uuidOf(part({ key: `${key}1` })));
  expect(uuidOf(part({ key }))).toMatch(/^[0-9a-f]{40}$/);
});

test('a button knows its choice, its chat and its thread', async () => {
  const choices = [{ label: 'Yes', value: 'yes' }];
  const { content } = await toMessage(part({ choices, threadId: 'omt_1' }), { plain: false, isGroup: true });
  expect(JSON.stringify(content)).toContain('"value":{"choice":"yes","chat":"oc_1","group":true,"thread":"omt_1"}');
});

const MB = 1024 * 1024;

test.each<[string, Partial<OutboundFile>, string]>([
  ['image', { kind: 'photo', mime: 'image/png' }, 'image'],
  ['stream', { kind: 'photo', mime: 'image/png', bytes: 11 * MB }, 'file'],
  ['stream', { kind: 'photo', mime: 'image/svg+xml' }, 'file'],
  ['opus', { kind: 'voice', mime: 'audio/ogg; codecs=opus' }, 'audio'],
  ['stream', { kind: 'voice', mime: 'audio/mpeg' }, 'file'],
  ['mp4', { kind: 'video', mime: 'video/mp4' }, 'media'],
  ['stream', { kind: 'video', mime: 'video/webm' }, 'file'],
  ['pdf', { mime: 'application/pdf' }, 'file'],
  ['doc', { mime: 'application/vnd.openxmlformats-officedocument.wordprocessingml.document' }, 'file'],
  ['xls', { mime: 'application/vnd.ms-excel' }, 'file'],
  ['ppt', { mime: 'application/vnd.openxmlformats-officedocument.presentationml.presentation' }, 'file'],
  ['stream', { mime: 'text/html' }, 'file'],
])('%s is the upload of %o', (kind, override, type) => {
  const file: OutboundFile = {
    path: '/tmp/x',
    name: 'x',
    mime: 'application/octet-stream',
    kind: 'document',
    bytes: 10,
    ...override,
  };
  expect(toUpload(file).kind).toBe(kind);
  expect(toFileMessage(toUpload(file).kind, 'k').type).toBe(type);
});

test('A23 a hostile file name cannot break the form it is written into', () => {
  const file: OutboundFile = { path: '/tmp/x', name: '../a";\r\nx: y\u0000.txt', mime: 'text/plain', kind: 'document', bytes: 1 };
  expect(toUpload(file).name).toBe('.._a_x: y_.txt');
  expect(toUpload({ ...file, name: `${'n'.repeat(300)}.txt` }).name).toHaveLength(120);
  expect(toUpload({ ...file, name: '' }).name).toBe('file');
});

const api = (status: number, code: number, description = 'x', more: object = {}): CallFailure => ({
  kind: 'api',
  status,
  code,
  detail: description,
  ...more,
});

test.each([
  ['230099 too many tables', api(400, 230099, 'ext=ErrCode: 11310; ErrMsg: card table number over limit'), 'markup'],
  ['230001 bad content', api(400, 230001, 'ext=invalid message content.'), 'markup'],
  ['230001 another parameter', api(400, 230001, 'ext=invalid receive_id'), 'invalid'],
  ['230025 too long', api(400, 230025), 'too-long'],
  ['230002 not in the group', api(400, 230002), 'chat-gone'],
  ['232009 dissolved', api(400, 232009), 'chat-gone'],
  ['230011 withdrawn', api(400, 230011), 'chat-gone'],
  ['230013 out of reach', api(400, 230013), 'blocked'],
  ['230053 switched off', api(400, 230053), 'blocked'],
  ['230006 no bot', api(400, 230006), 'auth'],
  ['99991672 no scope', api(400, 99991672), 'invalid'],
  ['99991663 token', api(400, 99991663), 'auth'],
  ['10014 secret', api(200, 10014), 'auth'],
  ['401', api(401, 0), 'auth'],
  ['403', api(403, 0), 'blocked'],
  ['another 400', api(400, 999), 'invalid'],
])('F36 %s is a refusal', (_name, failure, reason) => {
  expect(toSendResult(failure)).toMatchObject({ kind: 'refused', reason, detail: expect.stringMatching(/./) });
});

test.each([
  ['429', api(429, 0, 'x', { retryAfterMs: 7_000 }), 'account', 7_000],
  ['99991400', api(400, 99991400, 'x', { retryAfterMs: 2_000 }), 'account', 2_000],
  ['11232', api(400, 11232), 'account', 1_000],
  ['230020', api(400, 230020), 'chat', 1_000],
  ['11233, a limit of one chat', api(400, 11233), 'chat', 1_000],
  ['11247', api(400, 11247), 'account', 1_000],
  ['90217', api(400, 90217), 'account', 1_000],
  ['1000004', api(400, 1_000_004), 'account', 1_000],
  ['1000005', api(400, 1_000_005), 'account', 1_000],
  ['190005', api(400, 190_005), 'account', 1_000],
] as const)('F35 %s waits as told, or a second', (_name, failure, scope, afterMs) => {
  expect(toSendResult(failure)).toMatchObject({ kind: 'retry', scope, afterMs });
});

test('F37 what may have been accepted is unknown, what cannot have been is tried again', () => {
  expect(toSendResult(api(502, 0)).kind).toBe('unknown');
  expect(toSendResult(api(400, 230049)).kind).toBe('unknown');
  // Of the platform's own faults, "server busy" and "the request is being processed" among them.
  for (const code of [1_500, 5_000, 10_101, 18_121, 55_001, 90_235]) {
    expect(toSendResult(api(400, code)).kind, String(code)).toBe('unknown');
  }
  expect(toSendResult({ kind: 'lost', detail: 'x' }).kind).toBe('unknown');
  expect(toSendResult({ kind: 'unreached', detail: 'x' })).toMatchObject({ kind: 'retry', scope: 'account' });
});
