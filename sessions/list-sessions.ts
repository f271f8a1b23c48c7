import type { Dirent } from 'node:fs';
import { readdir, readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import type { SessionInfo } from '../src/core/session.ts';
import { oneLine } from '../src/lib/one-line.ts';
import { decodeName, keyOfNames } from './file-name.ts';

const NEWLINE = 0x0a;
const ARCHIVE = '.archive.jsonl';
/** Lines that are looked at for a title. */
const TITLE_WITHIN = 20;
/** UTF-16 units. */
const TITLE_CHARS = 60;

/** All sessions under a data directory, the newest first. Reads file after file and changes nothing. */
export async function listSessions(dir: string): Promise<SessionInfo[]> {
  const found = new Map<string, SessionInfo>();
  for (const user of await directories(join(dir, 'users'))) {
    const sessions = join(dir, 'users', user, 'sessions');
    const names = await sessionNames(sessions);
    for (const name of names) {
      const info = await describe(join(sessions, `${name}.jsonl`), keyOfNames(user, name));
      if (info) found.set(info.key, info);
    }
    // A run that ends after its session was removed leaves its lines in the archive alone.
    for (const name of await sessionNames(sessions, ARCHIVE)) {
      const info = names.includes(name) ? undefined : await describe(join(sessions, name + ARCHIVE), keyOfNames(user, name));
      if (info && !found.has(info.key)) found.set(info.key, { ...info, messages: 0, bytes: 0 });
    }
  }
  // Not yet migrated; a session that exists in both places is the migrated one.
  const flat = join(dir, 'sessions');
  for (const name of await sessionNames(flat)) {
    const info = await describe(join(flat, `${name}.jsonl`), decodeName(name));
    if (info && !found.has(info.key)) found.set(info.key, info);
  }
  return [...found.values()].sort((a, b) => (a.updatedAt < b.updatedAt ? 1 : a.updatedAt > b.updatedAt ? -1 : 0));
}

async function sessionNames(path: string, ending = '.jsonl'): Promise<string[]> {
  const entries = await entriesOf(path);
  // An encoded name holds no dot, so archives and quarantines are told apart by theirs.
  const names = entries
    .filter((entry) => entry.isFile() && entry.name.endsWith(ending))
    .map(({ name }) => name.slice(0, -ending.length));
  return names.filter((name) => !name.includes('.'));
}

async function directories(path: string): Promise<string[]> {
  return (await entriesOf(path)).filter((entry) => entry.isDirectory()).map((entry) => entry.name);
}

async function entriesOf(path: string): Promise<Dirent[]> {
  try {
    return await readdir(path, { withFileTypes: true });
  } catch (error) {
    if (isAbsent(error)) return [];
    throw error;
  }
}

/** `placeKey` stands in for an unreadable header. With neither, a session is left out until it is opened. */
async function describe(path: string, placeKey: string | undefined): Promise<SessionInfo | undefined> {
  try {
    const bytes = await readFile(path);
    const lines = completeLines(bytes);
    const first = lines[0] === undefined ? undefined : field(lines[0], 'session_key');
    const key = first ?? placeKey;
    if (key === undefined) return undefined;
    const last = lines.length > 1 ? field(lines.at(-1) ?? bytes, 'timestamp') : undefined;
    const updatedAt = last ?? (await stat(path)).mtime.toISOString();
    const title = titleOf(lines);
    return {
      ...{ key, messages: Math.max(0, lines.length - 1), updatedAt, bytes: bytes.length },
      ...(title === undefined ? {} : { title }),
    };
  } catch (error) {
    if (isAbsent(error)) return undefined; // removed while we looked
    throw error;
  }
}

/** Of what tells the model what kind of run it is in, the task below it. */
export function titleFrom(content: string): string {
  return oneLine(content.replace(/^\[[^\n]*\]\n\n(?=\S)/, ''), TITLE_CHARS);
}

/** The first words of a person. */
function titleOf(lines: readonly Buffer[]): string | undefined {
  for (const line of lines.slice(1, 1 + TITLE_WITHIN)) {
    const words = field(line, 'role') === 'user' ? titleFrom(field(line, 'content') ?? '') : '';
    if (words !== '') return words;
  }
  return undefined;
}

function completeLines(bytes: Buffer): Buffer[] {
  const lines: Buffer[] = [];
  let start = 0;
  for (let end = bytes.indexOf(NEWLINE); end >= 0; end = bytes.indexOf(NEWLINE, start)) {
    if (end > start) lines.push(bytes.subarray(start, end));
    start = end + 1;
  }
  return lines;
}

function field(line: Buffer, name: string): string | undefined {
  try {
    const value: unknown = JSON.parse(line.toString('utf8'));
    const text = typeof value === 'object' && value !== null ? Reflect.get(value, name) : undefined;
    return typeof text === 'string' ? text : undefined;
  } catch {
    return undefined; // damaged; mended when the session is opened
  }
}

function isAbsent(error: unknown): boolean {
  return error instanceof Error && 'code' in error && (error.code === 'ENOENT' || error.code === 'ENOTDIR');
}
