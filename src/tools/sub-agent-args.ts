/** What the tools that begin sub-agents have in common. */
import { z } from 'zod';
import { oneLine } from '../lib/one-line.ts';

const MOST_CHARS = 100_000;
const LABEL_CHARS = 60;

export const Task = z.string().min(1).max(MOST_CHARS);

/**
 * The first words of a task, or the name that was given. It stands in notes that the gateway writes in square
 * brackets, so it must not end one: its own become round ones.
 */
export function labelOf(words: string): string {
  return oneLine(words.replaceAll('[', '(').replaceAll(']', ')'), LABEL_CHARS);
}
