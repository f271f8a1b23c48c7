import type { Provider } from './provider.ts';

/**
 * Ollama cuts a prompt that is longer than its `num_ctx` without a word, and its default is far below what the model could take.
 * The window here is therefore careful; `context_window` in the config raises it together with OLLAMA_CONTEXT_LENGTH.
 */
export const ollama: Provider = {
  name: 'ollama',
  aliases: [],
  wire: 'openai-chat',
  defaultModel: 'llama3.2',
  keyRequired: false,
  baseUrl: 'http://localhost:11434/v1',
  detect: [],
  contextWindows: [[/./, 8_192]],
};
