import type { MediaFile } from '../../src/core/channel.ts';
import { GatehouseError } from '../../src/core/errors.ts';
import type { MediaRef } from '../../src/core/message.ts';
import { CallError, type TelegramClient } from './client.ts';

export interface DownloadOptions {
  readonly client: Pick<TelegramClient, 'getFile' | 'fetchFile'>;
  readonly capBytes: number;
  /** For the whole file, from the first call to the last byte. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/**
 * Opens a file at the platform. Rejects with GH1504 when it is too large and GH1505 when it cannot be had; reading the bytes
 * may reject with the same. The size the platform states is not believed: the cap is enforced on the bytes.
 */
export async function download(media: MediaRef, options: DownloadOptions): Promise<MediaFile> {
  const { client, capBytes } = options;
  if (media.size !== undefined && media.size > capBytes) throw tooLarge(capBytes);
  // Not the injected clock: the wait goes on while the caller reads, when nobody is there to stop a timer of ours.
  const signal = AbortSignal.any([options.signal, AbortSignal.timeout(options.timeoutMs)]);
  try {
    const { file_path: path, file_size: size } = await client.getFile(media.ref, signal);
    if (size !== undefined && size > capBytes) throw tooLarge(capBytes);
    if (path === undefined) throw new GatehouseError('GH1505', 'the platform offers no download for this file');
    const response = await client.fetchFile(path, signal);
    if (!response.ok || !response.body) {
      await response.body?.cancel();
      throw new GatehouseError('GH1505', `the platform answered ${response.status} to the download`);
    }
    const stated = size ?? media.size;
    return {
      bytes: capped(response.body, capBytes, options.signal),
      ...(media.mime !== undefined && { mime: media.mime }),
      ...(stated !== undefined && { size: stated }),
    };
  } catch (error) {
    throw toDownloadError(error, capBytes, options.signal);
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
    throw toDownloadError(error, capBytes, signal);
  }
}

function toDownloadError(error: unknown, capBytes: number, signal: AbortSignal): unknown {
  if (signal.aborted) return signal.reason;
  if (error instanceof GatehouseError) return error;
  if (error instanceof CallError) {
    // The platform refuses what bots may not download before it names a path.
    if (error.failure.kind === 'api' && error.failure.description.includes('too big')) return tooLarge(capBytes);
    return new GatehouseError('GH1505', error.message);
  }
  // The original is not kept as the cause: it may spell out the URL, and the URL holds the token.
  return new GatehouseError('GH1505', 'the download broke off or took too long');
}

function tooLarge(capBytes: number): GatehouseError {
  return new GatehouseError('GH1504', `the file is larger than ${Math.floor(capBytes / (1024 * 1024))} MB`);
}
