import { expect, test } from 'vitest';
import { createFailure } from '../llm/failure.ts';
import { modelRefused } from './notices.ts';

test.each([
  ['a stored login is replaced by the command, which applies at once', 'login', 'Run `gatehouse auth set-key anthropic`.'],
  ['a key of a variable is put there, and read by the next start', 'MY_KEY', 'Put a new one into MY_KEY and restart.'],
  ['a key of nowhere may come either way', undefined, 'Run `gatehouse auth set-key anthropic` or export a key, and restart.'],
])('of a refused key the owner learns what mends it: %s', (_name, from, advice) => {
  const notice = modelRefused('anthropic/m', createFailure('auth', { message: '' }), from);
  expect(notice?.text).toBe(`⚠️ The provider refused our key for anthropic/m (GH2101). ${advice}`);
});

test('of what the provider does not permit the owner learns where to look, and nothing of a new key', () => {
  const { text = '' } = modelRefused('openai/m', createFailure('forbidden', { message: '', status: 403 }), 'MY_KEY') ?? {};
  expect(text).toMatch(/\(GH2118\).*permission.*country/);
  expect(text).not.toMatch(/MY_KEY|auth set-key/);
});

test.each([404, 405, 410, 200])('of an address that is not the API, which answers with %i, the owner is told', (status) => {
  const notice = modelRefused('openai/m', createFailure('bad-request', { message: '', status }));
  expect(notice?.text).toBe(
    '⚠️ What answers at the address of openai/m is not its API (GH2106). Check "base_url" in the config; the log has the details.',
  );
});

test.each([400, 422, undefined])('of a request that was wrong in itself, with status %s, the owner is not told', (status) => {
  expect(modelRefused('openai/m', createFailure('bad-request', { message: '', status }))).toBeUndefined();
});
