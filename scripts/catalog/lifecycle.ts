/** When models end, as the vendors' own SDKs say. */
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** `YYYY-MM-DD` by model id. */
export type Ends = Readonly<Record<string, string>>;

/** From the comment above `ChatModel`, which lists ids and the date of their shutdown. */
export function readOpenAiEnds(folder: string): Ends {
  return parseOpenAiEnds(readFileSync(join(folder, 'resources/shared.d.ts'), 'utf8'));
}

export function parseOpenAiEnds(source: string): Ends {
  const comment = /\/\*\*((?:(?!\*\/)[\s\S])*)\*\/\s*export type ChatModel\b/.exec(source)?.[1];
  if (comment === undefined) throw new Error('the comment above ChatModel is not there any more');
  const ends: Record<string, string> = {};
  for (const entry of comment.replace(/^\s*\* ?/gm, ' ').split(/\s-\s(?=")/)) {
    const date = /shutdown\s+date:\s+(\d{4}-\d\d-\d\d)/.exec(entry)?.[1];
    if (date === undefined) continue;
    for (const [, id = ''] of entry.matchAll(/"([^"]+)"/g)) ends[id] = date;
  }
  if (Object.keys(ends).length === 0) throw new Error('the comment above ChatModel names no shutdown date');
  return ends;
}

/**
 * The table `DEPRECATED_MODELS`, and every id that the SDK still knows: a Claude id that is missing there is
 * gone or wrong.
 */
export function readAnthropicEnds(folder: string): { readonly ends: Ends; readonly known: ReadonlySet<string> } {
  const script = readFileSync(join(folder, 'resources/messages/messages.js'), 'utf8');
  const types = readFileSync(join(folder, 'resources/messages/messages.d.ts'), 'utf8');
  return parseAnthropicEnds(script, types);
}

export function parseAnthropicEnds(script: string, types: string): { readonly ends: Ends; readonly known: ReadonlySet<string> } {
  const table = /const DEPRECATED_MODELS = \{([\s\S]*?)\};/.exec(script)?.[1];
  const union = /export type Model = ([^;]+);/.exec(types)?.[1];
  if (table === undefined || union === undefined)
    throw new Error('the SDK of Anthropic has no DEPRECATED_MODELS or Model any more');
  const ends: Record<string, string> = {};
  for (const [, id = '', date = ''] of table.matchAll(/'([^']+)': '([^']+)'/g)) ends[id] = toDay(date);
  return { ends, known: new Set([...union.matchAll(/'([^']+)'/g)].map(([, id = '']) => id)) };
}

/** `November 30th, 2026` -> `2026-11-30`. */
function toDay(text: string): string {
  const time = Date.parse(`${text.replace(/(\d)(?:st|nd|rd|th)/, '$1')} UTC`);
  if (Number.isNaN(time)) throw new Error(`"${text}" is no date`);
  return new Date(time).toISOString().slice(0, 10);
}
