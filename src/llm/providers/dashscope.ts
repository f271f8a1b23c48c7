import type { Provider } from './provider.ts';

export const dashscope: Provider = {
  name: 'dashscope',
  aliases: ['qwen'],
  wire: 'openai-chat',
  keyEnv: 'DASHSCOPE_API_KEY',
  keyRequired: true,
  baseUrl: 'https://dashscope.aliyuncs.com/compatible-mode/v1',
  detect: [/qwen/],
};
