import type { Provider } from './provider.ts';

export const openrouter: Provider = {
  name: 'openrouter',
  aliases: [],
  wire: 'openai-chat',
  otherWires: ['openai-responses', 'anthropic'],
  keyEnv: 'OPENROUTER_API_KEY',
  keyRequired: true,
  baseUrl: 'https://openrouter.ai/api/v1',
  detect: [],
};
