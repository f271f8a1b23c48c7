import { expect, test } from 'vitest';
import { changesOnly, withAdvice } from './reported-health.ts';

test('the same state with the same words is reported once, and again after another', () => {
  const said: unknown[] = [];
  const report = changesOnly((...words) => said.push(words));
  report('healthy');
  report('healthy');
  report('degraded', 'slow');
  report('degraded', 'slower');
  report('healthy');
  expect(said).toEqual([
    ['healthy', undefined],
    ['degraded', 'slow'],
    ['degraded', 'slower'],
    ['healthy', undefined],
  ]);
});

test.each([
  ['not connected: ENOTFOUND', 'DNS'],
  ['not connected: ECONNREFUSED', 'nothing listens there'],
  ['not connected: CERT_HAS_EXPIRED', 'renew it'],
  ['not connected: ERR_TLS_CERT_ALTNAME_INVALID', 'another name'],
  ['not connected: DEPTH_ZERO_SELF_SIGNED_CERT', 'NODE_EXTRA_CA_CERTS'],
  ['not connected: ETIMEDOUT', 'check the network'],
])('%s comes with what to check', (detail, advice) => {
  expect(withAdvice(detail)).toMatch(new RegExp(`^GH1502: ${detail}: .*${advice}`));
});

test('what no code is known of stays as it is', () => {
  expect(withAdvice('the connection broke')).toBe('GH1502: the connection broke');
});
