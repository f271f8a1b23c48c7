/** What differs between providers of one wire: data only, one file each. Model names and windows go stale; correct them here. */
export interface Provider {
  readonly name: string;
  /** Other names the config may use. */
  readonly aliases: readonly string[];
  readonly wire: 'openai-chat';
  /** Absent where the operator must name the model. */
  readonly defaultModel?: string;
  /** Environment variable of the key. */
  readonly keyEnv?: string;
  /** False: a call without a key is fine. */
  readonly keyRequired: boolean;
  /** Absent where the operator must name it. */
  readonly baseUrl?: string;
  /** Environment variable that replaces `baseUrl`, where the provider's own tools know one. */
  readonly baseUrlEnv?: string;
  /** A model name that contains one of these belongs here when the config names no provider (spec B1). */
  readonly detect: readonly RegExp[];
  /** Context window in tokens, by the first pattern that matches the model name; else `DEFAULT_CONTEXT_WINDOW`. */
  readonly contextWindows: readonly (readonly [RegExp, number])[];
  readonly maxTokensField?: 'max_tokens' | 'max_completion_tokens';
  readonly sendReasoning?: boolean;
}

/** Spec B1: for a model nobody listed. */
export const DEFAULT_CONTEXT_WINDOW = 128_000;
