/**
 * WhatsApp: https://faq.whatsapp.com/539178204879377 names its marks; how they nest and what counts as a
 * word's edge is not published.
 */

import { PLATFORM_LIMITS } from '../../../channels/whatsapp/platform-limits.ts';
import { tooLong, type Verdict } from './verdict.ts';

const TEXT = PLATFORM_LIMITS.text.value;
const STYLES = ['*', '_', '~'] as const;

export function judgeWhatsApp(text: string): Verdict {
  const violations: string[] = [...tooLong(text.length, TEXT, 'characters')];
  if (text.trim() === '') violations.push('the message is empty');
  if ((text.split('```').length - 1) % 2 === 1) violations.push('a monospaced block is not closed');
  const visible = text
    .split(/```\n?([\s\S]*?)```/)
    .map((piece, at) => (at % 2 === 1 ? piece : piece.split('\n').map(lineOf).join('\n')))
    .join('');
  return { violations, visible };
}

function lineOf(line: string): string {
  return line
    .replace(/^ *(?:[*-]|>) /, '')
    .split(/`(?!\p{Cf})([^`]+)`/u)
    .map((piece, at) => (at % 2 === 1 ? piece : STYLES.reduce(withoutMark, piece)))
    .join('');
}

/**
 * A mark at the edge of words on both sides, and the same again in the line; an invisible sign behind it
 * keeps it from being one.
 */
function withoutMark(text: string, mark: string): string {
  const before = `(?<![\\p{L}\\p{N}])[${mark}](?=[^\\s\\p{Cf}])`;
  return text.replace(new RegExp(`${before}([^${mark}]*[^\\s${mark}])[${mark}](?![\\p{L}\\p{N}])`, 'gu'), '$1');
}
