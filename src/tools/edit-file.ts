import { z } from 'zod';
import { PRIVATE, UNTRUSTED } from '../core/authority.ts';
import { indexesOf } from '../lib/indexes-of.ts';
import { changeTextFile } from './change-file.ts';
import { defineBoundTool, ToolFailure } from './define.ts';
import { nearLines } from './near-lines.ts';

/** A text that stands there more often is not counted to the end. */
const MOST_HITS = 1_000;
const LINES_NAMED = 5;

export const editFile = defineBoundTool({
  name: 'edit_file',
  description: 'Replace a piece of text that stands exactly once in a file of the workspace.',
  schema: z.strictObject({
    path: z.string().describe('In the workspace'),
    old_string: z.string().min(1).describe('Without line numbers'),
    new_string: z.string().describe('In its place'),
  }),
  tags: ['fs'],
  // Not idempotent: the new text may hold the old one, and would be changed again.
  effect: 'workspace',
  // A failure names lines of the file.
  reads: UNTRUSTED | PRIVATE,
  bind: ({ claimDisk }) => ({ claimDisk }),
  async run({ path, old_string: old, new_string: fresh }, context, { claimDisk }) {
    if (old === fresh) throw new ToolFailure('old_string and new_string are the same');
    let line = 0;
    await changeTextFile({ path, context, claimDisk }, (text) => {
      const change = fitted(text, old, fresh);
      const [at, ...more] = hits(text, change.old);
      if (at === undefined) throw new ToolFailure(notFound(text, old));
      if (more.length > 0) throw new ToolFailure(ambiguous(text, [at, ...more]));
      line = lineOf(text, at);
      return text.slice(0, at) + change.fresh + text.slice(at + change.old.length);
    });
    return `Edited ${path} at line ${line}`;
  },
});

/** Models write line feeds: a text that is found only with the line ends of the file is changed with them. */
function fitted(text: string, old: string, fresh: string): { readonly old: string; readonly fresh: string } {
  if (stands(text, old) || !text.includes('\r\n')) return { old, fresh };
  const withReturns = (part: string) => part.replace(/\r?\n/g, '\r\n');
  return { old: withReturns(old), fresh: withReturns(fresh) };
}

/** Where the text begins, each place that it could be; those that overlap are two. */
function hits(text: string, part: string): readonly number[] {
  const found: number[] = [];
  for (const at of indexesOf(text, part)) {
    found.push(at);
    if (found.length === MOST_HITS) break;
  }
  return found;
}

function stands(text: string, part: string): boolean {
  return indexesOf(text, part).next().done !== true;
}

function lineOf(text: string, at: number): number {
  let line = 1;
  for (let next = text.indexOf('\n'); next !== -1 && next < at; next = text.indexOf('\n', next + 1)) line += 1;
  return line;
}

function ambiguous(text: string, found: readonly number[]): string {
  const count = found.length === MOST_HITS ? `${MOST_HITS} times or more` : `${found.length} times`;
  const lines = found.slice(0, LINES_NAMED).map((at) => lineOf(text, at));
  const more = found.length > LINES_NAMED ? ', …' : '';
  return `old_string stands there ${count} (lines ${lines.join(', ')}${more}). Give more of the text around the place that is meant`;
}

function notFound(text: string, old: string): string {
  const lines = text.split('\n');
  const unnumbered = old.replace(/^\d+│ ?/gm, '');
  if (unnumbered !== old && stands(text, unnumbered))
    return 'old_string was not found with its line numbers. Leave out what read_file puts before `│ `';
  const near = nearLines(lines, old);
  if (near.length === 0) return `old_string was not found, and no line of the ${lines.length} is like it. Read the file again`;
  return `old_string was not found. The nearest lines:\n${near.join('\n')}`;
}
