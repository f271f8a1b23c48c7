/** Which files a model is shown as pictures, by their bytes. Nothing here decodes a picture. */
import type { Image, ImageType } from '../core/model.ts';
import { fileTypeOf } from './file-type.ts';

/** Anthropic has the lowest limit of the wires: 5 × 2^20 bytes of base64, three quarters of it in bytes. */
export const MAX_IMAGE_BYTES = (5 * 2 ** 20 * 3) / 4;
/** An album is shown by its first four: each costs up to 4,800 tokens, on every call of the turn. */
export const MAX_IMAGES = 4;
/** Gemini takes 20 MB in one request, everything included: 12 MB are 16 MB of base64. */
export const MAX_TOTAL_BYTES = 12 * 2 ** 20;
/** As many bytes of a file as `imageTypeOf` needs. */
export const IMAGE_HEAD_BYTES = 12;

const TYPES: readonly ImageType[] = ['image/jpeg', 'image/png', 'image/gif', 'image/webp'];

export function imageTypeOf(head: Uint8Array): ImageType | undefined {
  const type = fileTypeOf(head);
  return TYPES.find((known) => known === type);
}

/** A whole file as a picture; undefined when it is none or too large. */
export function toImage(bytes: Uint8Array): Image | undefined {
  const mime = imageTypeOf(bytes);
  if (mime === undefined || bytes.byteLength > MAX_IMAGE_BYTES) return undefined;
  return { mime, base64: Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString('base64') };
}

/** Counts the pictures of one message, in order. */
export class ImageQuota {
  #count = 0;
  #bytes = 0;

  /** Undefined = it is shown, and counted; else why not. */
  refuse(bytes: number): 'too large' | 'too many' | undefined {
    if (bytes > MAX_IMAGE_BYTES) return 'too large';
    if (this.#count >= MAX_IMAGES || this.#bytes + bytes > MAX_TOTAL_BYTES) return 'too many';
    this.#count += 1;
    this.#bytes += bytes;
    return undefined;
  }
}
