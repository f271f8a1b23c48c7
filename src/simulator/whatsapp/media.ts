/** Where the platform keeps files: encrypted by whoever stores them. */
import { createCipheriv, createHash, createHmac, hkdfSync, randomBytes } from 'node:crypto';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { downloadContentFromMessage, type MediaType } from '@whiskeysockets/baileys';

type MediaFault =
  | { readonly kind: 'status'; readonly status: number }
  | { readonly kind: 'redirect'; readonly to: string }
  | { readonly kind: 'stall' }
  | { readonly kind: 'damage' };

/** The fields of a message with a file. */
export interface Stored {
  readonly directPath: string;
  readonly url: string;
  readonly mediaKey: Uint8Array;
  readonly fileSha256: Uint8Array;
  readonly fileEncSha256: Uint8Array;
  readonly fileLength: number;
}

const NAMES = { image: 'Image', video: 'Video', audio: 'Audio', document: 'Document' } as const;

export class MediaHost {
  readonly files = new Map<string, Buffer>();
  readonly requests: string[] = [];
  readonly faults: MediaFault[] = [];
  readonly #root: () => string;

  constructor(root: () => string) {
    this.#root = root;
  }

  /** A file that somebody sends: stored as their phone stores it. */
  store(kind: keyof typeof NAMES, bytes: Buffer, statedSize = bytes.length): Stored {
    const mediaKey = randomBytes(32);
    const keys = Buffer.from(hkdfSync('sha256', mediaKey, Buffer.alloc(32), `WhatsApp ${NAMES[kind]} Keys`, 112));
    const cipher = createCipheriv('aes-256-cbc', keys.subarray(16, 48), keys.subarray(0, 16));
    const encrypted = Buffer.concat([cipher.update(bytes), cipher.final()]);
    const mac = createHmac('sha256', keys.subarray(48, 80))
      .update(keys.subarray(0, 16))
      .update(encrypted)
      .digest()
      .subarray(0, 10);
    const whole = Buffer.concat([encrypted, mac]);
    const directPath = `/v/${randomBytes(8).toString('hex')}.enc`;
    this.files.set(directPath, whole);
    const sha256 = (data: Buffer): Buffer => createHash('sha256').update(data).digest();
    return {
      directPath,
      url: `${this.#root()}${directPath}`,
      mediaKey,
      fileSha256: sha256(bytes),
      fileEncSha256: sha256(whole),
      fileLength: statedSize,
    };
  }

  /** What a phone makes of a file that the adapter stored: opened by the official client. */
  async open(file: { mediaKey?: Uint8Array | null; directPath?: string | null }, type: MediaType): Promise<Buffer> {
    const url = `${this.#root()}${file.directPath ?? ''}`;
    const stream = await downloadContentFromMessage({ mediaKey: file.mediaKey ?? null, url }, type);
    const chunks: Buffer[] = [];
    for await (const chunk of stream) chunks.push(chunk as Buffer);
    return Buffer.concat(chunks);
  }

  handle(request: IncomingMessage, response: ServerResponse): void {
    const url = new URL(request.url ?? '/', 'http://x');
    this.requests.push(`${request.method} ${url.pathname}`);
    const fault = this.faults.shift();
    if (fault?.kind === 'status') return void response.writeHead(fault.status).end();
    if (fault?.kind === 'redirect') return void response.writeHead(302, { location: fault.to }).end();
    if (request.method === 'POST') return void this.#take(request, response, url);
    const file = this.files.get(url.pathname);
    if (!file) return void response.writeHead(404).end();
    if (fault?.kind === 'stall') return void response.writeHead(200).write(file.subarray(0, 1));
    const bytes = Buffer.from(file);
    if (fault?.kind === 'damage') bytes.writeUInt8(bytes.readUInt8(0) ^ 1, 0);
    response.writeHead(200).end(bytes);
  }

  #take(request: IncomingMessage, response: ServerResponse, url: URL): void {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks);
      const token = createHash('sha256').update(body).digest('base64url');
      if (url.searchParams.get('auth') !== 'media-token' || url.searchParams.get('token') !== token)
        return response.writeHead(403).end();
      const path = `${url.pathname}.enc`;
      this.files.set(path, body);
      response
        .writeHead(200, { 'content-type': 'application/json' })
        .end(JSON.stringify({ url: `${this.#root()}${path}`, direct_path: path }));
    });
  }
}
