import type { Provider } from './provider.ts';

export const minimax: Provider = {
  name: 'minimax',
  aliases: [],
  wire: 'openai-chat',
  keyEnv: 'MINIMAX_API_KEY',
  keyRequired: true,
  baseUrl: 'https://api.minimax.io/v1',
  detect: [/minimax/],
};
