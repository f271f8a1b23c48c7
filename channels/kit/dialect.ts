/** How one platform writes what Markdown can say. */

export interface ListItemPlace {
  readonly ordered: boolean;
  /** The number an ordered item shows; the 1-based place in an unordered list. */
  readonly number: number;
  /** 0 for a list that is in no other list. */
  readonly depth: number;
  /** GFM task list; absent for an ordinary item. */
  readonly checked?: boolean;
}

export interface TableText {
  /** Rendered cells. Rows may be shorter or longer than the header. */
  readonly header: readonly string[];
  readonly rows: readonly (readonly string[])[];
  /** All cells, the header first, as words alone, which are not escaped: for a block that reads no marks. */
  words(): readonly (readonly string[])[];
}

/**
 * How one platform writes each construct. `inner` is rendered already and must not be escaped again; every
 * other string is raw and must be. Methods are pure and return no surrounding blank lines: the frame sets
 * those.
 */
export interface Dialect {
  /** Escapes `value`, also raw HTML of the source: a dialect that passed that on would lose or inject it. */
  text(value: string): string;
  strong(inner: string): string;
  emphasis(inner: string): string;
  strike(inner: string): string;
  inlineCode(value: string): string;
  /** `language` is the first word of the fence's info string. */
  codeBlock(value: string, language: string | undefined): string;
  /** `url` is untrusted: a dialect shows only schemes its platform opens safely, else the text alone. */
  link(inner: string, url: string): string;
  image(alt: string, url: string): string;
  heading(inner: string, depth: number): string;
  /** `depth` is 0 for a quote that is in no other quote. */
  quote(inner: string, depth: number): string;
  /** The marker and its indentation included; nested lists are in `inner`, after a newline. */
  listItem(inner: string, place: ListItemPlace): string;
  table(table: TableText): string;
  /** Thematic break. */
  readonly rule: string;
  /** Hard break, and `<br>`. */
  readonly lineBreak: string;
  /**
   * Whether `heading` makes its words bold by itself: what is bold among them then comes without `strong`.
   */
  boldHeading?(depth: number): boolean;
  /** `table` makes the header bold, and of two columns the first. */
  readonly boldHeads?: boolean;
  /**
   * In front of the further lines of a list item, once for each list it is in. Omit where the platform
   * indents them.
   */
  readonly itemIndent?: string;
  /** Wraps a paragraph or a whole list; omit where the platform needs nothing around them. */
  paragraph?(inner: string): string;
  list?(inner: string, ordered: boolean): string;
}
