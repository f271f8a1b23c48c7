/**
 * Emphasis that a cut would tear: what is open there, so that one chunk closes it and the next opens it
 * again.
 */
import { flankingOf } from '../lib/flanking.ts';

export interface Torn {
  /**
   * Where to cut: in front of marks that would be open around nothing, or in front of one that would be torn
   * itself.
   */
  readonly cut: number;
  /** What ends the chunk. */
  readonly closing: string;
  /** Where the next chunk goes on at the earliest: behind marks that would close nothing there. */
  readonly next: number;
  /** What the next chunk begins with. */
  readonly opening: string;
}

/** The parser of the channels reads no more at once; emphasis that ends later is none. */
const MAX_BLOCK = 16_384;
/**
 * What begins a block of its own, which no emphasis reaches into: an empty line, an item, a heading, a quote,
 * a row, a fence.
 */
const BLOCK = /^[ \t]*(?:$|[-*+][ \t]|\d{1,9}[.)][ \t]|#{1,6}[ \t]|>|\||`{3}|~{3})/;
/**
 * In turn: an escaped sign, a code span, the target of a link, an address, a run of marks. Only the last one
 * counts.
 */
const TOKEN =
  /\\[!-/:-@[-`{-~]|(?<!`)(`{1,8})(?!`)[^`]{0,400}(?<!`)\1(?!`)|\]\([^()\s]{0,2000}\)|https?:\/\/[^\s<>*]{1,2000}|(\*{1,3}|_{1,3}|~~)/g;

/** Each mark that closes looks through those that are open. */
const MOST_OPEN = 64;

interface Span {
  readonly mark: string;
  readonly start: number;
  readonly end: number;
}

/**
 * Of the text from `from` on, in front of which `carried` was opened again. The cut is in no code block.
 * Linear in the block.
 */
export function tornAt(source: string, from: number, cut: number, carried: string): Torn {
  const whole: Torn = { cut, closing: '', next: cut, opening: '' };
  if (cut >= source.length) return whole;
  const start = blockStart(source, from, cut);
  const end = blockEnd(source, cut, start);
  if (end <= cut) return whole;
  const prefix = start === from ? carried : '';
  const text = prefix + source.slice(start, end);
  const offset = start - prefix.length;
  const torn = tear(text, cut - offset);
  return torn.cut + offset <= from ? whole : { ...torn, cut: torn.cut + offset, next: torn.next + offset };
}

function tear(text: string, wanted: number): Torn {
  let cut = wanted;
  const open = spansOf(text).filter(({ mark, start, end }) => start + mark.length <= cut && end > cut);
  for (let last = open.at(-1); last && text.slice(last.start + last.mark.length, cut).trim() === ''; last = open.at(-1)) {
    cut = last.start;
    open.pop();
  }
  for (const { mark, end } of open) cut = Math.min(cut, end - mark.length);
  const closing = open.map(({ mark }) => mark).reverse();
  let next = cut;
  for (let last = open.at(-1); last && text.slice(next, last.end - last.mark.length).trim() === ''; last = open.at(-1)) {
    next = last.end;
    open.pop();
  }
  return { cut, closing: closing.join(''), next, opening: open.map(({ mark }) => mark).join('') };
}

function blockStart(source: string, from: number, cut: number): number {
  let line = source.lastIndexOf('\n', cut - 1) + 1;
  while (line > from && !BLOCK.test(source.slice(line, lineEnd(source, line)))) {
    line = line < 2 ? 0 : source.lastIndexOf('\n', line - 2) + 1;
  }
  return Math.max(line, from);
}

function blockEnd(source: string, cut: number, start: number): number {
  const most = Math.min(source.length, start + MAX_BLOCK);
  for (let end = lineEnd(source, cut); end < most; end = lineEnd(source, end + 1)) {
    if (BLOCK.test(source.slice(end + 1, lineEnd(source, end + 1)))) return end;
  }
  return most;
}

function lineEnd(source: string, from: number): number {
  const end = source.indexOf('\n', from);
  return end === -1 ? source.length : end;
}

/**
 * What is emphasised, by the marks that open and close it: those of one kind that fit each other in length.
 */
function spansOf(text: string): readonly Span[] {
  const spans: Span[] = [];
  const opened: { mark: string; start: number }[] = [];
  for (const { 0: all, 2: mark, index } of text.matchAll(TOKEN)) {
    if (mark === undefined) continue;
    const { canOpen, canClose } = flankingOf(text, index, all.length);
    let left = mark;
    while (canClose && left !== '') {
      const rest = left;
      const at = opened.findLastIndex((one) => rest.startsWith(one.mark));
      const opener = opened[at];
      if (!opener) break;
      opened.length = at;
      left = left.slice(opener.mark.length);
      spans.push({ ...opener, end: index + mark.length - left.length });
    }
    if (canOpen && left === mark && opened.length < MOST_OPEN) opened.push({ mark, start: index });
  }
  return spans.sort((a, b) => a.start - b.start);
}
