/** What the platform refuses of tables (https://docs.slack.dev/reference/block-kit/blocks/table-block). */
import { PLATFORM_LIMITS } from '../../../channels/slack/platform-limits.ts';
import { ApiError } from './api-error.ts';
import type { Json } from './workspace.ts';

const TABLES = PLATFORM_LIMITS.tables.value;
const ROWS = PLATFORM_LIMITS.tableRows.value;
const COLUMNS = PLATFORM_LIMITS.tableColumns.value;
const CELL = PLATFORM_LIMITS.tableCell.value;
const ALL_CELLS = PLATFORM_LIMITS.tableText.value;
const STYLES = ['bold', 'italic', 'strike', 'code'];

/** The text of all cells of a message; throws where its tables are refused. */
export function readTables(blocks: readonly Json[]): string {
  const tables = blocks.filter(({ type }) => type === 'table');
  // The platform's words: "only_one_table_allowed".
  if (tables.length > TABLES) throw new ApiError('invalid_attachments');
  const text = tables.map((table) => tableRows(table).flat().join('')).join('');
  if (text.length > ALL_CELLS) throw new ApiError('invalid_blocks');
  return text;
}

/** The words of each cell; throws where the table is refused. */
export function tableRows({ rows, column_settings: settings = [] }: Json): readonly (readonly string[])[] {
  const isRight =
    isList(rows) &&
    rows.length > 0 &&
    rows.length <= ROWS &&
    rows.every((row) => isList(row) && row.length > 0 && row.length <= COLUMNS) &&
    isList(settings) &&
    settings.length <= COLUMNS &&
    settings.every(isSetting);
  if (!isRight) throw new ApiError('invalid_blocks');
  return (rows as readonly (readonly Json[])[]).map((row) => row.map(cellText));
}

function cellText(cell: Json): string {
  const text = cell['type'] === 'rich_text' ? richText(cell) : cell['type'] === 'raw_text' ? cell['text'] : undefined;
  if (typeof text !== 'string' || text.length < CELL) throw new ApiError('invalid_blocks');
  return text;
}

/** One section of text and links, which is all that the bot sends. */
function richText({ elements }: Json): string | undefined {
  const [section, ...others] = isList(elements) ? (elements as readonly Json[]) : [];
  if (section?.['type'] !== 'rich_text_section' || others.length > 0 || !isList(section['elements'])) return undefined;
  const runs = section['elements'] as readonly Json[];
  return runs.every(isRun) ? runs.map(({ text, url }) => String(text ?? url)).join('') : undefined;
}

function isRun({ type, text, url, style = {} }: Json): boolean {
  const isStyled = Object.entries(style as Json).every(([name, value]) => STYLES.includes(name) && typeof value === 'boolean');
  const isText = typeof text === 'string' && text !== '';
  const isLink = type === 'link' && typeof url === 'string' && /^[a-z]+:./i.test(url) && (text === undefined || isText);
  return isStyled && (isLink || (type === 'text' && isText));
}

function isSetting(setting: unknown): boolean {
  const { align = 'left', is_wrapped: wraps = false } = setting as Json;
  return ['left', 'center', 'right'].includes(String(align)) && typeof wraps === 'boolean';
}

function isList(value: unknown): value is readonly unknown[] {
  return Array.isArray(value);
}
