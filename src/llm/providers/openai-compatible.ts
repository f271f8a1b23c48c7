import type { Provider } from './provider.ts';

/** Any server that speaks the chat completions wire: LM Studio, llama.cpp, LiteLLM, a company's gateway. */
export const openaiCompatible: Provider = {
  name: 'openai-compatible',
  aliases: ['compatible', 'lmstudio', 'llamacpp', 'litellm'],
  wire: 'openai-chat',
  keyRequired: false,
  detect: [],
};
