import { expect, test } from 'vitest';
import { createEchoRedactor, urlSecrets } from './echo-redactor.ts';

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

test.each([
  ['https://gateway.example/v1/9f86d081884c7d659a2feaa0c55ad015/openai', '/v1/[redacted]/openai'],
  ['https://gateway.example/sk-short1/v1', '/[redacted]/v1'],
  ['https://me:hunter2hunter2@gateway.example/v1?key=abcdefgh12345678', '/v1?key=[redacted]'],
])('M13 a key in the path of %s is not shown', (address, shown) => {
  const url = new URL(address);
  expect(createEchoRedactor(urlSecrets(address))(`${url.pathname}${url.search}`)).toBe(shown);
});

test.each([
  'https://api.openai.com/v1',
  'https://generativelanguage.googleapis.com/v1beta',
  'https://dashscope.aliyuncs.com/compatible-mode/v1',
  'https://x.openai.azure.com/openai/deployments/gpt-4o-2024-05-13-production',
  'no address at all',
])('the path of %s is no secret', (address) => expect(urlSecrets(address).filter(Boolean)).toEqual([]));
