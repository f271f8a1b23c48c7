import { expect, test } from 'vitest';
import type { SendResult } from '../../src/core/channel.ts';
import { CallError, type CallFailure } from './call-error.ts';
import { sendResultOf, settleFailedSend } from './call-result.ts';

const silent = () => undefined;

test.each<[string, CallFailure, Partial<SendResult>]>([
  ['never left', { kind: 'unreached', detail: 'x' }, { kind: 'retry', reason: 'x', scope: 'account' }],
  ['may have arrived', { kind: 'lost', detail: 'x' }, { kind: 'unknown', detail: 'x' }],
  [
    'came too often',
    { kind: 'limited', retryAfterMs: 7, scope: 'chat', detail: 'x' },
    { kind: 'retry', afterMs: 7, scope: 'chat' },
  ],
  ['met a proxy that failed', { kind: 'http', status: 502, detail: 'x' }, { kind: 'unknown' }],
  ['met a proxy that refused it', { kind: 'http', status: 413, detail: 'x' }, { kind: 'refused', reason: 'invalid' }],
  ['met a machine that failed', { kind: 'api', status: 503, detail: 'x' }, { kind: 'unknown', detail: '503 x' }],
  ['had a bad login', { kind: 'api', status: 401, detail: 'x' }, { kind: 'refused', reason: 'auth', detail: 'x' }],
  ['was not allowed', { kind: 'api', status: 403, detail: 'x' }, { kind: 'refused', reason: 'blocked' }],
  ['was wrong', { kind: 'api', detail: 'x' }, { kind: 'refused', reason: 'invalid' }],
])('F35 F36 F37 a call that %s', (_name, failure, result) => {
  expect(sendResultOf(failure, silent)).toMatchObject(result);
});

test('what the platform means by its own code comes before the status', () => {
  const failure: CallFailure = { kind: 'api', status: 503, code: 42, detail: 'x' };
  expect(sendResultOf(failure, () => 'chat-gone')).toEqual({ kind: 'refused', reason: 'chat-gone', detail: 'x' });
  const later: SendResult = { kind: 'retry', reason: 'later', scope: 'part' };
  expect(sendResultOf(failure, () => later)).toBe(later);
});

test('F38 a send that ended with anything but a failed call is in doubt', () => {
  const ofCall = (failure: CallFailure) => sendResultOf(failure, silent);
  expect(settleFailedSend(new Error('no answer in time'), ofCall)).toEqual({ kind: 'unknown', detail: 'no answer in time' });
  expect(settleFailedSend(new CallError('send', { kind: 'unreached', detail: 'x' }), ofCall).kind).toBe('retry');
});
