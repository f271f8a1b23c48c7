/**
 * What Gemini models accept. Levels and budgets: https://ai.google.dev/gemini-api/docs/thinking; cache
 * minimum: https://ai.google.dev/gemini-api/docs/caching (October 2026).
 */
export interface GeminiModel {
  readonly pattern: RegExp;
  /** Accepted values of `thinkingLevel`; none = the parameter is refused. */
  readonly levels: readonly string[];
  /**
   * Smallest and largest `thinkingBudget` beside -1 (as the model likes); absent = the parameter is refused.
   */
  readonly budget?: readonly [number, number];
  /** A budget of 0 turns thinking off. */
  readonly canBeOff: boolean;
  readonly maxOutput: number;
  /** The first call of each step needs its signature. */
  readonly demandsSignatures: boolean;
  readonly cacheMinimum: number;
}

const THREE: Omit<GeminiModel, 'pattern'> = {
  levels: ['low', 'medium', 'high'],
  budget: [1, 65_535],
  canBeOff: false,
  maxOutput: 65_536,
  demandsSignatures: true,
  cacheMinimum: 4_096,
};
const TWO: Omit<GeminiModel, 'pattern' | 'budget'> = { ...THREE, levels: [], demandsSignatures: false, cacheMinimum: 2_048 };
const { budget: _budget, ...ARGON } = THREE;

const MODELS: readonly GeminiModel[] = [
  { ...TWO, pattern: /^gemini-2\.5-pro/, budget: [128, 32_768] },
  { ...TWO, pattern: /^gemini-2\.5-flash-lite/, budget: [512, 24_576], canBeOff: true },
  { ...TWO, pattern: /^gemini-2\.5-flash/, budget: [1, 24_576], canBeOff: true },
  {
    ...THREE,
    pattern: /^gemini-(?:3-flash|3\.1-flash-lite|3\.5-flash|3\.6-flash)/,
    levels: ['minimal', 'low', 'medium', 'high'],
  },
  // No `thinkingBudget`: https://github.com/BerriAI/litellm/discussions/46238
  { ...ARGON, pattern: /^gemini-4-argon/ },
];

/** An unknown name is held to the rules of the third generation. */
export function geminiModel(name: string): GeminiModel {
  return MODELS.find(({ pattern }) => pattern.test(name)) ?? { ...THREE, pattern: /^/ };
}

/** Gone by November 2026 (https://ai.google.dev/gemini-api/docs/deprecations). */
export const RETIRED_GEMINI: readonly string[] = [
  'gemini-2.0-flash',
  'gemini-3-pro-preview',
  'gemini-1.5-pro',
  'gemini-1.5-flash',
];
