import { join } from 'node:path';

/** Spec C1: encoding stops here, so that hash and suffixes fit into the 255 bytes that file systems allow. */
const MAX_ENCODED = 183;
/** FNV-1a, 64 bit: the constants of spec C1. */
const FNV_OFFSET = 0xcbf29ce484222325n;
const FNV_PRIME = 0x100000001b3n;

export function fnv1a64(bytes: Uint8Array): string {
  let hash = FNV_OFFSET;
  for (const byte of bytes) hash = BigInt.asUintN(64, (hash ^ BigInt(byte)) * FNV_PRIME);
  return hash.toString(16).toUpperCase().padStart(16, '0');
}

/** A path needs a name for the empty text too; no other text gives a lone `%`. */
const EMPTY = '%';

/**
 * Any text as a portable file name (spec C1): bytes outside `[A-Za-z0-9_-]` become `%XX`; a long one is cut
 * and ends in `_` and a hash of the whole. Two texts share a name only when that hash collides, which the
 * file's header reveals.
 */
export function encodeName(text: string): string {
  if (text === '') return EMPTY;
  const bytes = Buffer.from(text, 'utf8');
  let name = '';
  for (const byte of bytes) {
    if (name.length >= MAX_ENCODED) return `${name}_${fnv1a64(bytes)}`;
    name += isKept(byte) ? String.fromCharCode(byte) : `%${byte.toString(16).toUpperCase().padStart(2, '0')}`;
  }
  return name;
}

function isKept(byte: number): boolean {
  const isDigit = byte >= 0x30 && byte <= 0x39;
  const isLetter = (byte >= 0x41 && byte <= 0x5a) || (byte >= 0x61 && byte <= 0x7a);
  return isDigit || isLetter || byte === 0x5f || byte === 0x2d;
}

/** The text an encoded name stands for; undefined when it was cut or is no encoded name. */
export function decodeName(name: string): string | undefined {
  if (name === EMPTY) return '';
  if (!/^(?:[A-Za-z0-9_-]|%[0-9A-F]{2})*$/.test(name)) return undefined;
  try {
    const text = decodeURIComponent(name);
    return encodeName(text) === name || name === RESERVED_DEFAULT ? text : undefined;
  } catch {
    return undefined; // bytes that are not UTF-8: not a name of ours
  }
}

/** Spec A1: the text before the first `#` names the chat, the text after it the topic. */
export function splitKey(key: string): { base: string; topic: string | undefined } {
  const at = key.indexOf('#');
  return at < 0 ? { base: key, topic: undefined } : { base: key.slice(0, at), topic: key.slice(at + 1) };
}

const DEFAULT_TOPIC = 'default';
/** A topic that people call "default" is not the chat without a topic; `d` is otherwise never escaped. */
const RESERVED_DEFAULT = '%64efault';

/** The directory of one chat, shared by its topics. */
export function userDirectory(dir: string, key: string): string {
  return join(dir, 'users', encodeName(splitKey(key).base));
}

/**
 * The directory of the workspaces of one chat: apart from what the daemon keeps, because the worker that runs
 * programs sees all workspaces and nothing else of the data directory.
 */
export function userWorkspaces(dir: string, key: string): string {
  return join(dir, 'workspaces', encodeName(splitKey(key).base));
}

/** Path of a session's file without its ending: `.jsonl`, `.archive.jsonl` or `.quarantine.jsonl` follows. */
export function sessionStem(dir: string, key: string): string {
  const { topic } = splitKey(key);
  const name = topic === undefined ? DEFAULT_TOPIC : topic === DEFAULT_TOPIC ? RESERVED_DEFAULT : encodeName(topic);
  return join(userDirectory(dir, key), 'sessions', name);
}

/** Where versions with one flat directory kept the same session. */
export function legacyPath(dir: string, key: string): string {
  return join(dir, 'sessions', `${encodeName(key)}.jsonl`);
}

/** The key a file's place stands for; undefined when one of the names was cut. */
export function keyOfNames(user: string, session: string): string | undefined {
  const base = decodeName(user);
  if (base === undefined || session === DEFAULT_TOPIC) return base;
  const topic = decodeName(session);
  return topic === undefined ? undefined : `${base}#${topic}`;
}
