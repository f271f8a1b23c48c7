/** What people ask in the scenario `plain`, one each. */
import type { Platform } from '../../simulator/platforms/platform.ts';

export const QUESTIONS = ['plain 1', 'tool 2', 'long 3'];
/** On platforms with more doors than that, so that each of them is asked by. */
const MORE_QUESTIONS = ['long 4', 'plain 5', 'tool 6'];
export const questionsOf = ({ doors = 1 }: Platform) => [
  ...QUESTIONS,
  ...MORE_QUESTIONS.slice(0, Math.max(0, doors - QUESTIONS.length)),
];
