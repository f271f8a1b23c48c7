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

/** Whether a model thinks at a level. One of which nothing is known thinks only where it is asked to. */
export function mayThink(level: ThinkingLevel = 'auto', known?: readonly string[]): boolean {
  if (!known) return level !== 'auto' && level !== 'off';
  // Some cannot stop, and are sent another word for `off`, or none.
  return known.length > 0 && !['off', 'none'].includes(thinkingWord(level, known) ?? '');
}
