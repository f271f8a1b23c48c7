import type { Provider } from './provider.ts';
import toolCapable from './tool-capable.json' with { type: 'json' };

/**
 * Ollama cuts a prompt longer than its `num_ctx` without a word, and its default is far below what a model
 * takes. So this window is careful; `context_window` and OLLAMA_CONTEXT_LENGTH together raise it.
 */
export const ollama: Provider = {
  name: 'ollama',
  aliases: [],
  wire: 'openai-chat',
  otherWires: ['openai-responses', 'anthropic'],
  keyRequired: false,
  baseUrl: 'http://localhost:11434/v1',
  detect: [],
  contextWindow: 8_192,
  runsLocally: (model) => !isOllamaCloud(model),
  callsTools: isToolCapable,
};

/** `gpt-oss:120b-cloud`: the local server passes it on to Ollama's paid service. */
export function isOllamaCloud(model: string): boolean {
  return /[:-]cloud$/i.test(model);
}

/** Ollama's /api/tags does not tell. `registry/user/qwen3:4b` -> is `qwen3` in the list? */
export function isToolCapable(model: string): boolean {
  const family = model.split('/').at(-1)?.split(':')[0]?.toLowerCase() ?? '';
  return toolCapable.families.includes(family);
}
