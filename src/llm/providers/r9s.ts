import type { Provider } from './provider.ts';

/** A reseller of many makers' models; Claude models are served on their own wire, all others on the chat wire. */
export const r9s: Provider = {
  name: 'r9s',
  aliases: ['r9s.ai'],
  wire: 'openai-chat',
  modelWires: [[/claude/, 'anthropic']],
  otherWires: ['anthropic'],
  keyEnv: 'R9S_API_KEY',
  keyRequired: true,
  baseUrl: 'https://api.r9s.ai/v1',
  detect: [],
};
