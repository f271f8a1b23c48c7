import { hasRepeats, testWithin } from './slow-pattern.ts';

/** CPU of one match: patterns that people write take some microseconds. */
const MATCH_MS = 50;

/** Decides whether words address the agent. A `RegExp` is one. */
export interface AddressPattern {
  test(words: string): boolean;
}

/**
 * One of `group_patterns` as it is tried on messages. The check of the config refuses those that it finds
 * slow; one that is slow on a real message after all is told to `onSlow` and fits nothing any more, until the
 * next start or change of its channel: what a sender writes must not stop the daemon.
 */
export function guardedPattern(text: string, onSlow: () => void): AddressPattern {
  const pattern = new RegExp(text, 'iu');
  // A time limit costs a tenth of a millisecond.
  if (!hasRepeats(pattern)) return pattern;
  let isOff = false;
  return {
    test: (words) => {
      if (isOff) return false;
      const fits = testWithin(pattern, words, MATCH_MS);
      if (fits === undefined) {
        isOff = true;
        onSlow();
      }
      return fits ?? false;
    },
  };
}
