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
