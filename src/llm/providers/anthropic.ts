import type { Provider } from './provider.ts';

export const anthropic: Provider = {
  name: 'anthropic',
  aliases: [],
  wire: 'anthropic',
  keyEnv: 'ANTHROPIC_API_KEY',
  keyRequired: true,
  baseUrl: 'https://api.anthropic.com',
  baseUrlEnv: 'ANTHROPIC_BASE_URL',
  detect: [/claude/],
};
