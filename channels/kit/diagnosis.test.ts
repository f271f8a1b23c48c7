import { expect, test } from 'vitest';
import { GatehouseError } from '../../src/core/errors.ts';
import { CallError, type CallFailure } from './call-error.ts';
import { DeadlineError } from './deadline.ts';
import { diagnose, down, wordsWithHint } from './diagnosis.ts';

const ofCall = () => undefined;
const judge = (failure: CallFailure) => diagnose(new CallError('poll', failure), { ofCall });

test('a failure has ordinary words and the wait that the platform asked for, unless the channel knows better', () => {
  expect(judge({ kind: 'api', status: 503, detail: 'busy', retryAfterMs: 9 })).toEqual({
    state: 'degraded',
    detail: 'GH1502: 503 busy',
    waitMs: 9,
  });
  expect(judge({ kind: 'limited', retryAfterMs: 5, scope: 'account', detail: 'too often' })).toMatchObject({ waitMs: 5 });
  expect(judge({ kind: 'unreached', detail: 'not connected: ENOTFOUND' }).detail).toContain('check api_root and DNS');
  const error = new CallError('poll', { kind: 'api', status: 401, detail: 'no' });
  expect(diagnose(error, { ofCall: () => down('GH1501: no') })).toEqual({ state: 'down', detail: 'GH1501: no', waitMs: 0 });
});

test('silence and what is no failed call have words of their own', () => {
  expect(diagnose(new DeadlineError(20_000), { ofCall }).detail).toContain('the platform does not answer');
  expect(diagnose(new Error('odd'), { ofCall })).toMatchObject({ state: 'degraded', detail: 'odd' });
  expect(diagnose(new Error('odd'), { ofCall, ofOther: () => down('worse') })).toMatchObject({ state: 'down' });
});

test('an error of ours says what to do', () => {
  expect(wordsWithHint(new GatehouseError('GH1004', 'the port is taken', { hint: 'choose another' }))).toBe(
    'GH1004: the port is taken; choose another',
  );
  expect(wordsWithHint(new Error('odd'))).toBe('odd');
});
