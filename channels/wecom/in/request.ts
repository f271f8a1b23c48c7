/**
 * Verification and decryption of callbacks (https://developer.work.weixin.qq.com/document/path/90968).
 * Everything here fails closed: the caller learns that a callback is not to be believed and why, for the log;
 * the sender learns nothing.
 */
import { createDecipheriv, createHash } from 'node:crypto';
import { GatehouseError } from '../../../src/core/errors.ts';
import { equalSecrets } from '../../../src/lib/equal-secrets.ts';

export interface CallbackKeys {
  /** Signs. */
  readonly token: string;
  /** Encrypts: 32 bytes. */
  readonly aesKey: Buffer;
  /** Stands at the end of every plaintext: the id of the company. */
  readonly receiveId: string;
}

/** `reason` is for the operator and holds nothing of the request. */
export type Opened = { readonly plaintext: Buffer } | { readonly reason: string };

/** Reliability A9: a callback older than this is a replay; the platform's own repeats come within seconds. */
const FRESH_MS = 5 * 60_000;

const BLOCK = 16;
/** The platform pads to 32 and not to the block of the cipher. */
const PADDING = 32;

/** Rejects with GH1101 unless `encoded` is the 43 characters of an EncodingAESKey. */
export function parseAesKey(encoded: string, variable: string): Buffer {
  // Only the length is checked: 43 characters carry 258 bits, so the last may be any of four for the same
  // key.
  const key = /^[A-Za-z0-9+/]{43}$/.test(encoded) ? Buffer.from(`${encoded}=`, 'base64') : Buffer.alloc(0);
  if (key.length === 32) return key;
  throw new GatehouseError('GH1101', `${variable} does not hold an EncodingAESKey`, {
    hint: 'copy the 43 characters from "Receive messages" in the admin console',
  });
}

/**
 * The plaintext of one callback: of `echostr` for a GET, of the body's `Encrypt` for a POST. `now` in epoch
 * ms. Signature and age are checked before anything is decrypted, and nothing of the body but the ciphertext
 * is looked at before that.
 */
export function openCallback(
  request: { readonly query: URLSearchParams; readonly encrypted: string | undefined },
  keys: CallbackKeys,
  now: number,
): Opened {
  const { query, encrypted } = request;
  const [signature, timestamp, nonce] = [query.get('msg_signature'), query.get('timestamp'), query.get('nonce')];
  if (!signature || !timestamp || !nonce || !encrypted) return { reason: 'it is not signed' };
  const expected = createHash('sha1').update([keys.token, timestamp, nonce, encrypted].sort().join('')).digest('hex');
  if (!equalSecrets(signature.toLowerCase(), expected)) return { reason: 'its signature is wrong: check the Token' };
  const sentAt = /^\d{1,12}$/.test(timestamp) ? Number(timestamp) * 1_000 : Number.NaN;
  if (!(Math.abs(now - sentAt) <= FRESH_MS)) return { reason: 'it is not fresh: check the clock of this machine' };
  return decrypt(encrypted, keys) ?? { reason: 'it cannot be decrypted: check the EncodingAESKey and the id of the company' };
}

/** The one `Encrypt` of a body; undefined for any other shape. XML is parsed after the signature check. */
export function encryptedOf(body: Buffer): string | undefined {
  const text = body.toString('latin1');
  const found = [...text.matchAll(/<Encrypt>\s*(?:<!\[CDATA\[([A-Za-z0-9+/=]+)\]\]>|([A-Za-z0-9+/=]+))\s*<\/Encrypt>/g)];
  return found.length === 1 ? (found[0]?.[1] ?? found[0]?.[2]) : undefined;
}

/** 16 random bytes, length (4 bytes, big endian), message, receive id, padding. */
function decrypt(encrypted: string, { aesKey, receiveId }: CallbackKeys): Opened | undefined {
  const ciphertext = Buffer.from(encrypted, 'base64');
  if (ciphertext.length === 0 || ciphertext.length % BLOCK !== 0) return undefined;
  const decipher = createDecipheriv('aes-256-cbc', aesKey, aesKey.subarray(0, BLOCK)).setAutoPadding(false);
  const padded = Buffer.concat([decipher.update(ciphertext), decipher.final()]);
  const plain = unpad(padded);
  if (!plain || plain.length < 20) return undefined;
  const end = 20 + plain.readUInt32BE(16);
  if (end > plain.length) return undefined;
  return equalSecrets(plain.subarray(end), receiveId) ? { plaintext: plain.subarray(20, end) } : undefined;
}

/** Looks at all 32 bytes whatever they are, so that time tells nothing about the padding. */
function unpad(padded: Buffer): Buffer | undefined {
  const count = padded.at(-1) ?? 0;
  if (count < 1 || count > PADDING || count > padded.length) return undefined;
  let wrong = 0;
  for (let at = 1; at <= Math.min(PADDING, padded.length); at += 1) {
    const counts = at <= count ? 1 : 0;
    wrong |= counts * ((padded[padded.length - at] ?? 0) ^ count);
  }
  return wrong === 0 ? padded.subarray(0, padded.length - count) : undefined;
}
