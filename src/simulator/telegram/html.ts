/** Judges HTML as the Bot API does, so that malformed markup of ours fails in tests as it would in a chat. */

import { PLATFORM_LIMITS } from '../../../channels/telegram/platform-limits.ts';

/** Tags of https://core.telegram.org/bots/api#html-style with the attributes each may carry. */
const TAGS: Readonly<Record<string, readonly string[]>> = {
  b: [],
  strong: [],
  i: [],
  em: [],
  u: [],
  ins: [],
  s: [],
  strike: [],
  del: [],
  span: ['class'],
  'tg-spoiler': [],
  'tg-emoji': ['emoji-id'],
  a: ['href'],
  code: ['class'],
  pre: [],
  blockquote: ['expandable'],
};

const ENTITIES: Readonly<Record<string, string>> = { lt: '<', gt: '>', amp: '&', quot: '"' };

export type ParsedHtml =
  /** `entities`: how many stretches of the text the markup formats. */
  { readonly text: string; readonly entities: number } | { readonly error: string };

/** What the total size of entities may be, as the maintainer puts it. */
const MARKUP_LIMIT = PLATFORM_LIMITS.entitySize.value;

/** The visible text, or the sentence with which the platform refuses the markup. */
export function parseTelegramHtml(html: string): ParsedHtml {
  const open: string[] = [];
  let text = '';
  let at = 0;
  let markup = 0;
  let entities = 0;
  const fail = (what: string): ParsedHtml => ({ error: `Bad Request: can't parse entities: ${what}` });
  const offset = (): number => Buffer.byteLength(html.slice(0, at));
  while (at < html.length) {
    const char = html[at] ?? '';
    if (char === '&') {
      const match = /^&(?:(lt|gt|amp|quot)|#(\d{1,7})|#x([\da-f]{1,6}));/i.exec(html.slice(at, at + 12));
      text += match ? decodeEntity(match) : char;
      at += match ? match[0].length : 1;
      continue;
    }
    if (char !== '<') {
      text += char;
      at += 1;
      continue;
    }
    const end = html.indexOf('>', at);
    if (end === -1) return fail(`Unclosed start tag at byte offset ${offset()}`);
    const tag = html.slice(at + 1, end);
    markup += tag.length + 2;
    if (tag.startsWith('/')) {
      const expected = open.pop();
      const name = tag.slice(1).trim().toLowerCase();
      if (expected === undefined) return fail(`Unexpected end tag at byte offset ${offset()}`);
      if (name !== expected)
        return fail(`Unmatched end tag at byte offset ${offset()}, expected "</${expected}>", found "</${name}>"`);
    } else {
      const problem = startTag(tag, open);
      if (problem !== undefined) return fail(`${problem} at byte offset ${offset()}`);
      // `code` in `pre` names its language and is no entity of its own.
      if (open.at(-1) !== 'code' || open.at(-2) !== 'pre') entities += 1;
    }
    at = end + 1;
  }
  const missing = open.at(-1);
  if (missing === undefined && markup > MARKUP_LIMIT) return { error: 'Bad Request: ENTITIES_TOO_LONG' };
  return missing === undefined ? { text, entities } : fail(`Can't find end tag corresponding to start tag "${missing}"`);
}

function startTag(tag: string, open: string[]): string | undefined {
  const match = /^([a-z][a-z0-9-]*)((?:\s+[a-z-]+(?:="[^"<]*")?)*)\s*$/i.exec(tag);
  const name = (match?.[1] ?? tag.split(/\s/)[0] ?? '').toLowerCase();
  const allowed = TAGS[name];
  if (!match || !allowed) return `Unsupported start tag "${name}"`;
  for (const [, attribute = ''] of (match[2] ?? '').matchAll(/\s+([a-z-]+)(?:="[^"]*")?/gi)) {
    if (!allowed.includes(attribute.toLowerCase())) return `Unsupported attribute "${attribute}" in the tag "${name}"`;
  }
  if (name === 'blockquote' && open.includes('blockquote')) return 'Nested blockquote';
  open.push(name);
  return undefined;
}

function decodeEntity(match: RegExpExecArray): string {
  const [, name, decimal, hex] = match;
  if (name !== undefined) return ENTITIES[name.toLowerCase()] ?? '';
  const code = decimal === undefined ? Number.parseInt(hex ?? '', 16) : Number(decimal);
  return code > 0 && code <= 0x10ffff ? String.fromCodePoint(code) : '';
}
