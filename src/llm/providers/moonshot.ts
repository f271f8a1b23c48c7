import type { Provider } from './provider.ts';

export const moonshot: Provider = {
  name: 'moonshot',
  aliases: ['kimi'],
  wire: 'openai-chat',
  keyEnv: 'MOONSHOT_API_KEY',
  keyRequired: true,
  baseUrl: 'https://api.moonshot.ai/v1',
  detect: [/kimi/, /moonshot/],
};
