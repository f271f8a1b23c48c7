import { expect, test } from 'vitest';
import { createRedactor, urlSecrets } from './redact.ts';

test.each([
  ['https://gateway.example/v1/9f86d081884c7d659a2feaa0c55ad015/openai', '/v1/[redacted]/openai'],
  ['https://gateway.example/sk-short1/v1', '/[redacted]/v1'],
  ['https://me:hunter2hunter2@gateway.example/v1?key=abcdefgh12345678', '/v1?key=[redacted]'],
])('M13 a key in the path of %s is not shown', (address, shown) => {
  const url = new URL(address);
  expect(createRedactor(urlSecrets(address))(`${url.pathname}${url.search}`)).toBe(shown);
});

test.each([
  'https://api.openai.com/v1',
  'https://generativelanguage.googleapis.com/v1beta',
  'https://dashscope.aliyuncs.com/compatible-mode/v1',
  'https://x.openai.azure.com/openai/deployments/gpt-4o-2024-05-13-production',
  'no address at all',
])('the path of %s is no secret', (address) => expect(urlSecrets(address).filter(Boolean)).toEqual([]));
