import type { ThinkingLevel } from '../../core/session.ts';

/** What each level may become, best first: providers name between one and six of them. */
const CANDIDATES: Readonly<Record<Exclude<ThinkingLevel, 'auto'>, readonly string[]>> = {
  off: ['off', 'none', 'minimal', 'low'],
  low: ['low', 'minimal', 'medium', 'high'],
  medium: ['medium', 'high', 'low', 'default'],
  high: ['high', 'xhigh', 'max', 'medium', 'default'],
};

/**
 * The provider's word for a level, out of those that the model has. Undefined: say nothing, which leaves it
 * to the provider (`auto`, a model that does not think, or one without any word that comes near).
 */
export function thinkingWord(level: ThinkingLevel | undefined, known: readonly string[] | undefined): string | undefined {
  if (level === undefined || level === 'auto' || !known) return undefined;
  return CANDIDATES[level].find((word) => known.includes(word));
}
