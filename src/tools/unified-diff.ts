/** Text of a unified diff for one file -> its hunks. */
import { ToolFailure } from './define.ts';

export interface DiffLine {
  readonly kind: 'keep' | 'remove' | 'add';
  /** Without its line feed; a carriage return stays. */
  readonly text: string;
  /** Below it stands `\ No newline at end of file`. */
  readonly endsFile: boolean;
}

export interface Hunk {
  /** First line of the file that it is about, counted from 1; 0 = before the first one. */
  readonly line: number;
  readonly lines: readonly DiffLine[];
}

const HEADER = /^@@ -(\d{1,9})(?:,(\d{1,9}))? \+(\d{1,9})(?:,(\d{1,9}))? @@/;
/** What an edit of a file's lines cannot do, by how the header of the diff says it. */
const REFUSED: readonly (readonly [pattern: RegExp, reason: string])[] = [
  [/^(?:new file mode|--- \/dev\/null)/, 'the diff makes a new file: use write_file'],
  [/^(?:deleted file mode|\+\+\+ \/dev\/null)/, 'the diff deletes the file, which diff_edit does not do'],
  [/^(?:rename|copy) (?:from|to) /, 'the diff renames or copies a file, which diff_edit does not do'],
  [/^(?:old|new) mode /, 'the diff changes the mode of the file, which diff_edit does not do'],
  [/^(?:GIT binary patch|Binary files )/, 'the diff is one of a binary file'],
];
const ONE_FILE = 'the diff is about more than one file: send one call for each';

/** Throws `ToolFailure` for what is no diff of the lines of one file. */
export function parseUnifiedDiff(diff: string): readonly Hunk[] {
  const lines = linesOf(diff);
  const first = lines.findIndex((line) => line.startsWith('@@'));
  refuseHeader(lines.slice(0, first === -1 ? lines.length : first));
  if (first === -1) throw new ToolFailure('the diff has no hunk; each begins with a line like @@ -12,4 +12,5 @@');
  const hunks: Hunk[] = [];
  for (let at = first; at < lines.length; ) {
    const { hunk, next } = parseHunk(lines, at, hunks.length + 1);
    hunks.push(hunk);
    at = next;
  }
  return hunks;
}

/** A diff that came with carriage returns has them in its own headers too; they are not the file's then. */
function linesOf(diff: string): readonly string[] {
  const lines = diff.split('\n');
  if (lines.at(-1) === '') lines.pop();
  const isForeign = lines.some((line) => HEADER.test(line) && line.endsWith('\r'));
  return isForeign ? lines.map((line) => (line.endsWith('\r') ? line.slice(0, -1) : line)) : lines;
}

function refuseHeader(header: readonly string[]): void {
  for (const line of header) {
    const refused = REFUSED.find(([pattern]) => pattern.test(line));
    if (refused) throw new ToolFailure(refused[1]);
  }
  if (header.filter((line) => line.startsWith('+++ ')).length > 1) throw new ToolFailure(ONE_FILE);
}

/** Lines that a hunk still lacks, by the numbers of its header. */
interface Missing {
  before: number;
  after: number;
}

function parseHunk(all: readonly string[], at: number, number: number): { readonly hunk: Hunk; readonly next: number } {
  const header = all[at] ?? '';
  const match = HEADER.exec(header);
  if (!match)
    throw new ToolFailure(
      `hunk ${number} begins with ${JSON.stringify(header.slice(0, 60))}, not with @@ -line,count +line,count @@`,
    );
  const [, line = '0', before = '1', , after = '1'] = match;
  const missing = { before: Number(before), after: Number(after) };
  const lines: DiffLine[] = [];
  let next = at + 1;
  let empty = 0;
  for (; next < all.length; next += 1) {
    const text = all[next] ?? '';
    if (isOver(all, next, missing)) break;
    if (text.startsWith('\\')) {
      const last = lines.pop();
      if (last) lines.push({ ...last, endsFile: true });
      continue;
    }
    // An empty line is a kept empty one whose blank was lost on the way, unless the hunk is complete.
    if (text === '' && missing.before <= 0 && missing.after <= 0) continue;
    lines.push(diffLine(text, missing, number));
    empty = text === '' ? empty + 1 : 0;
  }
  // With wrong counts nothing tells a kept empty line from one that merely follows the diff.
  if (missing.before !== 0 || missing.after !== 0) lines.splice(lines.length - empty, empty);
  return { hunk: { line: Number(line), lines }, next };
}

/** Its counts may be wrong, so what it holds counts: up to the next hunk, or the next file. */
function isOver(all: readonly string[], at: number, missing: Missing): boolean {
  const text = all[at] ?? '';
  if (text.startsWith('@@')) return true;
  if (missing.before > 0 || missing.after > 0) return false;
  const isNextFile = text.startsWith('diff ') || (text.startsWith('--- ') && all[at + 1]?.startsWith('+++ '));
  if (isNextFile) throw new ToolFailure(ONE_FILE);
  return false;
}

function diffLine(line: string, missing: Missing, number: number): DiffLine {
  const [sign = ' ', text] = [line.charAt(0) || ' ', line.slice(1)];
  const kind = ({ ' ': 'keep', '\t': 'keep', '\r': 'keep', '-': 'remove', '+': 'add' } as const)[sign];
  if (kind === undefined)
    throw new ToolFailure(
      `hunk ${number} has a line that begins with ${JSON.stringify(sign)}; a blank, + or - must stand before each`,
    );
  if (kind !== 'add') missing.before -= 1;
  if (kind !== 'remove') missing.after -= 1;
  // A tab or a carriage return in front is the line's own: the blank before it was lost.
  return { kind, text: sign === '\t' || sign === '\r' ? line : text, endsFile: false };
}
