/**
 * Sessions for commands that look, beside a running daemon too: nothing is mended, moved or made here. Files
 * are read line by line, so that a large archive takes no memory.
 */
import { open } from 'node:fs/promises';
import type { SessionMessage } from '../src/core/session.ts';
import { sizeOf } from './disk.ts';
import { legacyPath, sessionStem } from './file-name.ts';
import { parseObject, toMessage } from './session-file.ts';

const BLOCK = 256 * 1024;
const NEWLINE = 0x0a;
/** A longer line is none that this program wrote. */
const LONGEST_LINE = 32 * 1024 * 1024;

/** Bytes that the session takes with its archive. */
export function bytesOf(dir: string, key: string): number {
  const place = placeOf(dir, key);
  return (place === undefined ? 0 : (sizeOf(place) ?? 0)) + (sizeOf(archiveOf(dir, key)) ?? 0);
}

/** The messages that it has now, oldest first. Lines that cannot be read are left out. */
export async function* messagesOf(dir: string, key: string): AsyncGenerator<SessionMessage> {
  const place = placeOf(dir, key);
  if (place !== undefined) yield* messagesIn(place);
}

/**
 * All that was ever said in it, each message once: the archive, which has what a summary, a rotation or
 * `/new` took out, and then what is there now.
 */
export async function* wholeHistory(dir: string, key: string): AsyncGenerator<SessionMessage> {
  const seen = new Set<string>();
  for (const part of [messagesIn(archiveOf(dir, key)), messagesOf(dir, key)]) {
    for await (const message of part) {
      if (seen.has(message.id)) continue;
      seen.add(message.id);
      yield message;
    }
  }
}

function placeOf(dir: string, key: string): string | undefined {
  return [`${sessionStem(dir, key)}.jsonl`, legacyPath(dir, key)].find((path) => sizeOf(path) !== undefined);
}

function archiveOf(dir: string, key: string): string {
  return `${sessionStem(dir, key)}.archive.jsonl`;
}

async function* messagesIn(path: string): AsyncGenerator<SessionMessage> {
  let number = 0;
  for await (const line of linesIn(path)) {
    number += 1;
    const value = parseObject(line, false);
    const parsed = value && toMessage(value, number);
    if (parsed) yield parsed.message;
  }
}

/** Nothing where there is no such file. The last line may be half written: it parses as nothing then. */
async function* linesIn(path: string): AsyncGenerator<Buffer> {
  if (sizeOf(path) === undefined) return;
  await using file = await open(path, 'r');
  let begun: Buffer[] = [];
  let length = 0;
  const block = Buffer.alloc(BLOCK);
  for (;;) {
    const { bytesRead } = await file.read(block, 0, BLOCK);
    if (bytesRead === 0) break;
    let start = 0;
    for (let end = block.indexOf(NEWLINE); end >= 0 && end < bytesRead; end = block.indexOf(NEWLINE, start)) {
      if (length <= LONGEST_LINE) yield Buffer.concat([...begun, block.subarray(start, end)]);
      [begun, length, start] = [[], 0, end + 1];
    }
    length += bytesRead - start;
    // Of a line that is too long nothing more is kept.
    if (length <= LONGEST_LINE) begun.push(Buffer.from(block.subarray(start, bytesRead)));
  }
  if (length > 0 && length <= LONGEST_LINE) yield Buffer.concat(begun);
}
