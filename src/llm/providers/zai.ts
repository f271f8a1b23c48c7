import type { Provider } from './provider.ts';

/** The GLM models by their maker's international service, on the Anthropic wire. */
export const zai: Provider = {
  name: 'zai',
  aliases: ['z.ai'],
  wire: 'anthropic',
  keyEnv: 'ZAI_API_KEY',
  keyRequired: true,
  baseUrl: 'https://api.z.ai/api/anthropic',
  detect: [],
};
