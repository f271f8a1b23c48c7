/** A line of a mail's body, with what is known of who wrote it. */
export interface BodyLine {
  readonly text: string;
  /**
   * `own`: nothing says that it is quoted. `marked`: behind `>`, or indented by a blockquote of no known
   * program. By the structure that a mail program gives its HTML: `cited`: inside a quotation; `intro`: the
   * sentence above one; `block`: a quotation without marks; `header`: the fields above a quotation that goes
   * on to the end of the mail.
   */
  readonly origin: 'own' | 'marked' | 'cited' | 'intro' | 'block' | 'header';
}

const BLANK: BodyLine = { text: '', origin: 'own' };

/** Plain text; any kind of line end. `＞` is what some Japanese programs write. */
export function plainLines(text: string): readonly BodyLine[] {
  const lines = text.includes('\r') ? text.split(/\r\n?|\n/) : text.split('\n');
  return lines.map((line) => (line === '' ? BLANK : { text: line, origin: isMarked(line) ? 'marked' : 'own' }));
}

export function isMarked(line: string): boolean {
  return line.startsWith('>') || line.startsWith('＞');
}

export function textOf(lines: readonly BodyLine[]): string {
  return lines.map(({ text }) => text).join('\n');
}
