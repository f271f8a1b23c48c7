/**
 * What each Claude model accepts. Sources, read in November 2026 in stored copies:
 * https://platform.claude.com/docs/en/build-with-claude/thinking-troubleshooting (values of `thinking.type`,
 * table of July 2026)
 * https://platform.claude.com/docs/en/models/opus-5-5/whats-new-opus-5-5, …/sonnet-5-5/migration-guide,
 * …/haiku-5-5/migration-guide
 * https://platform.claude.com/docs/en/build-with-claude/prompt-caching#cache-limitations (`cacheMinimum`;
 * 5.5: the pages above)
 */
export interface ClaudeModel {
  readonly maxOutput: number;
  /** Accepted values of `thinking.type`. */
  readonly thinking: readonly string[];
  /** A request without `thinking` thinks. */
  readonly thinksByDefault: boolean;
  /** Accepted values of `output_config.effort`; none = the parameter is refused. */
  readonly efforts: readonly string[];
  readonly defaultEffort: string;
  /** `default`: only the default values are accepted; `none`: the parameters are refused. */
  readonly sampling: 'free' | 'default' | 'none';
  readonly prefill: boolean;
  /** `tool_choice` may force a tool. */
  readonly forcedTool: boolean;
  /** Tokens below which nothing is cached. */
  readonly cacheMinimum: number;
  /** Default of `thinking.display`. */
  readonly display: 'summarized' | 'omitted';
  /** Thinking blocks are signed over the conversation before them. */
  readonly bound: boolean;
  /** Thinking of earlier turns stays in the prompt. */
  readonly keepsThinking: boolean;
  /** `role: "system"` inside `messages`. */
  readonly systemInMessages: boolean;
}

const ALL_EFFORTS = ['low', 'medium', 'high', 'xhigh', 'max'];

const OPUS_5: ClaudeModel = {
  maxOutput: 128_000,
  thinking: ['adaptive', 'disabled'],
  thinksByDefault: true,
  efforts: ALL_EFFORTS,
  defaultEffort: 'high',
  sampling: 'none',
  prefill: false,
  forcedTool: true,
  cacheMinimum: 512,
  display: 'omitted',
  bound: false,
  keepsThinking: true,
  systemInMessages: true,
};
const FABLE_5: ClaudeModel = { ...OPUS_5, thinking: ['adaptive'] };
const FABLE_5_1: ClaudeModel = { ...FABLE_5, forcedTool: false, bound: true };
const OPUS_5_5: ClaudeModel = { ...FABLE_5_1, defaultEffort: 'medium' };
const SONNET_5: ClaudeModel = { ...OPUS_5, sampling: 'default', cacheMinimum: 1_024, systemInMessages: false };
const OPUS_4_8: ClaudeModel = { ...OPUS_5, thinksByDefault: false, cacheMinimum: 1_024 };
const OPUS_4_6: ClaudeModel = {
  ...OPUS_4_8,
  thinking: ['adaptive', 'enabled', 'disabled'],
  efforts: ['low', 'medium', 'high', 'max'],
  sampling: 'free',
  cacheMinimum: 4_096,
  display: 'summarized',
  systemInMessages: false,
};
const OPUS_4_5: ClaudeModel = {
  ...OPUS_4_6,
  maxOutput: 64_000,
  thinking: ['enabled', 'disabled'],
  efforts: ['low', 'medium', 'high'],
  prefill: true,
};
const SONNET_4_5: ClaudeModel = { ...OPUS_4_5, efforts: [], cacheMinimum: 1_024, keepsThinking: false };

const MODELS: Readonly<Record<string, ClaudeModel>> = {
  'claude-fable-5': FABLE_5,
  'claude-fable-5-1': FABLE_5_1,
  // No page was found for 5.2; it is taken to be as strict as 5.1.
  'claude-fable-5-2': FABLE_5_1,
  'claude-opus-5-5': OPUS_5_5,
  'claude-sonnet-5-5': {
    ...OPUS_5_5,
    thinking: ['adaptive', 'between_tools'],
    defaultEffort: 'high',
    sampling: 'default',
  },
  'claude-haiku-5-5': { ...OPUS_5_5, thinking: ['adaptive', 'disabled'], sampling: 'default', forcedTool: true },
  'claude-opus-5': OPUS_5,
  'claude-sonnet-5': SONNET_5,
  'claude-opus-4-8': OPUS_4_8,
  'claude-opus-4-7': { ...OPUS_4_8, cacheMinimum: 2_048, systemInMessages: false },
  'claude-opus-4-6': OPUS_4_6,
  'claude-sonnet-4-6': { ...OPUS_4_6, cacheMinimum: 1_024 },
  'claude-opus-4-5': OPUS_4_5,
  'claude-sonnet-4-5': SONNET_4_5,
  'claude-haiku-4-5': { ...SONNET_4_5, cacheMinimum: 4_096 },
};

/** An unknown name is held to the rules of the strictest model. */
export function claudeModel(name: string): ClaudeModel {
  return MODELS[name.replace(/-\d{8}$/, '')] ?? OPUS_5_5;
}

/**
 * Requests for these end with a 404 (https://platform.claude.com/docs/en/about-claude/model-deprecations, as
 * of November 2026).
 */
export const RETIRED_CLAUDE: readonly string[] = [
  'claude-3-5-sonnet-20241022',
  'claude-3-7-sonnet-20250219',
  'claude-3-5-haiku-20241022',
  'claude-3-haiku-20240307',
  'claude-sonnet-4-20250514',
  'claude-opus-4-20250514',
  'claude-opus-4-1-20250805',
];
