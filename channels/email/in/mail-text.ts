/** The words of a mail: what the agent reads at once, and all of them. Pure. */
import { type Ours, ours } from '../../kit/senders-words.ts';
import { quotesOthers, type Said, tidy, withoutQuotation } from './body.ts';
import { type BodyLine, plainLines, textOf } from './body-line.ts';
import { htmlToLines } from './html-text.ts';
import type { ParsedMail } from './mime.ts';
import type { ReplyFacts } from './quote-starts.ts';

/**
 * Programs write up to a hundred times as much HTML as text; reading it takes about 50 ns a character,
 * during which no one else is served.
 */
const MAX_HTML_CHARS = 2_000_000;

export interface MailText {
  /** What the agent reads at once, and marks of what it is short of. */
  readonly pieces: readonly (string | Ours)[];
  /** Something is missing in them that `wholeText` has. */
  readonly isPart: boolean;
  /** The mail may hold words of another one. */
  readonly isQuoting: boolean;
}

export interface MailTextOptions extends ReplyFacts {
  /** It answers another mail: only such a mail has quotations that are left out. */
  readonly isReply: boolean;
  /** Longest text that is read at once, in UTF-16 units. */
  readonly maxChars: number;
}

const LEFT_OUT = ours('[quoted text left out]');

export function mailText(mail: ParsedMail, options: MailTextOptions): MailText {
  const { maxChars } = options;
  const { lines, html } = linesOf(mail);
  const said: Said = options.isReply ? withoutQuotation(lines, options) : { above: tidy(textOf(lines)) };
  const [whole, rest] = [printable(said.above), said.below === undefined ? undefined : printable(said.below)];
  const above = cut(whole, maxChars);
  const below = rest === undefined ? undefined : cut(rest, maxChars - above.length);
  const [length, shown] = [whole.length + (rest?.length ?? 0), above.length + (below?.length ?? 0)];
  const pieces = [
    ...(below === undefined ? [above] : spaced(above, LEFT_OUT, below)),
    ours(shown < length ? `[mail shortened: ${shown} of ${length} characters]` : ''),
    ours(html > MAX_HTML_CHARS ? `[mail shortened: the first ${MAX_HTML_CHARS} of ${html} characters of HTML]` : ''),
  ];
  return { pieces, isPart: below !== undefined || shown < length, isQuoting: quotesOthers(lines, options) };
}

/** With a blank line between the mark and the words. */
function spaced(above: string, mark: Ours, below: string): readonly (string | Ours)[] {
  return [above === '' ? '' : `${above}\n`, mark, below === '' ? '' : `\n${below}`];
}

function cut(text: string, maxChars: number): string {
  return text.length <= maxChars ? text : text.slice(0, Math.max(0, maxChars)).replace(/[\ud800-\udbff]$/, '');
}

/** The decoded body with all that it quotes. Of HTML without end the beginning. */
export function wholeText(mail: ParsedMail): string {
  return printable(tidy(textOf(linesOf(mail).lines)));
}

/** A longer plain part, or one of several paragraphs, is taken for what its sender wrote. Characters. */
const MAX_STUB_CHARS = 300;
const PARAGRAPHS = /\n\s*\n/;

interface BodyLines {
  readonly lines: readonly BodyLine[];
  /** Length of the HTML, 0 where it was not used. Only its first `MAX_HTML_CHARS` are read. */
  readonly html: number;
}

/** The plain text, where there is any; the HTML too where the plain part says nothing of it. */
function linesOf({ text = '', html = '' }: ParsedMail): BodyLines {
  const plain = text.trim();
  const isRead = plain === '' || (html !== '' && plain.length <= MAX_STUB_CHARS && !PARAGRAPHS.test(plain));
  const shown = isRead ? htmlToLines(html.slice(0, MAX_HTML_CHARS)) : [];
  if (plain === '') return { lines: shown, html: html.length };
  if (!isStub(plain, textOf(shown))) return { lines: plainLines(text), html: 0 };
  return { lines: [...plainLines(`${plain}\n\n`), ...shown], html: html.length };
}

/**
 * Programs put "this mail is HTML" or a link in place of the plain words. Most words of such a part are not
 * in the HTML.
 */
function isStub(plain: string, shown: string): boolean {
  if (shown.trim() === '') return false;
  const [all, words] = [
    bare(shown),
    plain
      .split(/\s+/)
      .map(bare)
      .filter((word) => word !== ''),
  ];
  return words.filter((word) => all.includes(word)).length * 2 < words.length;
}

/** Letters and digits: programs write bold as stars, headings in capitals, and break lines anywhere. */
function bare(text: string): string {
  return text.toLowerCase().replace(/[^\p{L}\p{N}]/gu, '');
}

/** U+0000 and the like are no text, and some stores refuse them. */
function printable(text: string): string {
  return text.replace(/[^\P{Cc}\t\n]/gu, '');
}
