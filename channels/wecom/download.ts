import type { MediaFile } from '../../src/core/channel.ts';
import { GatehouseError } from '../../src/core/errors.ts';
import type { MediaRef } from '../../src/core/message.ts';
import { CallError } from './call-error.ts';
import type { WecomClient } from './client.ts';

export interface DownloadOptions {
  readonly client: Pick<WecomClient, 'fetchMedia'>;
  readonly capBytes: number;
  /** For the whole file, from the first call to the last byte. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/**
 * Opens a file at the platform, which keeps it for three days. Rejects with GH1504 when it is too large and GH1505 when it cannot be had;
 * reading the bytes may reject with the same. The size the platform states is not believed: the cap is enforced on the bytes.
 */
export async function download(media: MediaRef, options: DownloadOptions): Promise<MediaFile> {
  const { client, capBytes } = options;
  if (media.size !== undefined && media.size > capBytes) throw tooLarge(capBytes);
  // Not the injected clock: the wait goes on while the caller reads, when nobody is there to stop a timer of ours.
  const signal = AbortSignal.any([options.signal, AbortSignal.timeout(options.timeoutMs)]);
  try {
    const response = await client.fetchMedia(media.ref, signal);
    const stated = Number(response.headers.get('content-length') ?? Number.NaN);
    if (!response.body || stated > capBytes) {
      await response.body?.cancel();
      throw stated > capBytes ? tooLarge(capBytes) : new GatehouseError('GH1505', 'the platform sent no file');
    }
    const mime = media.mime ?? response.headers.get('content-type')?.split(';', 1)[0]?.trim();
    return {
      bytes: capped(response.body, capBytes, options.signal),
      ...(mime && { mime }),
      ...(Number.isSafeInteger(stated) && { size: stated }),
    };
  } catch (error) {
    throw toDownloadError(error, options.signal);
  }
}

async function* capped(body: ReadableStream<Uint8Array>, capBytes: number, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  let total = 0;
  try {
    for await (const chunk of body) {
      total += chunk.byteLength;
      // Leaving the loop cancels the body, which closes the connection.
      if (total > capBytes) throw tooLarge(capBytes);
      yield chunk;
    }
  } catch (error) {
    throw toDownloadError(error, signal);
  }
}

function toDownloadError(error: unknown, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason;
  if (error instanceof GatehouseError) return error;
  if (error instanceof CallError) return new GatehouseError('GH1505', error.message);
  // The original is not kept as the cause: it may spell out the URL, and the URL holds the token.
  return new GatehouseError('GH1505', 'the download broke off or took too long');
}

function tooLarge(capBytes: number): GatehouseError {
  return new GatehouseError('GH1504', `the file is larger than ${Math.floor(capBytes / (1024 * 1024))} MB`);
}
