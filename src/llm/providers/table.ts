/** What is known of providers that need no code of their own. Their models are in `../catalog`. */
import { azure, bedrock, vertex } from './clouds.ts';
import { ollama } from './ollama.ts';
import type { Provider } from './provider.ts';

export const openai = hosted('openai', 'https://api.openai.com/v1', {
  // Their reasoning survives between the calls of a turn only there.
  modelWires: [[/^(?:o\d|gpt-[5-9]|gpt-daybreak|chat-latest)/, 'openai-responses']],
  otherWires: ['openai-responses'],
  baseUrlEnv: 'OPENAI_BASE_URL',
  // gpt-oss has open weights, and OpenAI does not serve it.
  detect: [/gpt(?!-oss)/, /^o[134]/],
});

export const gemini = hosted('gemini', 'https://generativelanguage.googleapis.com/v1beta', {
  ...{ aliases: ['google'], wire: 'gemini', detect: [/gemini/] },
  baseUrlEnv: 'GOOGLE_GEMINI_BASE_URL',
});

/** Any server that speaks the chat completions wire: LM Studio, llama.cpp, LiteLLM, a company's gateway. */
export const openaiCompatible: Provider = {
  name: 'openai-compatible',
  aliases: ['compatible', 'lmstudio', 'llamacpp', 'litellm'],
  wire: 'openai-chat',
  keyRequired: false,
  detect: [],
};

/**
 * In the order of spec B1, in which model names are compared and keys of the environment are looked for: the
 * first hit wins. Documented; do not reorder. What came later stands behind, and before the servers without a
 * name.
 */
export const PROVIDERS: readonly Provider[] = [
  hosted('anthropic', 'https://api.anthropic.com', {
    ...{ wire: 'anthropic', detect: [/claude/] },
    baseUrlEnv: 'ANTHROPIC_BASE_URL',
  }),
  openai,
  gemini,
  hosted('openrouter', 'https://openrouter.ai/api/v1', {
    otherWires: ['openai-responses', 'anthropic'],
  }),
  hosted('deepseek', 'https://api.deepseek.com/v1', { detect: [/deepseek/] }),
  hosted('groq', 'https://api.groq.com/openai/v1', { detect: [/llama/, /mixtral/] }),
  hosted('moonshot', 'https://api.moonshot.ai/v1', { aliases: ['kimi'], detect: [/kimi/, /moonshot/] }),
  hosted('dashscope', 'https://dashscope.aliyuncs.com/compatible-mode/v1', { aliases: ['qwen'], detect: [/qwen/] }),
  hosted('minimax', 'https://api.minimax.io/v1', { detect: [/minimax/] }),
  hosted('zhipu', 'https://open.bigmodel.cn/api/paas/v4', { aliases: ['glm'], detect: [/glm/] }),
  // The GLM models by their maker's international service.
  hosted('zai', 'https://api.z.ai/api/anthropic', { aliases: ['z.ai'], wire: 'anthropic' }),
  hosted('nvidia', 'https://integrate.api.nvidia.com/v1', { aliases: ['nim'] }),
  ollama,
  {
    ...{ name: 'vllm', aliases: [], wire: 'openai-chat', keyEnv: 'VLLM_API_KEY', keyRequired: false, detect: [] },
    runsLocally: () => true,
  },
  // A reseller of many makers' models.
  hosted('r9s', 'https://api.r9s.ai/v1', {
    aliases: ['r9s.ai'],
    modelWires: [[/claude/, 'anthropic']],
    otherWires: ['anthropic'],
  }),
  // https://docs.x.ai: Responses is the wire for new programs.
  hosted('xai', 'https://api.x.ai/v1', {
    aliases: ['grok'],
    wire: 'openai-responses',
    otherWires: ['openai-chat'],
    detect: [/grok/],
  }),
  hosted('mistral', 'https://api.mistral.ai/v1', { detect: [/^(?:mistral|ministral|magistral|devstral|codestral)/] }),
  hosted('together', 'https://api.together.xyz/v1'),
  hosted('fireworks', 'https://api.fireworks.ai/inference/v1'),
  hosted('cerebras', 'https://api.cerebras.ai/v1'),
  azure,
  bedrock,
  vertex,
  openaiCompatible,
];

/** A service that takes one key, of `NAME_API_KEY`; it speaks the chat wire unless `more` says otherwise. */
function hosted(name: string, baseUrl: string, more: Partial<Provider> = {}): Provider {
  const keyEnv = `${name.toUpperCase()}_API_KEY`;
  return { name, aliases: [], wire: 'openai-chat', keyEnv, keyRequired: true, baseUrl, detect: [], ...more };
}
