import { expect, test } from 'vitest';
import { equalSecrets } from './equal-secrets.ts';

test('texts and bytes are equal when every byte is, whatever their lengths', () => {
  expect(equalSecrets('token', 'token')).toBe(true);
  expect(equalSecrets(Buffer.from('token'), 'token')).toBe(true);
  for (const other of ['', 'toke', 'token ', 'Token']) expect(equalSecrets(other, 'token')).toBe(false);
});
