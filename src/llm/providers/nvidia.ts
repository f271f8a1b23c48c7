import type { Provider } from './provider.ts';

export const nvidia: Provider = {
  name: 'nvidia',
  aliases: ['nim'],
  wire: 'openai-chat',
  keyEnv: 'NVIDIA_API_KEY',
  keyRequired: true,
  baseUrl: 'https://integrate.api.nvidia.com/v1',
  detect: [],
};
