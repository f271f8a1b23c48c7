/** Hunks of a diff + the text of a file -> the new text, all of them or none. */
import { indexesOf } from '../lib/indexes-of.ts';
import { ToolFailure } from './define.ts';
import type { DiffLine, Hunk } from './unified-diff.ts';

/** Spec G1: how far from its line a hunk may lie. */
const REACH = 3;
/** Nearest first. */
const OFFSETS = Array.from({ length: REACH }, (_, i) => i + 1);

/** A line of the file: its text and what ends it, `\n`, or nothing at the end of the file. */
interface Line {
  readonly text: string;
  readonly end: '\n' | '';
}

/** What lines are compared by: read once, however many hunks there are. */
interface Lines {
  readonly file: readonly Line[];
  /** Without blanks at the ends. */
  readonly bare: readonly string[];
}

/** The lines of a hunk that are in the file. */
interface Old {
  readonly lines: readonly DiffLine[];
  readonly bare: readonly string[];
}

interface Placed {
  readonly number: number;
  readonly hunk: Hunk;
  /** Index of its first line, and of the one after its last. */
  readonly from: number;
  readonly to: number;
}

/**
 * The text with the hunks applied. Each lies at the line of its header or up to three lines from it; blanks
 * at the ends of lines do not count. Lines that are kept stay as they are in the file; new ones get its line
 * ends where the diff shows none. Throws `ToolFailure` when a hunk fits nowhere or at two places, or when two
 * overlap.
 */
export function applyHunks(text: string, hunks: readonly Hunk[]): string {
  const file = split(text);
  const lines = { file, bare: file.map(({ text }) => bare(text)) };
  const placed = hunks.map((hunk, i) => place(lines, hunk, i + 1)).sort((a, b) => a.from - b.from || a.to - b.to);
  const out: Line[] = [];
  let done = 0;
  let last = 0;
  for (const one of placed) {
    if (one.from < done) throw new ToolFailure(`hunks ${last} and ${one.number} overlap; make one of them`);
    for (const line of file.slice(done, one.from)) out.push(line);
    for (const line of changed(file, one)) out.push(line);
    done = one.to;
    last = one.number;
  }
  for (const line of file.slice(done)) out.push(line);
  return joined(out);
}

function split(text: string): readonly Line[] {
  const lines = text.split('\n');
  const rest = lines.pop();
  const ended: Line[] = lines.map((line) => ({ text: line, end: '\n' }));
  return rest === undefined || rest === '' ? ended : [...ended, { text: rest, end: '' }];
}

/** Only the last line may lack its end. */
function joined(lines: readonly Line[]): string {
  return lines.map(({ text, end }, i) => text + (i === lines.length - 1 ? end : '\n')).join('');
}

function place(lines: Lines, hunk: Hunk, number: number): Placed {
  const { file } = lines;
  const kept = hunk.lines.filter(({ kind }) => kind !== 'add');
  const old = { lines: kept, bare: kept.map(({ text }) => bare(text)) };
  if (hunk.lines.every(({ kind }) => kind === 'keep')) throw new ToolFailure(`hunk ${number} changes nothing`);
  if (kept.length === 0) {
    // Into a file without lines there is one place only.
    if (file.length === 0) return { number, hunk, from: 0, to: 0 };
    throw new ToolFailure(`hunk ${number} has no context: keep a line before or after what it adds`);
  }
  const expected = Math.max(0, hunk.line - 1);
  const found = nearest(lines, old, expected);
  if (found.length > 1)
    throw new ToolFailure(`hunk ${number} fits at line ${found.map((at) => at + 1).join(' and at line ')}: give more context`);
  const [from] = found;
  if (from === undefined) throw new ToolFailure(nowhere(lines, hunk, old, number));
  return { number, hunk, from, to: from + kept.length };
}

/** The nearest place that fits; two when there is one as far on both sides. */
function nearest(lines: Lines, old: Old, expected: number): readonly number[] {
  if (fits(lines, old, expected)) return [expected];
  for (const offset of OFFSETS) {
    const found = [expected - offset, expected + offset].filter((at) => fits(lines, old, at));
    if (found.length > 0) return found;
  }
  return [];
}

function fits(lines: Lines, old: Old, at: number): boolean {
  if (at < 0 || at + old.bare.length > lines.bare.length) return false;
  return old.bare.every((line, i) => lines.bare[at + i] === line) && endsWhere(lines, old, at);
}

/** Whether the file ends where the hunk says so. */
function endsWhere({ file }: Lines, { lines }: Old, at: number): boolean {
  return lines.every(({ endsFile }, i) => !endsFile || file[at + i]?.end === '');
}

function bare(text: string): string {
  let end = text.length;
  while (end > 0 && ' \t\r'.includes(text.charAt(end - 1))) end -= 1;
  return text.slice(0, end);
}

function nowhere(lines: Lines, hunk: Hunk, old: Old, number: number): string {
  const { file } = lines;
  const elsewhere = placeOf(lines, old);
  const says = `hunk ${number} does not fit within ${REACH} lines of line ${hunk.line}`;
  if (elsewhere !== undefined) return `${says}; its lines stand at line ${elsewhere + 1}. Correct its header`;
  const at = Math.max(0, hunk.line - 1);
  const differs = old.bare.findIndex((line, i) => lines.bare[at + i] !== line);
  const wanted = JSON.stringify(old.lines[differs]?.text.slice(0, 200) ?? '');
  const present = file[at + differs];
  const has = present ? `has ${JSON.stringify(present.text.slice(0, 200))}` : `is beyond the end (${file.length} lines)`;
  return `${says}: it wants ${wanted} where line ${at + differs + 1} ${has}. Read the file again`;
}

/** The first place of the file where a hunk fits. */
function placeOf(lines: Lines, old: Old): number | undefined {
  // Of its lines one at most is the last of the file.
  const last = old.lines.findIndex(({ endsFile }) => endsFile);
  if (last === -1) return indexesOf(lines.bare, old.bare).next().value ?? undefined;
  const at = lines.bare.length - 1 - last;
  return fits(lines, old, at) ? at : undefined;
}

/** What stands in place of the lines of a hunk. */
function changed(file: readonly Line[], { hunk, from, to }: Placed): readonly Line[] {
  const present = file.slice(from, to);
  const old = hunk.lines.filter(({ kind }) => kind !== 'add');
  const addsReturn = lacksReturns(file, present, old);
  const lines: Line[] = [];
  let next = 0;
  for (const { kind, text, endsFile } of hunk.lines) {
    const here = kind === 'add' ? undefined : present[next++];
    if (kind === 'remove') continue;
    if (here) lines.push(here);
    else lines.push({ text: addsReturn && !endsFile ? withReturn(text) : text, end: endsFile ? '' : '\n' });
  }
  // A file without a last line feed keeps being one, where the diff does not speak of it.
  const staysOpen = to === file.length && present.at(-1)?.end === '' && old.at(-1)?.endsFile === false;
  return lines.map((line, i): Line => {
    if (i === lines.length - 1) return staysOpen && line.end !== '' ? { text: line.text.replace(/\r$/, ''), end: '' } : line;
    return line.end === '' && addsReturn ? { ...line, text: withReturn(line.text) } : line;
  });
}

/** The file has carriage returns and the diff shows none: new lines then get them without being asked. */
function lacksReturns(file: readonly Line[], present: readonly Line[], old: readonly DiffLine[]): boolean {
  if (old.some(({ text }) => text.endsWith('\r'))) return false;
  const ended = present.filter(({ end }) => end !== '');
  const judged = ended.length > 0 ? ended : file.filter(({ end }) => end !== '');
  return judged.filter(({ text }) => text.endsWith('\r')).length * 2 > judged.length;
}

function withReturn(text: string): string {
  return text.endsWith('\r') ? text : `${text}\r`;
}
