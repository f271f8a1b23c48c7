/**
 * Files at the platform: encrypted before they leave, checked before they are believed. This is own code,
 * since the SDK keeps copies in /tmp.
 */
import { createCipheriv, createDecipheriv, createHash, createHmac, hkdfSync, randomBytes, timingSafeEqual } from 'node:crypto';
import { open } from 'node:fs/promises';
import type { MediaFile } from '../../../src/core/channel.ts';
import { GatehouseError } from '../../../src/core/errors.ts';
import type { MediaRef } from '../../../src/core/message.ts';
import { type DownloadLimits, fileBody, openDownload } from '../../kit/download.ts';
import { fromRef, type MediaAddress, type StoredKind } from './media-ref.ts';

/** Names in the key derivation, and paths at the host (WhatsApp Web). */
const KINDS: Readonly<Record<StoredKind, { readonly info: string; readonly path: string }>> = {
  image: { info: 'WhatsApp Image Keys', path: '/mms/image' },
  video: { info: 'WhatsApp Video Keys', path: '/mms/video' },
  audio: { info: 'WhatsApp Audio Keys', path: '/mms/audio' },
  document: { info: 'WhatsApp Document Keys', path: '/mms/document' },
};
/** The first 10 bytes of an HMAC end the file. */
const MAC_BYTES = 10;
const CHUNK_BYTES = 64 * 1024;

interface Keys {
  readonly iv: Buffer;
  readonly cipher: Buffer;
  readonly mac: Buffer;
}

function keysOf(key: Uint8Array, kind: StoredKind): Keys {
  const expanded = Buffer.from(hkdfSync('sha256', key, Buffer.alloc(32), KINDS[kind].info, 112));
  return { iv: expanded.subarray(0, 16), cipher: expanded.subarray(16, 48), mac: expanded.subarray(48, 80) };
}

export interface DownloadOptions extends DownloadLimits {
  /**
   * No trailing slash. Files come from here and, where it is the platform's own, from other hosts of the
   * platform.
   */
  readonly mediaRoot: string;
}

/** See `openDownload`. Only the very end of reading shows whether the file is the one that was sent. */
export async function download(media: MediaRef, { mediaRoot, ...limits }: DownloadOptions): Promise<MediaFile> {
  const address = fromRef(media.ref);
  const url = address && urlOf(address, mediaRoot);
  if (!address || !url) throw new GatehouseError('GH1505', 'the file is not at the platform');
  return await openDownload(media, limits, {
    open: async (signal) => {
      const headers = { connection: 'close', origin: 'https://web.whatsapp.com' };
      const body = await fileBody(await fetch(url, { signal, redirect: 'error', headers }));
      return { body: decrypted(body, address) };
    },
  });
}

/** Senders write the address: the host must be the platform's, whatever they say. */
function urlOf({ path, url }: MediaAddress, mediaRoot: string): URL | undefined {
  const root = new URL(mediaRoot);
  const target = path === undefined ? parse(url) : parse(path.startsWith('/') ? `${mediaRoot}${path}` : undefined);
  if (target?.username !== '' || target.password !== '') return undefined;
  if (target.origin === root.origin) return target;
  const platform = root.hostname.endsWith('.whatsapp.net') && target.hostname.endsWith('.whatsapp.net');
  return platform && target.protocol === 'https:' && target.port === '' ? target : undefined;
}

function parse(url: string | undefined): URL | undefined {
  return url !== undefined && URL.canParse(url) ? new URL(url) : undefined;
}

async function* decrypted(body: ReadableStream<Uint8Array>, address: MediaAddress): AsyncGenerator<Uint8Array> {
  const keys = keysOf(address.key, address.kind);
  const decipher = createDecipheriv('aes-256-cbc', keys.cipher, keys.iv);
  const mac = createHmac('sha256', keys.mac).update(keys.iv);
  const whole = createHash('sha256');
  // The last bytes are the checksum; which ones are the last shows only at the end.
  let held = Buffer.alloc(0);
  for await (const chunk of body) {
    whole.update(chunk);
    held = Buffer.concat([held, chunk]);
    const ready = held.subarray(0, Math.max(0, held.length - MAC_BYTES));
    held = held.subarray(ready.length);
    mac.update(ready);
    const plain = decipher.update(ready);
    if (plain.length > 0) yield plain;
  }
  const expected = mac.digest().subarray(0, MAC_BYTES);
  const intact = held.length === MAC_BYTES && timingSafeEqual(held, expected);
  if (!intact || !sameHash(whole.digest(), address.hash))
    throw new GatehouseError('GH1505', 'the file is damaged or not the one that was sent');
  const last = decipher.final();
  if (last.length > 0) yield last;
}

function sameHash(found: Buffer, stated: Uint8Array | undefined): boolean {
  return stated === undefined || (stated.byteLength === found.byteLength && timingSafeEqual(found, stated));
}

export interface Upload {
  readonly path: string;
  readonly kind: StoredKind;
  /** Scheme and host to try, without trailing slash. */
  readonly root: string;
  readonly auth: string;
  readonly signal: AbortSignal;
}

/** What a message says of its file. */
export interface StoredFile {
  readonly url: string;
  readonly directPath: string;
  readonly mediaKey: Uint8Array;
  readonly fileSha256: Uint8Array;
  readonly fileEncSha256: Uint8Array;
  readonly fileLength: number;
}

/**
 * Encrypts and stores a file. No person sees it before a message names it, so a failure of any kind is safe
 * to try again. Rejects with an `UploadError`, with the error of reading the file, or with the signal's
 * reason.
 */
export async function upload({ path, kind, root, auth, signal }: Upload): Promise<StoredFile> {
  const mediaKey = randomBytes(32);
  const { body, fileSha256, fileLength } = await encrypted(path, mediaKey, kind);
  const fileEncSha256 = createHash('sha256').update(body).digest();
  const token = fileEncSha256.toString('base64url');
  const target = `${root}${KINDS[kind].path}/${token}?auth=${encodeURIComponent(auth)}&token=${token}`;
  const headers = { 'content-type': 'application/octet-stream', origin: 'https://web.whatsapp.com', connection: 'close' };
  let answer: unknown;
  try {
    const response = await fetch(target, { method: 'POST', body, headers, signal, redirect: 'error' });
    if (!response.ok) {
      await response.body?.cancel();
      throw new UploadError(`the platform answered ${response.status} to the upload`, response.status);
    }
    answer = await response.json();
  } catch (error) {
    signal.throwIfAborted();
    // The cause may spell out the address, and that holds the token.
    throw error instanceof UploadError ? error : new UploadError('the upload broke off', undefined);
  }
  const { url, direct_path: directPath } = answer as { url?: unknown; direct_path?: unknown };
  if (typeof url !== 'string' || typeof directPath !== 'string')
    throw new UploadError('the platform did not say where the file is', undefined);
  return { url, directPath, mediaKey, fileSha256, fileEncSha256, fileLength };
}

export class UploadError extends Error {
  readonly status: number | undefined;

  constructor(message: string, status: number | undefined) {
    super(message);
    this.name = 'UploadError';
    this.status = status;
  }
}

/** Holds the encrypted file in memory: the platform wants the whole's length and hash before any byte. */
async function encrypted(path: string, mediaKey: Uint8Array, kind: StoredKind) {
  const keys = keysOf(mediaKey, kind);
  const cipher = createCipheriv('aes-256-cbc', keys.cipher, keys.iv);
  const mac = createHmac('sha256', keys.mac).update(keys.iv);
  const plain = createHash('sha256');
  const parts: Buffer[] = [];
  let fileLength = 0;
  const file = await open(path, 'r');
  for await (const chunk of file.createReadStream({ highWaterMark: CHUNK_BYTES }) as AsyncIterable<Buffer>) {
    fileLength += chunk.length;
    plain.update(chunk);
    parts.push(cipher.update(chunk));
  }
  parts.push(cipher.final());
  for (const part of parts) mac.update(part);
  parts.push(mac.digest().subarray(0, MAC_BYTES));
  return { body: Buffer.concat(parts), fileSha256: plain.digest(), fileLength };
}
