import type { Provider } from './provider.ts';

export const openrouter: Provider = {
  name: 'openrouter',
  aliases: [],
  wire: 'openai-chat',
  defaultModel: 'anthropic/claude-sonnet-4-20250514',
  keyEnv: 'OPENROUTER_API_KEY',
  keyRequired: true,
  baseUrl: 'https://openrouter.ai/api/v1',
  detect: [],
  contextWindows: [
    [/claude/, 200_000],
    [/gemini/, 1_000_000],
    [/gpt-4\.1/, 1_047_576],
    [/gpt-5/, 400_000],
  ],
};
