import type { Readable } from 'node:stream';
import type { MediaFile } from '../../src/core/channel.ts';
import { GatehouseError } from '../../src/core/errors.ts';
import type { MediaRef } from '../../src/core/message.ts';
import type { FeishuClient } from './client.ts';
import { CallError } from './faults.ts';
import { readRef } from './inbound-content.ts';

export interface DownloadOptions {
  readonly client: Pick<FeishuClient, 'resource'>;
  readonly capBytes: number;
  /** For the whole file, from the call to the last byte. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** Resource of a message: larger than 100 MB. */
const TOO_LARGE = 234037;

/**
 * Opens a file at the platform. Rejects with GH1504 when it is too large and GH1505 when it cannot be had; reading the bytes
 * may reject with the same. The size the platform states is not believed: the cap is enforced on the bytes.
 */
export async function download(media: MediaRef, options: DownloadOptions): Promise<MediaFile> {
  const { client, capBytes } = options;
  const file = readRef(media.ref);
  if (!file) throw new GatehouseError('GH1505', 'the reference names no file of this channel');
  // Not the injected clock: the wait goes on while the caller reads, when nobody is there to stop a timer of ours.
  const signal = AbortSignal.any([options.signal, AbortSignal.timeout(options.timeoutMs)]);
  try {
    const { bytes, size } = await client.resource(file, signal);
    if (size !== undefined && size > capBytes) {
      bytes.destroy();
      throw tooLarge(capBytes);
    }
    return {
      bytes: capped(bytes, capBytes, options.signal),
      ...(media.mime !== undefined && { mime: media.mime }),
      ...(size !== undefined && { size }),
    };
  } catch (error) {
    throw toDownloadError(error, capBytes, options.signal);
  }
}

async function* capped(body: Readable, capBytes: number, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  let total = 0;
  try {
    for await (const chunk of body as AsyncIterable<Uint8Array>) {
      total += chunk.byteLength;
      // Leaving the loop destroys the stream, which closes the connection.
      if (total > capBytes) throw tooLarge(capBytes);
      yield chunk;
    }
  } catch (error) {
    throw toDownloadError(error, capBytes, signal);
  }
}

function toDownloadError(error: unknown, capBytes: number, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason;
  if (error instanceof GatehouseError) return error;
  if (error instanceof CallError) {
    if (error.failure.kind === 'api' && error.failure.code === TOO_LARGE) return tooLarge(capBytes);
    return new GatehouseError('GH1505', error.message);
  }
  // The original is not kept as the cause: it may spell out headers, and those hold the token.
  return new GatehouseError('GH1505', 'the download broke off or took too long');
}

function tooLarge(capBytes: number): GatehouseError {
  return new GatehouseError('GH1504', `the file is larger than ${Math.floor(capBytes / (1024 * 1024))} MB`);
}
