import { Buffer } from 'node:buffer';
import type { ChannelLimits } from '../core/channel.ts';

export type TextUnit = ChannelLimits['unit'];

/** Length of a text as the platform counts it. */
export function measure(text: string, unit: TextUnit): number {
  if (unit === 'utf16') return text.length;
  if (unit === 'byte') return Buffer.byteLength(text, 'utf8');
  let pairs = 0;
  for (let index = 0; index < text.length; index += 1) if (isLowSurrogate(text.charCodeAt(index))) pairs += 1;
  return text.length - pairs;
}

/** The same of what is sent for it, where that is longer: rendering and escaping add to a text. */
export function measureSent(
  text: string,
  { unit, sentLength }: { readonly unit: TextUnit; readonly sentLength?: ChannelLimits['sentLength'] },
): number {
  return Math.max(measure(text, unit), sentLength?.(text) ?? 0);
}

/**
 * The furthest index at or after `from` such that `text.slice(from, index)` is at most `budget` units. Never
 * inside a surrogate pair.
 */
export function reach(text: string, from: number, budget: number, unit: TextUnit): number {
  if (unit === 'utf16') {
    const end = Math.min(text.length, from + budget);
    return isLowSurrogate(text.charCodeAt(end)) ? end - 1 : end;
  }
  let index = from;
  for (let spent = 0; index < text.length; ) {
    const point = text.codePointAt(index) ?? 0;
    spent += unit === 'codepoint' ? 1 : point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
    if (spent > budget) break;
    index += point > 0xffff ? 2 : 1;
  }
  return index;
}

/** In well-formed text a low surrogate is always the second half of a pair. */
export function isLowSurrogate(code: number): boolean {
  return code >= 0xdc00 && code <= 0xdfff;
}
