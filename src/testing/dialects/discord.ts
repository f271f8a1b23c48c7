/**
 * Discord: https://discord.com/developers/docs/reference#message-formatting and the marks that its apps are
 * known to read.
 */

import { PLATFORM_LIMITS } from '../../../channels/discord/platform-limits.ts';
import { tooLong, type Verdict } from './verdict.ts';

const TEXT = PLATFORM_LIMITS.text.value;
const MARKS = ['***', '**', '*', '__', '_', '~~', '||'] as const;

export function judgeDiscord(content: string): Verdict {
  const violations: string[] = [...tooLong([...content].length, TEXT, 'code points')];
  if (content.trim() === '') violations.push('the message is empty');
  const visible = content
    .split(/(?<!\\)```(?:[\w+#.-]+\n|\n?)([\s\S]*?)```/)
    .map((piece, at) => (at % 2 === 1 ? piece : prose(piece, violations)))
    .join('');
  return { violations, visible };
}

/** Without code blocks. */
function prose(text: string, violations: string[]): string {
  const open: string[] = [];
  let visible = '';
  let at = 0;
  const take = (length: number, shown = ''): void => {
    visible += shown;
    at += length;
  };
  while (at < text.length) {
    const rest = text.slice(at);
    const line = at === 0 || text[at - 1] === '\n';
    const [code, , inner = ''] = /^(`{1,2})(?!`)([\s\S]*?[^`])\1(?!`)/.exec(rest) ?? [];
    const mark = MARKS.find((one) => rest.startsWith(one));
    if (/^\\[^\p{L}\p{N}\s]/u.test(rest)) take(2, rest[1]);
    else if (code) take(code.length, inner);
    else if (line && /^ *(?:#{1,3}|-#|>|-) /.test(rest)) take(/^ *\S+ /.exec(rest)?.[0].length ?? 1);
    else if (/^<https?:[^\s<>]+>/.test(rest)) take(/^<([^>]*)>/.exec(rest)?.[0].length ?? 1, /^<([^>]*)>/.exec(rest)?.[1]);
    else if (/^\]\(<[^<>\s]+>\)/.test(rest)) take(/^\]\(<[^<>\s]+>\)/.exec(rest)?.[0].length ?? 1);
    else if (/^https?:\/\/\S+/.test(rest))
      take(/^https?:\/\/[^\s<>]+/.exec(rest)?.[0].length ?? 1, /^https?:\/\/[^\s<>]+/.exec(rest)?.[0]);
    else if (rest.startsWith('[')) take(1);
    else if (/^<(?:@|#|:|a:|t:|\/|id:)/.test(rest)) {
      violations.push(`a mention or another sign of the platform: ${rest.slice(0, 20)}`);
      take(1, '<');
    } else if (mark) {
      toggle(mark, open, violations);
      take(mark.length);
    } else take(1, rest[0]);
  }
  if (open.length > 0) violations.push(`never closed: ${open.join(' ')}`);
  return visible;
}

/** A mark within itself ends it: bold in bold shows its stars. */
function toggle(mark: string, open: string[], violations: string[]): void {
  if (open.at(-1) === mark) open.pop();
  else if (mark === '***' && open.length >= 2 && open.slice(-2).sort().join(' ') === '* **') open.splice(-2);
  else if (mark === '***' && open.at(-1) === '*') open.splice(-1, 1, '**');
  else if (mark === '***' && open.at(-1) === '**') open.splice(-1, 1, '*');
  else if (open.includes(mark)) violations.push(`${mark} within ${open.join(' ')}`);
  else open.push(...(mark === '***' ? ['**', '*'] : [mark]));
}
