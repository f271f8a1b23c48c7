// .tar.gz -> plain files and directories below an empty directory, and nothing else, within limits
import { createReadStream } from 'node:fs';
import { type FileHandle, mkdir, open } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { createGunzip } from 'node:zlib';
import { GatehouseError } from '../../core/errors.ts';
import { oneLine } from '../../lib/one-line.ts';
import { isPlainName, LIMITS, type Limits } from './tree.ts';

const BLOCK = 512;
/** Of a header that says more about the next one: a long name, attributes. */
const MAX_EXTENDED_BYTES = 64 * 1024;
const MAX_PATH_BYTES = 1_024;
const SET_ID = 0o6000;

/**
 * Unpacks into `target`, a directory that is there, empty and private. Rejects with GH2403 for anything but
 * plain files and directories with relative names: links, devices, `..`, absolute names, names that are there
 * twice, rights of another user, and more than the limits. What was unpacked by then stays; the caller
 * removes it.
 */
export async function unpack(archive: string, target: string, limits: Limits = LIMITS): Promise<void> {
  const unpacker = new Unpacker(target, limits);
  const packed = createReadStream(archive);
  const bytes = createGunzip();
  packed.on('error', (error) => bytes.destroy(error));
  packed.pipe(bytes);
  try {
    for await (const chunk of bytes) await unpacker.take(chunk as Buffer);
    await unpacker.end();
  } catch (error) {
    if (error instanceof GatehouseError) throw error;
    throw new GatehouseError('GH2403', 'the archive cannot be read: it is no .tar.gz, or a damaged one', { cause: error });
  } finally {
    packed.destroy();
    bytes.destroy();
    await unpacker.close();
  }
}

interface Header {
  readonly path: string;
  readonly type: string;
  readonly bytes: number;
  readonly mode: number;
}

/** What the bytes that come next are for. */
type Part =
  | { readonly kind: 'header' }
  | { readonly kind: 'file'; readonly file: FileHandle; left: number; padding: number }
  | { readonly kind: 'extended'; readonly type: string; readonly chunks: Buffer[]; left: number; padding: number }
  | { readonly kind: 'over' };

class Unpacker {
  readonly #target: string;
  readonly #limits: Limits;
  readonly #seen = new Set<string>();
  #part: Part = { kind: 'header' };
  #rest: Buffer = Buffer.alloc(0);
  #entries = 0;
  #bytes = 0;
  /** Of the next file, from what came before it. */
  #longPath: string | undefined;

  constructor(target: string, limits: Limits) {
    this.#target = target;
    this.#limits = limits;
  }

  async take(chunk: Buffer): Promise<void> {
    this.#bytes += chunk.length;
    const { bytes: most, files } = this.#limits;
    if (this.#bytes > most + files * 2 * BLOCK) throw refused(`it unpacks to more than ${most / 1024 ** 2} MiB`);
    let bytes = this.#rest.length === 0 ? chunk : Buffer.concat([this.#rest, chunk]);
    for (let before = -1; before !== bytes.length; ) {
      before = bytes.length;
      bytes = await this.#step(bytes);
    }
    this.#rest = Buffer.from(bytes);
  }

  async end(): Promise<void> {
    if (this.#part.kind !== 'header' && this.#part.kind !== 'over') throw refused('it ends in the middle of a file');
    if (this.#part.kind === 'header' && this.#rest.length > 0) throw refused('it ends in the middle of a file');
    if (this.#entries === 0) throw refused('it is empty');
  }

  async close(): Promise<void> {
    if (this.#part.kind === 'file') await this.#part.file.close();
  }

  /** What of the bytes is left; as it was = more have to come. */
  async #step(bytes: Buffer): Promise<Buffer> {
    const part = this.#part;
    if (part.kind === 'over') return Buffer.alloc(0);
    if (part.kind === 'header') {
      if (bytes.length < BLOCK) return bytes;
      await this.#begin(bytes.subarray(0, BLOCK));
      return bytes.subarray(BLOCK);
    }
    const content = bytes.subarray(0, part.left);
    if (content.length > 0) {
      if (part.kind === 'file') await part.file.writeFile(content);
      else part.chunks.push(Buffer.from(content));
      part.left -= content.length;
      if (part.left === 0 && part.padding === 0) await this.#finish(part);
      return bytes.subarray(content.length);
    }
    const skipped = Math.min(part.padding, bytes.length);
    part.padding -= skipped;
    if (part.left === 0 && part.padding === 0) await this.#finish(part);
    return bytes.subarray(skipped);
  }

  async #begin(block: Buffer): Promise<void> {
    if (block.every((byte) => byte === 0)) {
      this.#part = { kind: 'over' };
      return;
    }
    const { path, type, bytes, mode } = headerOf(block);
    const padding = (BLOCK - (bytes % BLOCK)) % BLOCK;
    this.#entries += 1;
    const { files } = this.#limits;
    // Directories and long names are entries, too.
    if (this.#entries > 2 * files) throw refused(`it has more than ${files} files`);
    if (type === 'L' || type === 'x' || type === 'g') {
      if (bytes > MAX_EXTENDED_BYTES) throw refused('a name in it is too long');
      await this.#next({ kind: 'extended', type, chunks: [], left: bytes, padding });
      return;
    }
    const name = this.#longPath ?? path;
    this.#longPath = undefined;
    await this.#entry(namesIn(name), { path: name, type, bytes, mode }, padding);
  }

  async #entry(names: readonly string[], { path, type, bytes, mode }: Header, padding: number): Promise<void> {
    const shown = oneLine(path, 200);
    if (type !== '0' && type !== '5') throw refused(`${shown} is ${KINDS[type] ?? 'neither a file nor a directory'}`);
    if ((mode & SET_ID) !== 0) throw refused(`${shown} takes the rights of another user (setuid or setgid)`);
    if (type === '5') {
      if (bytes > 0) throw refused(`${shown} is a directory with contents`);
      await mkdir(join(this.#target, ...names), { recursive: true, mode: 0o700 });
      return;
    }
    if (names.length === 0) throw refused('a file in it has no name');
    const { fileBytes: most } = this.#limits;
    if (bytes > most) throw refused(`${shown} has more than ${most / 1024 ** 2} MiB`);
    // Also where a file system takes two names for one.
    const key = names.join('/').toLowerCase().normalize('NFKC');
    if (this.#seen.has(key)) throw refused(`it has ${shown} twice`);
    this.#seen.add(key);
    const place = join(this.#target, ...names);
    await mkdir(dirname(place), { recursive: true, mode: 0o700 });
    const file = await open(place, 'wx', (mode & 0o111) === 0 ? 0o600 : 0o700);
    await this.#next({ kind: 'file', file, left: bytes, padding });
  }

  /** An empty one has no bytes to wait for. */
  async #next(part: Extract<Part, { readonly left: number }>): Promise<void> {
    this.#part = part;
    if (part.left === 0 && part.padding === 0) await this.#finish(part);
  }

  async #finish(part: Extract<Part, { readonly left: number }>): Promise<void> {
    this.#part = { kind: 'header' };
    if (part.kind === 'file') await part.file.close();
    else if (part.type === 'L') this.#longPath = textOf(Buffer.concat(part.chunks));
    else if (part.type === 'x') this.#longPath = pathIn(Buffer.concat(part.chunks)) ?? this.#longPath;
  }
}

const KINDS: Readonly<Record<string, string>> = {
  '1': 'a link',
  '2': 'a symbolic link',
  '3': 'a device',
  '4': 'a device',
  '6': 'a pipe',
};

/** POSIX ustar, and what GNU tar makes of it. */
function headerOf(block: Buffer): Header {
  const sum = block.reduce((total, byte, at) => total + (at >= 148 && at < 156 ? 32 : byte), 0);
  if (numberAt(block, 148, 8) !== sum) throw refused('it is no .tar.gz, or a damaged one');
  const prefix = block.toString('latin1', 257, 262) === 'ustar' && block[263] === 0x30 ? textOf(block.subarray(345, 500)) : '';
  const name = textOf(block.subarray(0, 100));
  const flag = block.toString('latin1', 156, 157);
  return {
    path: prefix === '' ? name : `${prefix}/${name}`,
    // Of old archives; a name that ends in / was a directory there.
    type: flag === '\0' ? (name.endsWith('/') ? '5' : '0') : flag,
    bytes: numberAt(block, 124, 12),
    mode: numberAt(block, 100, 8),
  };
}

/** Octal; the binary form of larger numbers is beyond every limit. */
function numberAt(block: Buffer, at: number, length: number): number {
  const text = block
    .toString('latin1', at, at + length)
    .replace(/[\0 ]+$/, '')
    .trimStart();
  if (!/^[0-7]{1,11}$/.test(text)) throw refused('a number in it cannot be read');
  return Number.parseInt(text, 8);
}

/** Up to the first NUL. */
function textOf(bytes: Buffer): string {
  const end = bytes.indexOf(0);
  try {
    return new TextDecoder('utf-8', { fatal: true }).decode(end === -1 ? bytes : bytes.subarray(0, end));
  } catch {
    throw refused('a name in it is not in UTF-8');
  }
}

/** Records of POSIX pax, `LENGTH KEY=VALUE\n` each: the path of the next entry. */
function pathIn(bytes: Buffer): string | undefined {
  let path: string | undefined;
  for (let at = 0; at < bytes.length; ) {
    const blank = bytes.indexOf(0x20, at);
    const length = Number(bytes.toString('latin1', at, blank));
    if (blank === -1 || !Number.isSafeInteger(length) || length <= blank - at || at + length > bytes.length)
      throw refused('a header in it cannot be read');
    const record = textOf(bytes.subarray(blank + 1, at + length - 1));
    if (record.startsWith('path=')) path = record.slice('path='.length);
    // It would make the size of the header a lie.
    if (record.startsWith('size=') || record.startsWith('GNU.sparse')) throw refused('a file in it is larger than can be said');
    at += length;
  }
  return path;
}

/** The names that a path walks through; `[]` = the directory itself. */
function namesIn(path: string): readonly string[] {
  const shown = oneLine(path, 200);
  if (Buffer.byteLength(path) > MAX_PATH_BYTES) throw refused('a name in it is too long');
  if (path.startsWith('/') || /^[A-Za-z]:/.test(path)) throw refused(`${shown} is absolute`);
  const names = path.split('/').filter((name) => name !== '' && name !== '.');
  if (names.includes('..')) throw refused(`${shown} leaves the directory`);
  if (names.length > LIMITS.depth + 1) throw refused(`it is more than ${LIMITS.depth} directories deep`);
  if (!names.every(isPlainName)) throw refused(`${shown} holds characters that people cannot see, or a backslash`);
  return names;
}

function refused(what: string): GatehouseError {
  return new GatehouseError('GH2403', `the archive is refused: ${what}`);
}
