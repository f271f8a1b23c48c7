/**
 * The eight providers whose documented rules are enforced, each with a model whose rules are the strictest.
 */
import { anthropicWire } from './anthropic.ts';
import { deepseek } from './deepseek.ts';
import { geminiWire } from './gemini.ts';
import { mistral } from './mistral.ts';
import { moonshot } from './moonshot.ts';
import { openAiChat } from './openai-chat.ts';
import { openAiResponses } from './openai-responses.ts';
import { openrouter } from './openrouter.ts';
import type { StrictWire } from './strict-server.ts';

export interface StrictPeer {
  readonly name: string;
  readonly wire: StrictWire;
  /** The model part of the config that speaks to it, but for its address. */
  readonly config: { readonly provider: string; readonly model: string; readonly api_type?: 'openai' | 'responses' };
}

export const STRICT_PEERS: readonly StrictPeer[] = [
  { name: 'openai-chat', wire: openAiChat, config: { provider: 'openai', model: 'gpt-5.4', api_type: 'openai' } },
  {
    name: 'openai-responses',
    wire: openAiResponses,
    config: { provider: 'openai', model: 'gpt-6.1-sol', api_type: 'responses' },
  },
  { name: 'anthropic', wire: anthropicWire(), config: { provider: 'anthropic', model: 'claude-opus-5-5' } },
  { name: 'gemini', wire: geminiWire(), config: { provider: 'gemini', model: 'gemini-3.8-flash' } },
  { name: 'deepseek', wire: deepseek, config: { provider: 'deepseek', model: 'deepseek-flash' } },
  { name: 'moonshot', wire: moonshot, config: { provider: 'moonshot', model: 'kimi-k2.6' } },
  { name: 'mistral', wire: mistral, config: { provider: 'mistral', model: 'mistral-medium-latest' } },
  { name: 'openrouter', wire: openrouter, config: { provider: 'openrouter', model: 'google/gemini-3.8-flash' } },
];
