/**
 * Fenced code as a reader of one chunk sees it: what is open where a chunk ends, and the lines that close and
 * open it again.
 */
export interface Fence {
  /**
   * Indentation and quote marks before the marker; the closing line needs the same or a list would end
   * instead.
   */
  readonly prefix: string;
  /** The run of backticks or tildes. */
  readonly marker: string;
  /** First word of the info string, or empty. */
  readonly language: string;
}

export interface FenceScan {
  /** The fence still open at the end of the text. */
  readonly open: Fence | undefined;
  /** Where the line begins that opened it; -1 when it was open from the start. */
  readonly openedAt: number;
  /** Where the first line after that opening line begins. */
  readonly contentAt: number;
  /** Where the line begins that closed the fence which was open from the start; -1 when none did. */
  readonly inheritedCloseAt: number;
}

// One way to match at every step, so linear. A marker of more than 16 characters is an ornament or an attack,
// not a fence: closing and reopening it would eat the chunk.
const FENCE_LINE = /((?:[ \t]{0,12}>){0,8}[ \t]{0,24})(`{3,16}(?!`)|~{3,16}(?!~))/y;
const MAX_INFO = 128;
const MAX_LANGUAGE = 24;

/**
 * Reads `text`, which begins inside `inherited` when that is given. `onNewline` hears of every newline and
 * whether code is open there. Linear.
 */
export function scanFences(
  text: string,
  inherited: Fence | undefined,
  onNewline?: (at: number, open: boolean) => void,
): FenceScan {
  let open = inherited;
  let openedAt = -1;
  let contentAt = 0;
  let inheritedCloseAt = -1;
  for (let start = 0; start <= text.length; ) {
    const newline = text.indexOf('\n', start);
    const end = newline === -1 ? text.length : newline;
    const line = fenceLine(text, start, end);
    // A quoted fence ends with its quote (CommonMark 4.5); this line may then open another.
    if (open && quoteDepth(open.prefix) > 0 && !startsWithQuote(text, start, end)) {
      if (inheritedCloseAt === -1 && openedAt === -1) inheritedCloseAt = start;
      open = undefined;
    }
    if (open) {
      if (line && line.info === '' && line.marker.startsWith(open.marker)) {
        if (openedAt === -1 && inheritedCloseAt === -1) inheritedCloseAt = start;
        open = undefined;
      }
    } else if (line && !(line.marker[0] === '`' && line.info.includes('`')) && line.info.length <= MAX_INFO) {
      const word = line.info.split(/\s/, 1)[0] ?? '';
      open = { prefix: line.prefix, marker: line.marker, language: word.length <= MAX_LANGUAGE ? word : '' };
      openedAt = start;
      contentAt = end + 1;
    }
    if (newline !== -1) onNewline?.(newline, open !== undefined);
    start = end + 1;
  }
  return { open, openedAt, contentAt, inheritedCloseAt };
}

/** The line that ends an open fence, its newline included. */
export function closingLine(fence: Fence): string {
  return `\n${fence.prefix}${fence.marker}`;
}

/**
 * The same fence at the start of a new chunk: without indentation, which outside its list would make it
 * something else.
 */
export function reopened(fence: Fence): Fence {
  return { ...fence, prefix: '> '.repeat(quoteDepth(fence.prefix)) };
}

/** The line that opens a fence, its newline included. */
export function openingLine(fence: Fence): string {
  return `${fence.prefix}${fence.marker}${fence.language}\n`;
}

/**
 * Whether the line at `from` is still code: `true`; ends it without showing anything of its own: the index
 * after it; or is other text: `false`.
 */
export function continueFence(text: string, from: number, fence: Fence): boolean | number {
  const newline = text.indexOf('\n', from);
  const end = newline === -1 ? text.length : newline;
  const line = fenceLine(text, from, end);
  if (line && line.info === '' && line.marker.startsWith(fence.marker)) return Math.min(end + 1, text.length);
  return quoteDepth(fence.prefix) === 0 || startsWithQuote(text, from, end);
}

function fenceLine(text: string, start: number, end: number): { prefix: string; marker: string; info: string } | undefined {
  FENCE_LINE.lastIndex = start;
  const match = FENCE_LINE.exec(text);
  if (!match || FENCE_LINE.lastIndex > end) return undefined;
  const [all, prefix = '', marker = ''] = match;
  // Longer than any info string that counts is enough to know; a line of megabytes is not copied.
  return { prefix, marker, info: text.slice(start + all.length, Math.min(end, start + all.length + MAX_INFO + 1)).trim() };
}

function quoteDepth(prefix: string): number {
  return prefix.length - prefix.replaceAll('>', '').length;
}

function startsWithQuote(text: string, start: number, end: number): boolean {
  for (let index = start; index < end; index += 1) {
    const char = text[index];
    if (char === '>') return true;
    if (char !== ' ' && char !== '\t') return false;
  }
  return false;
}
