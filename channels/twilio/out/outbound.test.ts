import { expect, test } from 'vitest';
import type { CallFailure } from '../../kit/call-error.ts';
import { toSendResult } from './outbound.ts';

const api = (status: number, code?: number, more: object = {}): CallFailure => ({
  ...{ kind: 'api', status, detail: 'words of Twilio' },
  ...(code !== undefined && { code }),
  ...more,
});

test.each([
  ['a wrong token', api(401, 20003), 'auth'],
  ['an account that is not active', api(403, 20005), 'auth'],
  ['a message that it will not carry for a reason unknown here', api(403, 29999), 'invalid'],
  ['an unknown account', api(404, 20404), 'auth'],
  ['no phone number', api(400, 21211), 'chat-gone'],
  ['a land line', api(400, 21614), 'chat-gone'],
  ['no route', api(400, 21612), 'chat-gone'],
  ['STOP', api(400, 21610), 'blocked'],
  ['a country that is not enabled', api(400, 21408), 'blocked'],
  ['a trial account', api(400, 21608), 'blocked'],
  ['a long text', api(400, 21617), 'too-long'],
  ['a sender that is not ours', api(400, 21606), 'invalid'],
  ['another 400', api(400, 99999), 'invalid'],
  ['a redirect', api(308), 'invalid'],
])('F36 %s is a refusal', (_name, failure, reason) => {
  expect(toSendResult(failure)).toMatchObject({ kind: 'refused', reason, detail: expect.stringContaining('words of Twilio') });
});

test.each([
  ['429 with a time', api(429, 20429, { retryAfterMs: 7_000 }), 7_000],
  ['429 without one', api(429, 20429), 1_000],
  ['429 of a proxy', api(429), 1_000],
  ['a full queue', api(400, 21611), 60_000],
  ['the daily limit', api(429, 63038), 3_600_000],
])('F35 %s waits, and the whole account does', (_name, failure, afterMs) => {
  expect(toSendResult(failure)).toMatchObject({ kind: 'retry', scope: 'account', afterMs });
});

test('F37 what may have been accepted is unknown, what cannot have been is retried', () => {
  expect(toSendResult(api(503)).kind).toBe('unknown');
  expect(toSendResult(api(500, 20500)).kind).toBe('unknown');
  expect(toSendResult({ kind: 'lost', detail: 'x' }).kind).toBe('unknown');
  expect(toSendResult({ kind: 'unreached', detail: 'x' })).toMatchObject({ kind: 'retry', scope: 'account' });
});
