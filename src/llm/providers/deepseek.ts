import type { Provider } from './provider.ts';

export const deepseek: Provider = {
  name: 'deepseek',
  aliases: [],
  wire: 'openai-chat',
  keyEnv: 'DEEPSEEK_API_KEY',
  keyRequired: true,
  baseUrl: 'https://api.deepseek.com/v1',
  detect: [/deepseek/],
};
