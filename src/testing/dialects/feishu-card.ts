/**
 * Feishu: the text element of a card of JSON 2.0
 * (https://open.feishu.cn/document/feishu-cards/card-json-v2-components/content-components/rich-text).
 */

import MarkdownIt from 'markdown-it';
import type Token from 'markdown-it/lib/token.mjs';
import { tooLong, type Verdict } from './verdict.ts';

/** "CommonMark but HTML blocks", and tables: "at most four in one component", "at most 50 columns". */
const [TABLES, COLUMNS, CARD_BYTES] = [4, 50, 30_000];
/** "The tags <br> and <hr>"; the others are mentions, colours and links, none of which is ours. */
const TAG = /^<(?:br|hr)>\s*$/;

type Fields = Readonly<Record<string, unknown>>;

/** The whole card, as it stands in the request. */
export function judgeStreamingCard(card: object): Verdict {
  const [first] = ((card as Fields)['body'] as { readonly elements: readonly Fields[] }).elements;
  const { violations, visible } = first?.['tag'] === 'div' ? ofPlain(first) : judgeCardText(String(first?.['content']));
  const long = tooLong(Buffer.byteLength(JSON.stringify(JSON.stringify(card))), CARD_BYTES, 'bytes');
  return { violations: [...long, ...violations], visible };
}

/** Words that are no Markdown. */
function ofPlain({ text }: Fields): Verdict {
  const { tag, content } = text as Fields;
  const visible = String(content);
  const empty = visible.trim() === '' ? ['the message is empty'] : [];
  return { violations: [...empty, ...(tag === 'plain_text' ? [] : [`a text of ${String(tag)}`])], visible };
}

function judgeCardText(content: string): Verdict {
  const violations: string[] = [];
  const tokens = new MarkdownIt({ html: true }).parse(content, {}) as readonly Token[];
  violations.push(...tooLong(tokens.filter(({ type }) => type === 'table_open').length, TABLES, 'tables'));
  let visible = '';
  let columns = 0;
  for (const token of tokens) {
    if (token.type === 'tr_open') columns = 0;
    if (/^t[hd]_open$/.test(token.type)) columns += 1;
    if (columns > COLUMNS) violations.push(`${columns} columns`);
    if (/^(?:heading|ordered_list|bullet_list)_open$|^code_block$|^hr$/.test(token.type))
      violations.push(`reads as ${token.type}`);
    if (token.type === 'html_block' && !TAG.test(token.content)) violations.push(`HTML: ${token.content.slice(0, 20)}`);
    if (token.type === 'fence') visible += token.content;
    if (token.type === 'inline') visible += inline(token.children ?? [], violations);
    if (/_close$/.test(token.type)) visible += /^t[hd]_close$/.test(token.type) ? ' ' : '\n';
  }
  if (visible.trim() === '') violations.push('the message is empty');
  return { violations, visible };
}

function inline(tokens: readonly Token[], violations: string[]): string {
  return tokens
    .map((token, at) => {
      if (token.type === 'html_inline') {
        if (!TAG.test(token.content)) violations.push(`HTML: ${token.content}`);
        return '\n';
      }
      // "It may be left out": a line break has to be a tag.
      if (token.type === 'softbreak') {
        if (tokens[at - 1]?.content !== '<br>') violations.push('a line break that may be left out');
        return '';
      }
      if (token.type === 'image') violations.push('a picture');
      const url = token.type === 'link_open' ? String(token.attrGet('href') ?? '') : 'https:';
      if (!/^https?:/i.test(url)) violations.push(`a link to ${url}`);
      return token.content;
    })
    .join('');
}
