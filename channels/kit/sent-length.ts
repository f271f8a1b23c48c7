/** How long a text is once it is sent: what answers are cut by, and drafts. */
import type { ChannelLimits } from '../../src/core/channel-limits.ts';

/**
 * No dialect makes a text longer than so many times what was written, but for definitions that are referred
 * to again and again.
 */
const GROWTH = 8;

/**
 * `limits.sentLength` of a channel whose parts have `most` units; `measure` renders. Short texts are not
 * rendered for it.
 */
export function sentLength(most: number, measure: (markdown: string) => number): NonNullable<ChannelLimits['sentLength']> {
  return (markdown) => (markdown.length <= most / GROWTH && !markdown.includes(']:') ? 0 : measure(markdown));
}
