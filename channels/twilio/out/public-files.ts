/**
 * Files on their way out. Twilio takes a picture only from an address: they are served for a short time under
 * a secret one.
 */
import { randomBytes } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import type { SendResult, WebhookAnswer } from '../../../src/core/channel.ts';
import type { OutboundFile } from '../../../src/core/message.ts';
import type { Clock } from '../../../src/core/ports.ts';
import { unreadResult } from '../../kit/upload-file.ts';
import { PLATFORM_LIMITS } from '../platform-limits.ts';

export const UPLOAD_BYTES = PLATFORM_LIMITS.media.value;
/** Twilio shrinks pictures for the network and passes on all else; most networks end near this. */
const OTHER_BYTES = PLATFORM_LIMITS.otherMedia.value;
/** Twilio fetches within seconds; a number that is behind with its queue may do so later. */
const KEEP_MS = 10 * 60_000;
/** After two requests, for the head and the file, only a broken connection makes Twilio ask again. */
const FETCHED_MS = 60_000;
/** 8 files of 5 MB at most are held in memory. */
const MAX_FILES = 8;

const PICTURES = /^image\/(?:jpe?g|png|gif)$/;
/** Never markup: it would be served from the operator's own address (attack A23). */
const OTHERS =
  /^(?:audio\/(?:basic|mp4|mpeg|ogg|vnd\.wave|3gpp2?|ac3|webm|amr|amr-nb|aac)|video\/(?:mpeg|mp4|quicktime|webm|3gpp2?)|image\/(?:bmp|tiff|heic|heif)|text\/(?:vcard|x-vcard|csv|rtf|calendar)|application\/(?:pdf|vcard|msword|vnd\.[\w.+-]+))$/;

interface Held {
  readonly bytes: Buffer;
  readonly mime: string;
  readonly name: string;
  until: number;
  served: number;
}

export type Offered =
  | { readonly kind: 'held'; readonly token: string }
  | { readonly kind: 'full' }
  | { readonly kind: 'unread'; readonly result: SendResult }
  | Refusal;
interface Refusal {
  readonly kind: 'refused';
  readonly reason: 'too-long' | 'invalid';
  readonly detail: string;
}

/** What becomes of a part whose file cannot be offered now. It waits alone: words need no place. */
export function fileLater(reason: string, afterMs: number): { readonly result: SendResult } {
  return { result: { kind: 'retry', reason, afterMs, scope: 'part' } };
}

export class PublicFiles {
  readonly #clock: Clock;
  readonly #files = new Map<string, Held>();

  constructor(clock: Clock) {
    this.#clock = clock;
  }

  /** Reads the file at once: the private copy may be gone when Twilio asks. */
  async offer(file: OutboundFile): Promise<Offered> {
    this.#forget();
    const mime = file.mime.toLowerCase().split(';', 1)[0]?.trim() ?? '';
    const picture = PICTURES.test(mime);
    if (!picture && !OTHERS.test(mime)) return { kind: 'refused', reason: 'invalid', detail: 'MMS takes no files of this type' };
    const most = picture ? UPLOAD_BYTES : OTHER_BYTES;
    if (file.bytes > most) return tooLarge(most);
    if (this.#files.size >= MAX_FILES) return { kind: 'full' };
    let bytes: Buffer;
    try {
      bytes = await readFile(file.path);
    } catch (error) {
      return { kind: 'unread', result: unreadResult(error) };
    }
    if (bytes.byteLength > most) return tooLarge(most);
    // Unguessable: 256 bits. Nothing else protects the file.
    const token = randomBytes(32).toString('base64url');
    this.#files.set(token, { bytes, mime, name: safeName(file.name), until: this.#clock.monotonic() + KEEP_MS, served: 0 });
    return { kind: 'held', token };
  }

  /** It was not sent: nobody will ask for the file. */
  withdraw(token: string): void {
    this.#files.delete(token);
  }

  /** Twilio asks twice, first for the head; both within the time. */
  serve(token: string): WebhookAnswer {
    this.#forget();
    const file = this.#files.get(token);
    if (!file) return { status: 404 };
    file.served += 1;
    if (file.served === 2) file.until = Math.min(file.until, this.#clock.monotonic() + FETCHED_MS);
    return {
      status: 200,
      headers: {
        'content-type': file.mime,
        'content-length': String(file.bytes.byteLength),
        'content-disposition': `inline; filename="${file.name}"`,
        'x-content-type-options': 'nosniff',
        'content-security-policy': "default-src 'none'; sandbox",
      },
      body: file.bytes,
    };
  }

  close(): void {
    this.#files.clear();
  }

  #forget(): void {
    const now = this.#clock.monotonic();
    for (const [token, { until }] of this.#files) if (until <= now) this.#files.delete(token);
  }
}

function tooLarge(most: number): Refusal {
  return { kind: 'refused', reason: 'too-long', detail: `MMS takes at most ${Math.floor(most / 1024)} kB of this type` };
}

/** Twilio: no spaces, few special characters, 20 characters at most. */
function safeName(name: string): string {
  const [, stem = 'file', ending = ''] = /^(.*?)(\.[A-Za-z0-9]{1,5})?$/s.exec(name) ?? [];
  const clean = stem.replace(/[^A-Za-z0-9_-]+/g, '_').slice(0, 20 - ending.length);
  return `${clean === '' || clean === '_' ? 'file' : clean}${ending}`;
}
