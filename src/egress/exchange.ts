// One request on a connection of its own -> the head of the answer -> its body, unpacked, as far as wanted.
import { request as httpRequest, type IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';
import type { Readable } from 'node:stream';
import { createBrotliDecompress, createInflate, createUnzip } from 'node:zlib';
import { readAtMost } from '../lib/read-at-most.ts';
import type { Destination } from './destination.ts';

/** Of all headers of an answer together. */
const MAX_HEADER_BYTES = 64 * 1024;

export interface Exchange {
  readonly to: Destination;
  readonly method: 'GET' | 'POST';
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string | undefined;
}

/**
 * Resolves with the head of the answer; its body is paused. Rejects when the connection breaks, when what
 * comes is no HTTP, and with the reason of the signal, which also ends the body.
 */
export function exchange(socket: Socket, { to, method, headers, body }: Exchange, signal: AbortSignal): Promise<IncomingMessage> {
  const { pathname, search, host } = to.url;
  return new Promise((resolve, reject) => {
    const request = httpRequest({
      ...{ method, path: pathname + search, maxHeaderSize: MAX_HEADER_BYTES, insecureHTTPParser: false },
      headers: {
        ...headers,
        host,
        connection: 'close',
        ...(body === undefined ? {} : { 'content-length': Buffer.byteLength(body) }),
      },
      // Without an agent there is no pool whose connections another request could get, and no proxy.
      createConnection: () => socket,
    });
    const onAbort = (): void => {
      reject(signal.reason);
      request.destroy();
      socket.destroy();
    };
    signal.addEventListener('abort', onAbort, { once: true });
    socket.once('close', () => signal.removeEventListener('abort', onAbort));
    request.once('response', resolve);
    // A server that switches protocols answers nothing that could be read.
    request.once('upgrade', () => request.destroy(new Error('the server speaks another protocol')));
    request.on('error', reject);
    if (signal.aborted) onAbort();
    else request.end(body);
  });
}

/**
 * The first `maxBytes` of the body, unpacked while it comes: a small body that unpacks to a huge one is left
 * at the same limit, and so is one that is itself longer. `onBytes` is called for what comes in. Rejects with
 * what the connection or the unpacking met.
 */
export async function readBody(
  answer: IncomingMessage,
  maxBytes: number,
  onBytes: () => void,
): Promise<{ readonly bytes: Buffer; readonly isComplete: boolean }> {
  const unpack = unpacking(answer.headers['content-encoding']);
  answer.on('data', onBytes).pause();
  if (!unpack) {
    const { bytes, complete } = await readAtMost(answer, maxBytes);
    return { bytes, isComplete: complete };
  }
  answer.once('error', (error) => unpack.destroy(error));
  // It may be left before its end, and is not read any more then.
  unpack.once('close', () => answer.destroy());
  let packed = 0;
  answer.on('data', (chunk: Buffer) => {
    packed += chunk.length;
    // Packing makes nothing much longer; what does is no page.
    if (packed > maxBytes + MAX_HEADER_BYTES) unpack.destroy(new Error('the packed answer is longer than its contents may be'));
  });
  answer.pipe(unpack);
  const { bytes, complete } = await readAtMost(unpack, maxBytes);
  return { bytes, isComplete: complete };
}

/** Undefined: nothing is packed. Throws for what cannot be unpacked. */
function unpacking(header: string | undefined): (Readable & NodeJS.WritableStream) | undefined {
  const coding = header?.trim().toLowerCase() ?? '';
  if (coding === '' || coding === 'identity') return undefined;
  if (coding === 'gzip' || coding === 'x-gzip') return createUnzip();
  if (coding === 'deflate') return createInflate();
  if (coding === 'br') return createBrotliDecompress();
  // More than one, as "gzip, gzip", is what nothing but a bomb needs.
  throw new Error('the server packs its answer in a way that was not asked for');
}
