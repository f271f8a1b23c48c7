import type { Provider } from './provider.ts';

export const openai: Provider = {
  name: 'openai',
  aliases: [],
  wire: 'openai-chat',
  defaultModel: 'gpt-4o',
  keyEnv: 'OPENAI_API_KEY',
  keyRequired: true,
  baseUrl: 'https://api.openai.com/v1',
  baseUrlEnv: 'OPENAI_BASE_URL',
  detect: [/gpt(?!-oss)/, /^o[134]/],
  contextWindows: [
    [/gpt-5/, 400_000],
    [/gpt-4\.1/, 1_047_576],
    [/gpt-3\.5/, 16_385],
    [/^gpt-4(?:-0\d{3})?$/, 8_192],
    [/^o[134]/, 200_000],
    [/gpt-4/, 128_000],
  ],
  maxTokensField: 'max_completion_tokens',
};
