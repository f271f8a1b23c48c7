import type { Provider } from './provider.ts';

export const moonshot: Provider = {
  name: 'moonshot',
  aliases: ['kimi'],
  wire: 'openai-chat',
  defaultModel: 'kimi-k2.5',
  keyEnv: 'MOONSHOT_API_KEY',
  keyRequired: true,
  baseUrl: 'https://api.moonshot.ai/v1',
  detect: [/kimi/, /moonshot/],
  contextWindows: [
    [/v1-8k/, 8_192],
    [/v1-32k/, 32_768],
    [/kimi-k2\.5/, 262_144],
  ],
  sendReasoning: true,
};
