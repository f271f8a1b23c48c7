/**
 * What the parser does otherwise than CommonMark and GFM, because people who read an answer would lose
 * something by those.
 */
import type MarkdownIt from 'markdown-it';
import type StateBlock from 'markdown-it/lib/rules_block/state_block.mjs';
import type StateInline from 'markdown-it/lib/rules_inline/state_inline.mjs';
import type Token from 'markdown-it/lib/token.mjs';
import { flankingOf } from '../../src/lib/flanking.ts';

export function addRules(parser: MarkdownIt): void {
  readMarksBesideWideLetters(parser);
  keepFormulas(parser);
  keepCellsBeyondTheHeader(parser);
  readKeys(parser);
}

/** What begins and ends emphasis is the same here as where an answer is cut. */
function readMarksBesideWideLetters(parser: MarkdownIt): void {
  parser.inline.State = class extends parser.inline.State {
    override scanDelims(start: number): { can_open: boolean; can_close: boolean; length: number } {
      const mark = this.src[start];
      let length = 1;
      while (start + length < this.posMax && this.src[start + length] === mark) length += 1;
      const { canOpen, canClose } = flankingOf(this.src, start, length, this.posMax);
      return { can_open: canOpen, can_close: canClose, length };
    }
  };
}

/** A formula is no longer than this: a search for its end must not cost more. */
const MAX_FORMULA = 2_000;
/**
 * `$a$`: as Pandoc reads it, no blank inside beside the signs, no digit behind; so `$5 and $6` are sums of
 * money. One line.
 */
const DOLLARS = /\$(?![\s$])[^$\n`]{1,400}?(?<![\s\\])\$(?![\p{L}\p{N}$])/uy;
/** What tells `\(x^2\)` from brackets that were escaped: a sign of mathematics, or one letter alone. */
const MATHS = /[\\^_=<>+*/{}|~]|^\s*\p{L}\s*$|\d\s*-|-\s*\d/u;
const DELIMITERS: readonly (readonly [string, string])[] = [
  ['\\(', '\\)'],
  ['\\[', '\\]'],
  ['$$', '$$'],
];

/**
 * Formulas of LaTeX are shown as they were written, since no platform sets them: nothing inside is an escape,
 * a mark or a list.
 */
function keepFormulas(parser: MarkdownIt): void {
  parser.inline.ruler.before('escape', 'formula', (state, silent) => {
    const end = endOfFormula(state);
    if (end === undefined) return false;
    if (!silent) state.push('text', '', 0).content = state.src.slice(state.pos, end);
    state.pos = end;
    return true;
  });
  const options = { alt: ['paragraph', 'reference', 'blockquote', 'list'] };
  parser.block.ruler.before('code', 'formula', readFormulaBlock, options);
}

function endOfFormula({ src, pos, posMax }: StateInline): number | undefined {
  const [open = '', close = ''] = DELIMITERS.find(([sign]) => src.startsWith(sign, pos)) ?? [];
  if (open !== '') {
    const text = src.slice(pos + 2, Math.min(posMax, pos + MAX_FORMULA));
    const end = text.indexOf(close);
    const inside = end === -1 ? '' : text.slice(0, end);
    if (!inside.includes('`') && inside.trim() !== '' && (open === '$$' || MATHS.test(inside))) return pos + end + 4;
    return undefined;
  }
  if (src[pos] !== '$' || /[\p{L}\p{N}$\\]/u.test(src[pos - 1] ?? '')) return undefined;
  DOLLARS.lastIndex = pos;
  const [formula] = DOLLARS.exec(src) ?? [];
  return formula !== undefined && MATHS.test(formula.slice(1, -1)) && pos + formula.length <= posMax
    ? pos + formula.length
    : undefined;
}

/**
 * Lines from one that opens a formula to the one that ends with its close are a paragraph, whatever they look
 * like.
 */
function readFormulaBlock(state: StateBlock, startLine: number, endLine: number, silent: boolean): boolean {
  if ((state.sCount[startLine] ?? 0) - state.blkIndent >= 4) return false;
  const [open = '', close = ''] = DELIMITERS.find(([sign]) => sign !== '\\(' && lineOf(state, startLine).startsWith(sign)) ?? [];
  if (open === '') return false;
  let length = -2;
  for (let line = startLine; line < endLine && length < MAX_FORMULA; line += 1) {
    const text = lineOf(state, line);
    if ((state.sCount[line] ?? 0) < state.blkIndent && line > startLine) return false;
    const end = text.indexOf(close, line === startLine ? 2 : 0);
    length += text.length;
    if (end === -1) continue;
    if (!/^[.,;:!?]?$/.test(text.slice(end + 2).trim())) return false;
    const source = state.getLines(startLine, line + 1, state.blkIndent, false).trim();
    if (open !== '$$' && !MATHS.test(source.slice(2, -2))) return false;
    if (!silent) pushParagraph(state, source, startLine, line + 1);
    return true;
  }
  return false;
}

function lineOf({ src, bMarks, tShift, eMarks }: StateBlock, line: number): string {
  return src.slice((bMarks[line] ?? 0) + (tShift[line] ?? 0), eMarks[line]).trimEnd();
}

function pushParagraph(state: StateBlock, source: string, from: number, to: number): void {
  state.push('paragraph_open', 'p', 1).map = [from, to];
  const words = state.push('inline', '', 0);
  words.content = source;
  words.map = [from, to];
  words.children = [];
  state.push('paragraph_close', 'p', -1);
  state.line = to;
}

/** GFM drops the cells that a row has more than the header; here they are cells like the others. */
function keepCellsBeyondTheHeader(parser: MarkdownIt): void {
  // The first rule of all reads tables.
  const [table] = parser.block.ruler.getRules('');
  if (!table) throw new Error('markdown-it has no rule for tables');
  const options = { alt: ['paragraph', 'reference'] };
  parser.block.ruler.at(
    'table',
    (state, startLine, endLine, silent) => {
      const from = state.tokens.length;
      if (!table(state, startLine, endLine, silent)) return false;
      if (!silent) state.tokens.splice(from, state.tokens.length - from, ...withAllCells(state, state.tokens.slice(from)));
      return true;
    },
    options,
  );
}

function withAllCells(state: StateBlock, tokens: readonly Token[]): Token[] {
  const all: Token[] = [];
  let cells: readonly string[] = [];
  let columns = 0;
  for (const token of tokens) {
    if (token.type === 'tr_open') cells = cellsOf(lineOf(state, token.map?.[0] ?? 0).trim());
    if (token.type === 'th_open') columns += 1;
    if (token.type === 'tr_close') {
      for (const cell of cells.slice(columns)) {
        const open = new state.Token('td_open', 'td', 1);
        const words = new state.Token('inline', '', 0);
        words.content = cell.trim();
        words.children = [];
        all.push(open, words, new state.Token('td_close', 'td', -1));
      }
    }
    all.push(token);
  }
  return all;
}

/** As the parser splits a row; a bar behind a backslash is a sign. */
function cellsOf(line: string): readonly string[] {
  const cells = line.split(/(?<!\\)\|/).map((cell) => cell.replaceAll('\\|', '|'));
  return cells.slice(cells[0] === '' ? 1 : 0, cells.at(-1) === '' ? -1 : undefined);
}

const KEY = /<kbd>([^<>&`\n]{1,64})<\/kbd>/iy;

/** The name of a key is shown as code, without its tags. */
function readKeys(parser: MarkdownIt): void {
  parser.inline.ruler.before('html_inline', 'key', (state, silent) => {
    KEY.lastIndex = state.pos;
    const [all, name = ''] = KEY.exec(state.src) ?? [];
    if (all === undefined || state.pos + all.length > state.posMax) return false;
    if (!silent) state.push('code_inline', 'code', 0).content = name;
    state.pos += all.length;
    return true;
  });
}
