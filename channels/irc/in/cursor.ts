/** Since when lines are ours to answer: what history shows from before the first start was not said to us. */
import { num, parseObject } from '../../kit/json.ts';

/** A server's clock may be this far behind ours. Only history is older. ms. */
const CLOCKS_APART_MS = 3_600_000;

export interface Reach {
  /** Of the first start; epoch ms. */
  readonly since: number;
  /** How far back history is answered. ms. */
  readonly catchUpMs: number;
}

/** Undefined for anything that is no cursor of ours. */
export function parseCursor(text: string | undefined): number | undefined {
  return num(parseObject(text)?.['since']);
}

export function formatCursor(since: number): string {
  return JSON.stringify({ since });
}

/**
 * Whether a line of this time is left out. A live one is none of history, though it may look a little old.
 */
export function isTooOld(at: number, isHistory: boolean, { since, catchUpMs }: Reach, now: number): boolean {
  // A first start that lies ahead was told by a clock that was set back since.
  const oldest = Math.max(Math.min(since, now), now - catchUpMs);
  return at < (isHistory ? oldest : oldest - CLOCKS_APART_MS);
}
