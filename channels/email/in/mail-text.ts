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
  const lines = linesOf(mail);
  const said: Said = options.isReply ? withoutQuotation(lines, options) : { above: tidy(textOf(lines)) };
  const [whole, rest] = [printable(said.above), said.below === undefined ? undefined : printable(said.below)];
  const above = cut(whole, maxChars);
  const below = rest === undefined ? undefined : cut(rest, maxChars - above.length);
  const [length, shown] = [whole.length + (rest?.length ?? 0), above.length + (below?.length ?? 0)];
  const { length: htmlLength } = htmlOf(mail);
  const pieces = [
    ...(below === undefined ? [above] : spaced(above, LEFT_OUT, below)),
    ours(shown < length ? `[mail shortened: ${shown} of ${length} characters]` : ''),
    ours(htmlLength > MAX_HTML_CHARS ? `[mail shortened: the first ${MAX_HTML_CHARS} of ${htmlLength} characters of HTML]` : ''),
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
  return printable(tidy(textOf(linesOf(mail))));
}

/** The plain text, where there is any. */
function linesOf(mail: ParsedMail): readonly BodyLine[] {
  const html = htmlOf(mail);
  return html === '' ? plainLines(mail.text ?? '') : htmlToLines(html.slice(0, MAX_HTML_CHARS));
}

function htmlOf({ text, html }: ParsedMail): string {
  return text?.trim() ? '' : (html ?? '');
}

/** U+0000 and the like are no text, and some stores refuse them. */
function printable(text: string): string {
  return text.replace(/[^\P{Cc}\t\n]/gu, '');
}
