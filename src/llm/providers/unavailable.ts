/** Providers whose wire is not built yet: named so that a config or key for one gets a true answer instead of a guess. */
export interface UnavailableProvider {
  readonly name: string;
  readonly aliases: readonly string[];
  readonly keyEnv: string;
  readonly detect: readonly RegExp[];
}

export const UNAVAILABLE: readonly UnavailableProvider[] = [
  { name: 'anthropic', aliases: ['claude'], keyEnv: 'ANTHROPIC_API_KEY', detect: [/claude/] },
  { name: 'gemini', aliases: ['google'], keyEnv: 'GEMINI_API_KEY', detect: [/gemini/] },
  { name: 'zai', aliases: ['z.ai'], keyEnv: 'ZAI_API_KEY', detect: [] },
];
