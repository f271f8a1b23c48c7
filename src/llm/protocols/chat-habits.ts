/** Where servers of the OpenAI chat wire differ: demands on the history, ways to ask for thinking. */
import type { IdRule } from './call-ids.ts';
import type { KeptReasoning } from './openai-chat-answer.ts';

export interface ChatHabits {
  /** The form in which reasoning goes back. */
  readonly reasoning: KeptReasoning;
  /** Each past call needs `reasoning_content`, be it empty: Moonshot's rule, also behind OpenRouter. */
  readonly demandsReasoning?: boolean;
  /** A result has to be answered before a person speaks again. */
  readonly answersResults?: boolean;
  /** `field`: `reasoning_effort`; `object`: `reasoning: {effort}`; `switch`: `field`, `thinking` for off. */
  readonly effort: 'field' | 'object' | 'switch';
  readonly ids: IdRule;
  /** Takes `prompt_cache_key`, which sends calls of one conversation to the same cache. */
  readonly cacheKey: boolean;
  /** Takes `cache_control` for models that cache only where they are told to. */
  readonly cacheControl: boolean;
  /** Name of the output limit. */
  readonly maxTokens: 'max_tokens' | 'max_completion_tokens';
  /** Sent when a request has none: some servers stop after 1,024 tokens (Kimi). At most the model's own. */
  readonly outputLimit?: number;
  /** Tells the usage only where it is asked to; Mistral always does, and refuses the question. */
  readonly asksForUsage: boolean;
}

const PLAIN: ChatHabits = {
  reasoning: 'none',
  effort: 'field',
  // OpenAI's rule; others take more.
  ids: { accepts: /^[A-Za-z0-9_-]{1,40}$/, length: 24 },
  cacheKey: false,
  cacheControl: false,
  maxTokens: 'max_tokens',
  asksForUsage: true,
};

/** By provider, where it is not `PLAIN`. Sources: provider-rules 2a, 5, 6, 7, 9, 10. */
const HABITS: Readonly<Record<string, Partial<ChatHabits>>> = {
  openai: { cacheKey: true, maxTokens: 'max_completion_tokens' },
  azure: { cacheKey: true, maxTokens: 'max_completion_tokens' },
  deepseek: { reasoning: 'content', effort: 'switch' },
  moonshot: { reasoning: 'content', effort: 'switch', maxTokens: 'max_completion_tokens', outputLimit: 32_000 },
  fireworks: { outputLimit: 32_000 },
  mistral: {
    ...{ reasoning: 'chunk', ids: { accepts: /^[A-Za-z0-9]{9}$/, length: 9 }, cacheKey: true, asksForUsage: false },
    answersResults: true,
  },
  groq: { maxTokens: 'max_completion_tokens' },
  cerebras: { maxTokens: 'max_completion_tokens' },
  openrouter: {
    ...{ reasoning: 'details', effort: 'object', cacheControl: true },
    // Its own hold the name of the tool, and encrypted reasoning names them.
    ids: { accepts: /^[\w.:-]{1,128}$/, length: 24 },
  },
};

export const chatHabits = (provider: string, model = ''): ChatHabits => ({
  ...{ ...PLAIN, ...HABITS[provider] },
  demandsReasoning: provider === 'openrouter' && /^~?moonshotai\/kimi/i.test(model),
});
