import { expect, test } from 'vitest';
import { resolveKey } from './key.ts';
import { resolveProvider } from './resolve.ts';

const target = resolveProvider({ provider: 'openai', model: 'gpt-6.1-terra' }, {});

test.each([
  ['sk-abc…xyz', 'holds characters that no key has'],
  ['sk-\u200babc', 'holds characters that no key has'],
  ['sk-a\nsk-b', 'holds characters that no key has'],
  ['"sk-abc"', 'has quotes around it'],
  ['Bearer sk-abc', 'has "Bearer" before it'],
  ['OPENAI_API_KEY=sk-abc', 'has the name of a variable before it'],
])('%j in a variable is named as no key, and not sent', async (key, flaw) => {
  const failed = await resolveKey(target, { env: { OPENAI_API_KEY: key } }).catch((error: unknown) => error);
  expect(failed).toMatchObject({ code: 'GH1103', message: expect.stringContaining('the key in OPENAI_API_KEY') });
  expect(String(failed)).toContain(flaw);
  expect(String(failed)).not.toContain('sk-');
});

test('blanks and line ends around a key are no part of it', async () => {
  expect((await resolveKey(target, { env: { OPENAI_API_KEY: ' sk-abc==\r\n' } }))?.value()).toBe('sk-abc==');
});
