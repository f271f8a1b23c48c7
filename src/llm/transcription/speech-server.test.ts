import { expect, test } from 'vitest';
import { resolveKey } from '../providers/key.ts';
import { speechServerOf } from './speech-server.ts';

const KEYS = { GROQ_API_KEY: 'groq-key', OPENAI_API_KEY: 'openai-key', MINE: 'mine' };
const storedKey = async (provider: string) => (provider === 'groq' ? 'stored' : undefined);

test.each([
  ['https://api.groq.com/openai/v1', undefined, 'login'],
  ['https://api.openai.com/v1', undefined, 'OPENAI_API_KEY'],
  ['https://api.openai.com/v1', 'MINE', 'MINE'],
  ['https://speech.example.com/v1', 'MINE', 'MINE'],
  ['https://api.groq.com.example.com/openai/v1', undefined, undefined],
  ['https://speech.example.com/v1', undefined, undefined],
  ['http://127.0.0.1:9000/v1', undefined, undefined],
  ['http://127.0.0.1:9000/v1', 'MINE', 'MINE'],
  ['http://0.0.0.0:9000/v1', 'MINE', 'MINE'],
  ['http://127.0.0.1:9000/v1', 'UNSET', undefined],
])('A29 %s with %s named gets the key from %s and no other', async (base_url, api_key_env, from) => {
  const key = await resolveKey(speechServerOf({ base_url, api_key_env }), { env: KEYS, storedKey });
  expect(key?.from).toBe(from);
});

test('a key that is needed is asked for by name, and a remote server without TLS is refused', async () => {
  const ask = (base_url: string, api_key_env?: string) => resolveKey(speechServerOf({ base_url, api_key_env }), { env: {} });
  await expect(ask('https://api.groq.com/openai/v1')).rejects.toMatchObject({ code: 'GH1103', hint: 'export GROQ_API_KEY=…' });
  await expect(ask('https://speech.example.com/v1', 'UNSET')).rejects.toMatchObject({ code: 'GH1103', hint: 'export UNSET=…' });
  expect(() => speechServerOf({ base_url: 'http://speech.example.com/v1' })).toThrow(/must be https/);
});
