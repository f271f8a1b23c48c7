import type { Provider } from './provider.ts';

export const anthropic: Provider = {
  name: 'anthropic',
  aliases: [],
  wire: 'anthropic',
  defaultModel: 'claude-sonnet-4-20250514',
  keyEnv: 'ANTHROPIC_API_KEY',
  keyRequired: true,
  baseUrl: 'https://api.anthropic.com',
  baseUrlEnv: 'ANTHROPIC_BASE_URL',
  detect: [/claude/],
};
