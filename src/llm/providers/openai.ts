import type { Provider } from './provider.ts';

export const openai: Provider = {
  name: 'openai',
  aliases: [],
  wire: 'openai-chat',
  // Their reasoning survives between the calls of a turn only there.
  modelWires: [[/^(?:o\d|gpt-[5-9]|gpt-daybreak|chat-latest)/, 'openai-responses']],
  otherWires: ['openai-responses'],
  keyEnv: 'OPENAI_API_KEY',
  keyRequired: true,
  baseUrl: 'https://api.openai.com/v1',
  baseUrlEnv: 'OPENAI_BASE_URL',
  // gpt-oss has open weights, and OpenAI does not serve it.
  detect: [/gpt(?!-oss)/, /^o[134]/],
};
