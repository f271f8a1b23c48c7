import type { Provider } from './provider.ts';

export const groq: Provider = {
  name: 'groq',
  aliases: [],
  wire: 'openai-chat',
  keyEnv: 'GROQ_API_KEY',
  keyRequired: true,
  baseUrl: 'https://api.groq.com/openai/v1',
  detect: [/llama/, /mixtral/],
};
