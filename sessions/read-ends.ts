import { type FileHandle, open } from 'node:fs/promises';
import type { Session } from '../src/core/session.ts';
import { sizeOf } from './disk.ts';
import { parseFile } from './session-file.ts';

const BLOCK = 64 * 1024;
const NEWLINE = 0x0a;
const BRACE_CLOSE = 0x7d;
/** Bytes of a line within which its id ends. */
const ID_WITHIN = 300;

interface Ends {
  /** Line 1 and the last lines, as a file that holds no others. */
  readonly text: Buffer;
  /** No line was left out. */
  readonly isAll: boolean;
}

/**
 * Header and at least the `newest` messages of a large file, without the rest of it. Undefined where the
 * whole file has to be read: it is small or not there, or something in these lines must be mended, refused or
 * moved aside. Damage further up is found when the whole file is read.
 */
export async function readNewest(path: string, key: string, newest: number, now: number): Promise<Session | undefined> {
  const ends = await readEnds(path, newest);
  const parsed = ends && parseFile(ends.text, key, now);
  if (parsed?.kind !== 'session' || parsed.mustRewrite) return undefined;
  // Lines may be empty.
  if (!ends?.isAll && parsed.messages.length < newest) return undefined;
  return { header: parsed.header, messages: parsed.messages };
}

/** In blocks from the end. Undefined also where line 1 is longer than a block, or the last line was torn. */
async function readEnds(path: string, lines: number): Promise<Ends | undefined> {
  const bytes = sizeOf(path);
  if (bytes === undefined || bytes <= 2 * BLOCK) return undefined;
  await using file = await open(path, 'r');
  const first = await readAt(file, 0, BLOCK);
  const body = first.indexOf(NEWLINE) + 1;
  if (body === 0) return undefined;
  const blocks: Buffer[] = [];
  // One more than there are lines: the newline before the first of them.
  let missing = lines + 1;
  for (let to = bytes; to > body && missing > 0; ) {
    const from = Math.max(body, to - BLOCK);
    const block = await readAt(file, from, to);
    if (to === bytes && block.at(-1) !== NEWLINE) return undefined;
    let at = block.length;
    for (; missing > 0 && at >= 0; missing -= at < 0 ? 0 : 1) at = at === 0 ? -1 : block.lastIndexOf(NEWLINE, at - 1);
    blocks.push(missing === 0 ? block.subarray(at + 1) : block);
    to = from;
  }
  return { text: Buffer.concat([first.subarray(0, body), ...blocks.reverse()]), isAll: missing > 0 };
}

/**
 * The ids of all messages of a large file in its order. Parses nothing. Undefined where only a parser can
 * tell them, or the last line was torn. Line 1 is not looked at.
 */
export async function readIds(path: string): Promise<{ readonly ids: Set<string>; readonly bytes: number } | undefined> {
  const bytes = sizeOf(path);
  if (bytes === undefined || bytes <= 2 * BLOCK) return undefined;
  const ids = new Set<string>();
  let isHeader = true;
  for await (const block of idsByBlock(path, bytes)) {
    for (const id of block) {
      if (id === undefined && !isHeader) return undefined;
      if (id !== undefined && !isHeader) ids.add(id);
      isHeader = false;
    }
  }
  return { ids, bytes };
}

/** Which ids of `lines` the archive holds; none where there is no archive. Without lines it is not opened. */
export async function idsInArchive(path: string, lines: readonly { readonly id: string }[]): Promise<ReadonlySet<string>> {
  const found = new Set<string>();
  const bytes = lines.length > 0 ? sizeOf(path) : undefined;
  if (bytes === undefined) return found;
  const wanted = new Set(lines.map(({ id }) => id));
  for await (const block of idsByBlock(path, bytes)) {
    for (const id of block) if (id !== undefined && wanted.has(id)) found.add(id);
  }
  return found;
}

/**
 * For each block of the file, the ids of the lines that end in it. Undefined stands for a line without one
 * that `idOf` sees, such as a header, and for a line that a kill cut off: the retry may stand behind it.
 */
async function* idsByBlock(path: string, bytes: number): AsyncGenerator<readonly (string | undefined)[]> {
  await using file = await open(path, 'r');
  /** How the line begins that a block ends in. */
  let begun: Buffer = Buffer.alloc(0);
  let last: number | undefined;
  for (let from = 0; from < bytes; from += BLOCK) {
    const block = await readAt(file, from, Math.min(bytes, from + BLOCK));
    const ids: (string | undefined)[] = [];
    let start = 0;
    for (let end = block.indexOf(NEWLINE); end >= 0; end = block.indexOf(NEWLINE, start)) {
      const isWhole = (end > 0 ? block[end - 1] : last) === BRACE_CLOSE;
      ids.push(isWhole ? idOf(joined(begun, block.subarray(start, end))) : undefined);
      begun = Buffer.alloc(0);
      start = end + 1;
    }
    begun = joined(begun, block.subarray(start));
    last = block.at(-1);
    yield ids;
  }
  if (begun.length > 0) yield [undefined];
}

/** As much of the beginning of a line as `idOf` looks at. */
function joined(begun: Buffer, more: Buffer): Buffer {
  if (begun.length === 0) return more.subarray(0, ID_WITHIN);
  return Buffer.concat([begun, more.subarray(0, ID_WITHIN)]).subarray(0, ID_WITHIN);
}

/** Of a line as this program writes it: `id` comes first, and holds nothing that JSON escapes. */
function idOf(line: Buffer): string | undefined {
  return /^\{"id":"([^"\\]*)"[,}]/.exec(line.toString('utf8'))?.[1];
}

async function readAt(file: FileHandle, from: number, to: number): Promise<Buffer> {
  const buffer = Buffer.alloc(to - from);
  let filled = 0;
  while (filled < buffer.length) {
    const { bytesRead } = await file.read(buffer, filled, buffer.length - filled, from + filled);
    if (bytesRead === 0) break;
    filled += bytesRead;
  }
  return buffer.subarray(0, filled);
}
