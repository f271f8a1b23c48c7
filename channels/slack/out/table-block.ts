/** The table of a message as a block. Pure. https://docs.slack.dev/reference/block-kit/blocks/table-block */
import type { JsonObject } from '../../kit/json.ts';
import { type MarkdownNode, parseMarkdown } from '../../kit/markdown.ts';
import { type Line, type Run, richTextOf } from '../../kit/rich-text.ts';
import { PLATFORM_LIMITS } from '../platform-limits.ts';
import { nodesToMrkdwn, SAFE_URL } from './format.ts';

const MAX_ROWS = PLATFORM_LIMITS.tableRows.value;
const MAX_COLUMNS = PLATFORM_LIMITS.tableColumns.value;
const MAX_TEXT = PLATFORM_LIMITS.tableText.value;
/** A cell of nothing is refused. */
const BLANK = ' ';

export interface SplitAtTable {
  /** mrkdwn; '' where there is nothing. */
  readonly before: string;
  readonly table: JsonObject;
  readonly after: string;
}

/**
 * Undefined where the text has no table, more than the one that a message may hold, or one that the platform
 * would refuse. Several are all shown alike, as text. One within a list or a quote belongs to the words
 * there.
 */
export function splitAtTable(markdown: string): SplitAtTable | undefined {
  // Every table has one; most texts have none and are not parsed again.
  if (!markdown.includes('|')) return undefined;
  const { children } = parseMarkdown(markdown);
  const at = children.findIndex(isTable);
  const found = children[at];
  if (found === undefined || children.slice(at + 1).some(isTable)) return undefined;
  const table = toBlock(found);
  if (!table) return undefined;
  return { before: nodesToMrkdwn(children.slice(0, at)), table, after: nodesToMrkdwn(children.slice(at + 1)) };
}

function isTable({ type }: MarkdownNode): boolean {
  return type === 'table';
}

function toBlock(node: MarkdownNode): JsonObject | undefined {
  const [block] = richTextOf({ type: 'root', children: [node] }).blocks;
  if (block?.kind !== 'table' || block.rows.length === 0) return undefined;
  const rows = [block.header, ...block.rows].map((row) => row.map((cell) => cell.flatMap(shown)));
  const columns = Math.max(...rows.map((row) => row.length));
  const filled = rows.map((row) => Array.from({ length: columns }, (_, column) => row[column] ?? []));
  const size = filled.flat().reduce((sum, cell) => sum + sizeOf(cell), 0);
  if (rows.length > MAX_ROWS || columns > MAX_COLUMNS || size > MAX_TEXT) return undefined;
  // By default a cell stays on one line, however long it is.
  const settings = Array.from({ length: columns }, () => ({ is_wrapped: true }));
  return { type: 'table', column_settings: settings, rows: filled.map((row) => row.map(toCell)) };
}

/** Characters of a cell. Whether addresses count, no page says: the longer of words and address does here. */
function sizeOf(cell: Line): number {
  const size = cell.reduce((sum, { text, url = '' }) => sum + Math.max(text.length, url.length), 0);
  return Math.max(size, BLANK.length);
}

/** A link that the apps would not open is words, with its address behind them. */
function shown({ text, styles, url }: Run): Line {
  if (text === '') return [];
  if (url === undefined || SAFE_URL.test(url)) return [{ text, styles, ...(url !== undefined && { url }) }];
  return [{ text: url === text || url === '' ? text : `${text} (${url})`, styles }];
}

/** Text of a cell is read by no parser: it is not escaped, and its signs are no marks. */
function toCell(line: Line): JsonObject {
  if (line.some(({ styles, url }) => styles.length > 0 || url !== undefined)) {
    return { type: 'rich_text', elements: [{ type: 'rich_text_section', elements: line.map(toElement) }] };
  }
  return { type: 'raw_text', text: line.map(({ text }) => text).join('') || BLANK };
}

function toElement({ text, styles, url }: Run): JsonObject {
  const style = styles.length > 0 ? { style: Object.fromEntries(styles.map((name) => [name, true])) } : {};
  return url === undefined ? { type: 'text', text, ...style } : { type: 'link', url, text, ...style };
}
