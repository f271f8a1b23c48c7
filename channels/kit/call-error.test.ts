import { expect, test } from 'vitest';
import { apiFailureOf, CallError, guardCall, networkFailure } from './call-error.ts';

const coded = (code: string) => Object.assign(new Error('https://api.example/?token=hunter2'), { code });

test('the message names the call and shows the HTTP status of an answer, or the words it is given', () => {
  expect(new CallError('send', { kind: 'api', status: 403, code: 7, detail: 'not allowed' }).message).toBe(
    'send: 403 not allowed',
  );
  expect(new CallError('send', { kind: 'api', code: 7, detail: 'not allowed' }).message).toBe('send: not allowed');
  expect(new CallError('send', { kind: 'lost', detail: 'x' }, 'in other words').message).toBe('send: in other words');
  expect(new CallError(undefined, { kind: 'unreached', detail: 'not connected' }).message).toBe('not connected');
});

test('only the answer of the platform is one', () => {
  const answer = { kind: 'api', status: 400, detail: 'x' } as const;
  expect(apiFailureOf(new CallError('send', answer))).toBe(answer);
  expect(apiFailureOf(new CallError('send', { kind: 'lost', detail: 'x' }))).toBeUndefined();
  expect(apiFailureOf(new Error('x'))).toBeUndefined();
});

test('F38 what never left is told from what may have arrived, without the words of the error', () => {
  expect(networkFailure(coded('not connected: ECONNREFUSED'))).toEqual({
    kind: 'unreached',
    detail: 'not connected: ECONNREFUSED',
  });
  expect(networkFailure(coded('ECONNREFUSED'), false)).toEqual({ kind: 'unreached', detail: 'not connected: ECONNREFUSED' });
  expect(networkFailure(coded('not connected: ETIMEDOUT'), false).detail).toBe('not connected: ETIMEDOUT');
  expect(networkFailure(coded('ECONNRESET')).kind).toBe('lost');
  expect(networkFailure(coded('ECONNRESET'), true).kind).toBe('lost');
  expect(networkFailure(new Error('hunter2')).detail).not.toContain('hunter2');
});

test('a guarded call rejects with the reason of its signal first, and with a CallError otherwise', async () => {
  const stop = new AbortController();
  const toError = () => new CallError('send', { kind: 'lost', detail: 'x' });
  const failed = (error: unknown) => guardCall(stop.signal, () => Promise.reject(error), toError);
  await expect(failed(new Error('x'))).rejects.toMatchObject({ call: 'send', failure: { kind: 'lost' } });
  const own = new CallError('upload', { kind: 'api', detail: 'x' });
  await expect(failed(own)).rejects.toBe(own);
  const reason = new Error('stopped');
  stop.abort(reason);
  await expect(failed(own)).rejects.toBe(reason);
});
