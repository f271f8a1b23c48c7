import type { Provider } from './provider.ts';

export const groq: Provider = {
  name: 'groq',
  aliases: [],
  wire: 'openai-chat',
  defaultModel: 'llama-3.3-70b-versatile',
  keyEnv: 'GROQ_API_KEY',
  keyRequired: true,
  baseUrl: 'https://api.groq.com/openai/v1',
  detect: [/llama/, /mixtral/],
};
