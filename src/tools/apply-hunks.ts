/** Hunks of a diff + the text of a file -> the new text, all of them or none. */
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

interface Placed {
  readonly number: number;
  readonly hunk: Hunk;
  /** Index of its first line, and of the one after its last. */
  readonly from: number;
  readonly to: number;
}

/**
 * The text with the hunks applied. Each lies at the line of its header or up to three lines from it, blanks at
 * the ends of lines left out of account. Lines that are kept stay as they are in the file; new ones get its
 * line ends where the diff shows none. Throws `ToolFailure` when a hunk fits nowhere or at two places, or
 * when two overlap.
 */
export function applyHunks(text: string, hunks: readonly Hunk[]): string {
  const file = split(text);
  const placed = hunks.map((hunk, i) => place(file, hunk, i + 1)).sort((a, b) => a.from - b.from || a.to - b.to);
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

function place(file: readonly Line[], hunk: Hunk, number: number): Placed {
  const old = hunk.lines.filter(({ kind }) => kind !== 'add');
  if (hunk.lines.every(({ kind }) => kind === 'keep')) throw new ToolFailure(`hunk ${number} changes nothing`);
  if (old.length === 0) {
    // Into a file without lines there is one place only.
    if (file.length === 0) return { number, hunk, from: 0, to: 0 };
    throw new ToolFailure(`hunk ${number} has no context: keep a line before or after what it adds`);
  }
  const expected = Math.max(0, hunk.line - 1);
  const found = nearest(file, old, expected);
  if (found.length > 1)
    throw new ToolFailure(`hunk ${number} fits at line ${found.map((at) => at + 1).join(' and at line ')}: give more context`);
  const [from] = found;
  if (from === undefined) throw new ToolFailure(nowhere(file, hunk, old, number));
  return { number, hunk, from, to: from + old.length };
}

/** The nearest place that fits; two when there is one as far on both sides. */
function nearest(file: readonly Line[], old: readonly DiffLine[], expected: number): readonly number[] {
  if (fits(file, old, expected)) return [expected];
  for (const offset of OFFSETS) {
    const found = [expected - offset, expected + offset].filter((at) => fits(file, old, at));
    if (found.length > 0) return found;
  }
  return [];
}

function fits(file: readonly Line[], old: readonly DiffLine[], at: number): boolean {
  if (at < 0 || at + old.length > file.length) return false;
  return old.every((line, i) => {
    const present = file[at + i];
    if (!present || (line.endsFile && present.end !== '')) return false;
    return bare(present.text) === bare(line.text);
  });
}

function bare(text: string): string {
  return text.replace(/(?<![ \t\r])[ \t\r]+$/, '');
}

function nowhere(file: readonly Line[], hunk: Hunk, old: readonly DiffLine[], number: number): string {
  const elsewhere = file.findIndex((_, at) => fits(file, old, at));
  const says = `hunk ${number} does not fit within ${REACH} lines of line ${hunk.line}`;
  if (elsewhere !== -1) return `${says}; its lines stand at line ${elsewhere + 1}. Correct its header`;
  const at = Math.max(0, hunk.line - 1);
  const differs = old.findIndex((line, i) => bare(file[at + i]?.text ?? '\0') !== bare(line.text));
  const wanted = JSON.stringify(old[differs]?.text.slice(0, 200) ?? '');
  const present = file[at + differs];
  const has = present ? `has ${JSON.stringify(present.text.slice(0, 200))}` : `is beyond the end (${file.length} lines)`;
  return `${says}: it wants ${wanted} where line ${at + differs + 1} ${has}. Read the file again`;
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

/** The file has carriage returns and the diff shows none of them, so new lines get them without being asked. */
function lacksReturns(file: readonly Line[], present: readonly Line[], old: readonly DiffLine[]): boolean {
  if (old.some(({ text }) => text.endsWith('\r'))) return false;
  const ended = present.filter(({ end }) => end !== '');
  const judged = ended.length > 0 ? ended : file.filter(({ end }) => end !== '');
  return judged.filter(({ text }) => text.endsWith('\r')).length * 2 > judged.length;
}

function withReturn(text: string): string {
  return text.endsWith('\r') ? text : `${text}\r`;
}
