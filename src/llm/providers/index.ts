/** The registry: one line per provider. */
import { anthropic } from './anthropic.ts';
import { azure, bedrock, vertex } from './clouds.ts';
import { dashscope } from './dashscope.ts';
import { deepseek } from './deepseek.ts';
import { gemini } from './gemini.ts';
import { groq } from './groq.ts';
import { minimax } from './minimax.ts';
import { moonshot } from './moonshot.ts';
import { nvidia } from './nvidia.ts';
import { ollama } from './ollama.ts';
import { openai } from './openai.ts';
import { openaiCompatible } from './openai-compatible.ts';
import { openrouter } from './openrouter.ts';
import type { Provider } from './provider.ts';
import { r9s } from './r9s.ts';
import { cerebras, fireworks, mistral, together, xai } from './table.ts';
import { vllm } from './vllm.ts';
import { zai } from './zai.ts';
import { zhipu } from './zhipu.ts';

/**
 * In the order of spec B1, in which model names are compared and keys of the environment are looked for: the first hit wins.
 * Documented; do not reorder.
 */
export const PROVIDERS: readonly Provider[] = [
  anthropic,
  openai,
  gemini,
  openrouter,
  deepseek,
  groq,
  moonshot,
  dashscope,
  minimax,
  zhipu,
  zai,
  nvidia,
  ollama,
  vllm,
  r9s,
  xai,
  mistral,
  together,
  fireworks,
  cerebras,
  azure,
  bedrock,
  vertex,
  openaiCompatible,
];

/** By name or alias, in any case. */
export function findProvider(name: string): Provider | undefined {
  const wanted = name.trim().toLowerCase();
  return PROVIDERS.find((provider) => provider.name === wanted || provider.aliases.includes(wanted));
}

/** For messages: every name, in the documented order. */
export function providerNames(): string {
  return PROVIDERS.map((provider) => provider.name).join(', ');
}
