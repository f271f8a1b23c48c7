/**
 * Telegram, HTML mode: https://core.telegram.org/bots/api#html-style and what its maintainers said of
 * entities.
 */

import { PLATFORM_LIMITS } from '../../../channels/telegram/platform-limits.ts';
import { parseTelegramHtml } from '../../simulator/telegram/html.ts';
import { tooLong, type Verdict } from './verdict.ts';

const [TEXT, ENTITIES, ENTITY_SIZE] = [
  PLATFORM_LIMITS.text.value,
  PLATFORM_LIMITS.entities.value,
  PLATFORM_LIMITS.entitySize.value,
];

/** `html` is sent with `parse_mode: HTML`, unless `plain`. */
export function judgeTelegram(html: string, plain: boolean): Verdict {
  if (plain) return { violations: tooLong(html.length, TEXT, 'code units'), visible: html };
  const parsed = parseTelegramHtml(html);
  if ('error' in parsed) return { violations: [parsed.error], visible: '' };
  const tags = [...html.matchAll(/<(\/?)([a-z-]+)([^>]*)>/g)];
  const entities = tags.filter(([, slash, name]) => slash === '' && name !== 'code').length + codes(html);
  const sized = html.replace(/&(?:lt|gt|amp|quot);/g, '.').length;
  return {
    violations: [
      ...tooLong(parsed.text.length, TEXT, 'code units'),
      ...tooLong(entities, ENTITIES, 'entities'),
      ...(entities > 0 ? tooLong(sized, ENTITY_SIZE, 'code units of text and entities') : []),
      ...(parsed.text.trim() === '' ? ['the text is empty'] : []),
      ...nestings(tags),
      ...tags.filter(([, , , rest = '']) => /href="(?!https?:|mailto:|tel:)/i.test(rest)).map(([tag]) => `a link to ${tag}`),
    ],
    visible: parsed.text,
  };
}

/** Code on its own; within `pre` it only names the language. */
function codes(html: string): number {
  return html.replace(/<pre>[\s\S]*?<\/pre>/g, '').split('<code').length - 1;
}

/**
 * "Bold, italic, underline, strikethrough ... can be part of any other entities, except pre and code"; all
 * others hold none of each other.
 */
function nestings(tags: readonly RegExpExecArray[]): readonly string[] {
  const open: string[] = [];
  const wrong: string[] = [];
  for (const [, slash, name = ''] of tags) {
    if (slash !== '') open.pop();
    else {
      const outer = open.filter((one) => !(one === 'pre' && name === 'code' && open.at(-1) === 'pre'));
      const alone = (tag: string): boolean => tag === 'pre' || tag === 'code';
      if (outer.some(alone) || (alone(name) && outer.some((tag) => tag !== 'blockquote')))
        wrong.push(`${name} within ${open.join(' ')}`);
      else if (name === 'a' && outer.includes('a')) wrong.push('a link within a link');
      open.push(name);
    }
  }
  return wrong;
}
