import type { Provider } from './provider.ts';

export const zhipu: Provider = {
  name: 'zhipu',
  aliases: ['glm'],
  wire: 'openai-chat',
  keyEnv: 'ZHIPU_API_KEY',
  keyRequired: true,
  baseUrl: 'https://open.bigmodel.cn/api/paas/v4',
  detect: [/glm/],
};
