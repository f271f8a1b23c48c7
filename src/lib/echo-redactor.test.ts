import { expect, test } from 'vitest';
import { createEchoRedactor } from './echo-redactor.ts';

const SECRET = 'canary/5f2c81d0+a9';
const redact = createEchoRedactor([SECRET, undefined, '']);

test.each([
  ['whole', `no: ${SECRET}!`, 'no: [redacted]!'],
  ['encoded', `no: ${Buffer.from(SECRET).toString('base64')}!`, 'no: [redacted]!'],
  ['cut off', `no: ${SECRET.slice(0, 10)}…`, 'no: [redacted]…'],
  ['of another owner', 'no: Bearer abcdef123456 and sk-abcd****wxyz', 'no: [redacted] and [redacted]'],
])('A29 a key that is %s is masked', (_name, text, clean) => {
  expect(redact(text)).toBe(clean);
});

test('text without a key stays as it is', () => {
  expect(redact('the model "m" was not found')).toBe('the model "m" was not found');
});
