/**
 * The words of blocks (https://docs.slack.dev/reference/block-kit/blocks), as the platform writes text:
 * mentions and links as `<…>`, its three characters as entities. Pure; nothing throws for any JSON.
 */
import { type JsonObject, list, num, obj, str } from '../../kit/json.ts';

/** A message has 50 blocks at most, a list in rich text no stated number of entries. */
const MAX_PARTS = 500;
/** Rich text is three levels deep: block, list, section. */
const MAX_DEPTH = 6;

/** Below each other; '' where the blocks hold pictures and buttons alone. */
export function wordsOfBlocks(blocks: unknown): string {
  return parts(blocks).map(blockWords).filter(Boolean).join('\n');
}

function blockWords(block: JsonObject): string {
  switch (block['type']) {
    case 'rich_text':
      return richWords(block, 0);
    case 'markdown':
      return str(block['text']) ?? '';
    case 'table':
    case 'data_table':
      return list(block['rows']).slice(0, MAX_PARTS).map(rowWords).filter(Boolean).join('\n');
    case 'context':
      return parts(block['elements']).map(textWords).filter(Boolean).join('\n');
    default:
      // header, section, and the title of a picture or a video
      return [block['title'], block['text'], ...list(block['fields']).slice(0, MAX_PARTS)]
        .map((text) => textWords(obj(text)))
        .filter(Boolean)
        .join('\n');
  }
}

/** A text object; a picture beside it has no words. */
function textWords(text: JsonObject): string {
  return str(text['text']) ?? '';
}

/** A cell is rich text, `raw_text` or `raw_number`. */
function rowWords(row: unknown): string {
  const cells = parts(row).map((cell) =>
    cell['type'] === 'rich_text' ? richWords(cell, 0) : escaped(str(cell['text']) ?? String(num(cell['value']) ?? '')),
  );
  return cells.map((cell) => cell.replaceAll('\n', ' ')).join(' | ');
}

/** Sections, lists, quotations and code of rich text, each on lines of its own. */
function richWords(container: JsonObject, depth: number): string {
  if (depth > MAX_DEPTH) return '';
  const inner = parts(container['elements']);
  switch (container['type']) {
    case 'rich_text':
      return inner.map((part) => richWords(part, depth + 1)).join('\n');
    case 'rich_text_list': {
      const indent = '  '.repeat(Math.min(Math.max(num(container['indent']) ?? 0, 0), 8));
      const first = 1 + (num(container['offset']) ?? 0);
      const sign = (n: number): string => (container['style'] === 'ordered' ? `${first + n}.` : '•');
      return inner.map((part, n) => `${indent}${sign(n)} ${richWords(part, depth + 1)}`).join('\n');
    }
    default:
      return inner.map(inlineWords).join('').replace(/\n$/, '');
  }
}

function inlineWords(part: JsonObject): string {
  const id = (field: string): string => (str(part[field]) ?? '').replace(/[<>|]/g, '');
  switch (part['type']) {
    case 'text':
      return escaped(str(part['text']) ?? '');
    case 'link': {
      const label = str(part['text']) ?? '';
      return `<${escaped(id('url'))}${label === '' ? '' : `|${escaped(label)}`}>`;
    }
    case 'user':
      return `<@${id('user_id')}>`;
    case 'channel':
      return `<#${id('channel_id')}>`;
    case 'usergroup':
      return `<!subteam^${id('usergroup_id')}>`;
    case 'broadcast':
      return `<!${id('range')}>`;
    case 'emoji':
      return `:${id('name')}:`;
    case 'color':
      return escaped(str(part['value']) ?? '');
    case 'date':
      return escaped(str(part['fallback']) ?? '');
    default:
      return '';
  }
}

function parts(value: unknown): readonly JsonObject[] {
  return list(value).slice(0, MAX_PARTS).map(obj);
}

/** An entity that stands there already is left as it is: no page says which of the two the platform sends. */
function escaped(text: string): string {
  return text
    .replace(/&(?!(?:lt|gt|amp);)/g, '&amp;')
    .replaceAll('<', '&lt;')
    .replaceAll('>', '&gt;');
}
