import type { Provider } from './provider.ts';

export const vllm: Provider = {
  name: 'vllm',
  aliases: [],
  wire: 'openai-chat',
  keyEnv: 'VLLM_API_KEY',
  keyRequired: false,
  detect: [],
  runsLocally: () => true,
};
