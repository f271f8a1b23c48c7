/**
 * Feishu: text, post and card messages (https://open.feishu.cn/document/server-docs/im-v1/message/create and
 * the pages of the card). A card of JSON 2.0 names its schema.
 */

import { PLATFORM_LIMITS } from '../../../channels/feishu/platform-limits.ts';
import { judgeStreamingCard } from './feishu-card.ts';
import { decodeEntities, tooLong, type Verdict } from './verdict.ts';

/** "卡片及富文本消息请求体最大不能超过30KB", "文本消息请求体最大不能超过150KB"; as the content stands in the request. */
const RICH_BYTES = PLATFORM_LIMITS.rich.value;
const TEXT_BYTES = PLATFORM_LIMITS.text.value;
/** "单张卡片最多支持放置五个表格组件", "最多支持添加 50 列", "一张卡片最多支持 200 个元素". */
const [TABLES, COLUMNS, ELEMENTS] = [PLATFORM_LIMITS.tables.value, PLATFORM_LIMITS.columns.value, PLATFORM_LIMITS.elements.value];
const HREF = /^(?:https?|mailto|tel|lark|feishu):/i;

type Fields = Readonly<Record<string, unknown>>;

export function judgeFeishu(type: string, content: object): Verdict {
  if ('schema' in content) return judgeStreamingCard(content);
  const bytes = Buffer.byteLength(JSON.stringify(JSON.stringify(content)));
  const long = tooLong(bytes, type === 'text' ? TEXT_BYTES : RICH_BYTES, 'bytes');
  const judged =
    type === 'text' ? ofText(content as Fields) : type === 'post' ? ofPost(content as Fields) : ofCard(content as Fields);
  const empty = judged.visible.trim() === '' ? ['the message is empty'] : [];
  return { violations: [...long, ...empty, ...judged.violations], visible: judged.visible };
}

/** A text message reads `<at user_id>` and links with a label. */
function ofText({ text }: Fields): Verdict {
  const visible = String(text);
  const violations = /<at\b|\]\(/i.test(visible) ? ['a mention or a link in a text message'] : [];
  return { violations, visible };
}

function ofPost(content: Fields): Verdict {
  const lines = ((content['zh_cn'] as Fields)['content'] ?? []) as readonly (readonly Fields[])[];
  const violations = lines.flat().flatMap((part) => {
    if (!['text', 'a', 'hr', 'code_block'].includes(String(part['tag']))) return [`an element ${part['tag']}`];
    return part['tag'] === 'a' && !HREF.test(String(part['href'])) ? [`a link to ${part['href']}`] : [];
  });
  return { violations, visible: lines.map((line) => line.map(({ text }) => text ?? '').join('')).join('\n') };
}

function ofCard(content: Fields): Verdict {
  const violations: string[] = [];
  const elements = content['elements'] as readonly Fields[];
  const tables = elements.filter(({ tag }) => tag === 'table');
  violations.push(...tooLong(elements.length, ELEMENTS, 'elements'), ...tooLong(tables.length, TABLES, 'tables'));
  const visible = elements.map((element) => {
    switch (element['tag']) {
      case 'markdown':
        return cardMarkdown(String(element['content']), violations);
      case 'table':
        return ofTable(element, violations);
      case 'hr':
        return '';
      default:
        violations.push(`an element ${element['tag']}`);
        return '';
    }
  });
  return { violations, visible: visible.join('\n') };
}

function ofTable(table: Fields, violations: string[]): string {
  const columns = table['columns'] as readonly Fields[];
  violations.push(...tooLong(columns.length, COLUMNS, 'columns'));
  const rows = table['rows'] as readonly Fields[];
  const names = columns.map(({ name }) => String(name));
  for (const row of rows)
    for (const key of Object.keys(row)) if (!names.includes(key)) violations.push(`a cell of no column: ${key}`);
  const heads = columns.map(({ display_name }) => display_name).join(' ');
  return [heads, ...rows.map((row) => names.map((name) => row[name]).join(' '))].join('\n');
}

/** Signs of the text are written as numbered entities: what is left are marks. */
function cardMarkdown(source: string, violations: string[]): string {
  return source
    .split(/```[\w+#.-]*\n([\s\S]*?)```/)
    .map((piece, at) => (at % 2 === 1 ? piece : cardProse(piece, violations)))
    .join('');
}

function cardProse(text: string, violations: string[]): string {
  return text
    .split(/`([^`\n]+)`/)
    .map((piece, at) => {
      if (at % 2 === 1) return piece;
      const labels = piece.replace(/\[((?:[^[\]\n])*)\]\(([^()\s]*)\)/g, (_link, label: string, url: string) => {
        if (!HREF.test(url)) violations.push(`a link to ${url}`);
        return label;
      });
      if (/[<[\]]/.test(labels)) violations.push(`a sign that is not escaped: ${/.{0,20}[<[\]].{0,20}/.exec(labels)?.[0]}`);
      const shown = labels.replace(/^((?:> ?)*)/gm, '').replace(/\*{1,3}|~~/g, '');
      if ((labels.match(/\*\*/g)?.length ?? 0) % 2 === 1 && !text.includes('`')) violations.push('bold is not closed');
      return decodeEntities(shown);
    })
    .join('');
}
