/** What the sender of a mail newly wrote. Pure. */
import { type BodyLine, textOf } from './body-line.ts';
import {
  attributionStart,
  HEADER_LINES,
  type HeaderBlock,
  headerBlockAt,
  isField,
  isRule,
  type LineAt,
  type ReplyFacts,
  statedBlockAt,
} from './quote-starts.ts';
import { isForwardMark, isForwardSubject } from './quote-words.ts';

/** People do not write so many; what has more is kept as it is. */
const MAX_LINES = 10_000;

/** Lines from `start` up to `end`, which is not one of them. */
interface Span {
  readonly start: number;
  readonly end: number;
}

/** The words of a mail. With `below` something between them and `above` is left out; either may be empty. */
export interface Said {
  readonly above: string;
  readonly below?: string;
}

/**
 * A reply's body without the mail that it answers. Everything stays where it cannot be told what is quoted,
 * where answers stand between quoted lines, and where nothing would be left; so does a mail that is passed
 * on.
 */
export function withoutQuotation(lines: readonly BodyLine[], facts: ReplyFacts): Said {
  const isWhole = lines.length > MAX_LINES || isForwardSubject(facts.subject);
  const span = isWhole ? undefined : quotation(lines, facts);
  if (!span) return { above: tidy(textOf(lines)) };
  return { above: tidy(textOf(lines.slice(0, span.start))), below: tidy(textOf(lines.slice(span.end))) };
}

/** Whether a mail may hold words of another one: it is passed on, or lines are quoted. */
export function quotesOthers(lines: readonly BodyLine[], facts: ReplyFacts): boolean {
  if (lines.length > MAX_LINES || isForwardSubject(facts.subject) || forwardStart(lines) < lines.length) return true;
  if (lines.some(({ origin }) => origin !== 'own')) return true;
  // Three fields in a row are those of a mail, also of one that this one does not answer.
  const areFields = lines.some((_, at) => [0, 1, 2].every((below) => isField(lines[at + below]?.text)));
  return areFields || unmarkedStart(lines, facts, { besideMarked: false }) !== undefined;
}

/** Blank lines around the text, and white space at the end, are of no use to anybody. */
export function tidy(text: string): string {
  const lines = text.split('\n');
  const first = lines.findIndex((line) => line.trim() !== '');
  return first < 0 ? '' : lines.slice(first).join('\n').trimEnd();
}

function quotation(lines: readonly BodyLine[], facts: ReplyFacts): Span | undefined {
  const own = lines.slice(0, forwardStart(lines));
  const runs = runsOf(own);
  const last = runs.at(-1);
  const from = last && sentenceAbove(own, last, facts);
  const tail = unmarkedStart(own, facts, { besideMarked: from !== undefined });
  if (tail !== undefined) return isBlank(own, 0, tail) ? undefined : { start: tail, end: own.length };
  // Pieces without a sentence above the last one: answers stand between them, or they are the sender's own.
  if (!last || (from === undefined && runs.length > 1)) return undefined;
  const start = from ?? last.start;
  const above = hasOwnWords(own.slice(0, start));
  const below = !isBlank(own, last.end, own.length);
  if (above ? below && !isFooter(own, last.end) : !below || isFooter(own, last.end)) return undefined;
  if (from === undefined && isAnnounced(own, start)) return undefined;
  return { start, end: last.end };
}

/**
 * Where a mail begins that is passed on whole; the end of the lines where none is. One within a quotation is
 * a part of that.
 */
function forwardStart(lines: readonly BodyLine[]): number {
  const at = lines.findIndex((line, index) => {
    const { text, origin } = line;
    if (!isQuoted(line) || origin === 'intro') return isForwardMark(text);
    if (isQuoted(lines[index - 1]) || !isForwardMark(withoutMarks(text))) return false;
    // What a mail quotes may begin with one, too; then the sentence of a quotation stands above it.
    let bottom = index;
    while (bottom > 0 && isBlank(lines, bottom - 1, bottom)) bottom -= 1;
    return attributionStart((above) => lines[above]?.text, bottom, { alone: false }) === undefined;
  });
  return at < 0 ? lines.length : at;
}

/** Quoted lines with nothing but blank ones between them. */
function runsOf(lines: readonly BodyLine[]): readonly Span[] {
  const runs: Span[] = [];
  let start = -1;
  let end = 0;
  for (const [index, line] of lines.entries()) {
    if (isQuoted(line)) {
      if (start < 0) start = index;
      end = index + 1;
    } else if (start >= 0 && line.text.trim() !== '') {
      runs.push({ start, end });
      start = -1;
    }
  }
  return start < 0 ? runs : [...runs, { start, end }];
}

/**
 * Where the words begin that say of a run that it is of an earlier mail: above it or within. Undefined when
 * nothing says so.
 */
function sentenceAbove(lines: readonly BodyLine[], run: Span, facts: ReplyFacts): number | undefined {
  const line: LineAt = (index) => (index < run.start && !isQuoted(lines[index]) ? lines[index]?.text : undefined);
  let bottom = run.start;
  while (bottom > 0 && isBlank(lines, bottom - 1, bottom)) bottom -= 1;
  const fields = fieldsAbove(line, bottom, facts);
  if (fields !== undefined) return fields;
  const sentence = attributionStart(line, bottom, { alone: false });
  if (sentence !== undefined) return sentence;
  return isKnown(lines, run, facts) ? run.start : undefined;
}

/** The first line of a header block that ends right above the line `bottom`. */
function fieldsAbove(line: LineAt, bottom: number, facts: ReplyFacts): number | undefined {
  for (let at = bottom - 1; at >= bottom - HEADER_LINES; at -= 1) {
    const block = line(at)?.trim() ? headerBlockAt(line, at, facts) : undefined;
    if (block && block.end >= bottom) return block.start;
  }
  return undefined;
}

/**
 * Apple's programs quote the sentence too, others the header block; in HTML the program says what it quotes.
 */
function isKnown(lines: readonly BodyLine[], { start, end }: Span, facts: ReplyFacts): boolean {
  if (lines[start]?.origin === 'intro' || lines[start]?.origin === 'block' || lines[start]?.origin === 'cited') return true;
  const line: LineAt = (index) => (index >= start && index < end ? withoutMarks(lines[index]?.text ?? '') : undefined);
  for (let at = start; at < start + 4; at += 1) {
    if (attributionStart(line, at + 1, { alone: false }) === start) return true;
    if (headerBlockAt(line, at, facts)) return true;
  }
  return false;
}

/**
 * Where a quotation without marks begins, which goes on to the end: below header fields, or below a sentence
 * with address and date.
 */
function unmarkedStart(
  lines: readonly BodyLine[],
  facts: ReplyFacts,
  { besideMarked }: { readonly besideMarked: boolean },
): number | undefined {
  const line: LineAt = (index) => (isQuoted(lines[index]) ? undefined : lines[index]?.text);
  for (let at = 0; at < lines.length; at += 1) {
    const text = line(at);
    if (text === undefined || text.trim() === '') continue;
    const block = statedBlock(lines, at) ?? blockAt(line, at, facts);
    if (block && !isQuoted(lines[nextWords(lines, block.end)])) return block.start;
    if (besideMarked) continue;
    const sentence = attributionStart(line, at + 1, { alone: true });
    const words = sentence === undefined ? lines.length : nextWords(lines, at + 1);
    if (sentence === undefined || words === lines.length || isQuoted(lines[words])) continue;
    return aboveSentence(line, sentence);
  }
  return undefined;
}

/** Looked for at the first line that has the form of a field: a long table costs no more than a short one. */
function blockAt(line: LineAt, at: number, facts: ReplyFacts): HeaderBlock | undefined {
  return isField(line(at - 1)) ? undefined : headerBlockAt(line, at, facts);
}

function statedBlock(lines: readonly BodyLine[], at: number): HeaderBlock | undefined {
  if (lines[at]?.origin !== 'header' || lines[at - 1]?.origin === 'header') return undefined;
  let end = at;
  while (lines[end]?.origin === 'header') end += 1;
  return statedBlockAt((index) => lines[index]?.text, at, end);
}

/** Yandex writes fields above its sentence, and a rule above them. */
function aboveSentence(line: LineAt, sentence: number): number {
  let at = sentence;
  while (isField(line(at - 1))) at -= 1;
  return isRule(line(at - 1) ?? '') ? at - 1 : at;
}

/** A signature, the footer of a mailing list. */
function isFooter(lines: readonly BodyLine[], from: number): boolean {
  const text = lines[nextWords(lines, from)]?.text ?? '';
  return /^--\s*$/.test(text) || isRule(text);
}

/** "This is what it shows:", and below it lines behind `>`: the sender's own. */
function isAnnounced(lines: readonly BodyLine[], start: number): boolean {
  const above = lines.slice(Math.max(0, start - 2), start).findLast(({ text }) => text.trim() !== '');
  return /[:：]\s*$/.test(above?.text ?? '');
}

function hasOwnWords(lines: readonly BodyLine[]): boolean {
  return lines.some((line) => !isQuoted(line) && line.text.trim() !== '');
}

function isQuoted(line: BodyLine | undefined): boolean {
  return line !== undefined && line.origin !== 'own' && line.origin !== 'header';
}

function isBlank(lines: readonly BodyLine[], start: number, end: number): boolean {
  for (let at = start; at < end; at += 1) if (isQuoted(lines[at]) || lines[at]?.text.trim() !== '') return false;
  return true;
}

function nextWords(lines: readonly BodyLine[], from: number): number {
  let at = from;
  while (at < lines.length && isBlank(lines, at, at + 1)) at += 1;
  return at;
}

function withoutMarks(text: string): string {
  return text.replace(/^[>\s＞]{1,40}/, '');
}
