import type { MediaFile } from '../../src/core/channel.ts';
import { GatehouseError } from '../../src/core/errors.ts';
import type { MediaRef } from '../../src/core/message.ts';
import type { DiscordClient } from './client.ts';
import { CallError } from './failure.ts';
import { findFile, parseRef } from './inbound-content.ts';
import { num, obj, str } from './wire.ts';

export interface DownloadOptions {
  readonly client: Pick<DiscordClient, 'call' | 'fetchFile'>;
  /** The only places files are fetched from. */
  readonly origins: readonly string[];
  readonly capBytes: number;
  /** For the whole file, from the first call to the last byte. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/**
 * Opens a file that came with a message. The message is asked for again, since addresses of files run out after a day. Rejects
 * with GH1504 when the file is too large and GH1505 when it cannot be had; reading the bytes may reject with the same.
 */
export async function download(media: MediaRef, options: DownloadOptions): Promise<MediaFile> {
  const { client, capBytes } = options;
  if (media.size !== undefined && media.size > capBytes) throw tooLarge(capBytes);
  const ref = parseRef(media.ref);
  if (!ref) throw new GatehouseError('GH1505', 'the reference names no file of Discord');
  // Not the injected clock: the wait goes on while the caller reads, when nobody is there to stop a timer of ours.
  const signal = AbortSignal.any([options.signal, AbortSignal.timeout(options.timeoutMs)]);
  try {
    const message = obj(await client.call('GET', `/channels/${ref.channelId}/messages/${ref.messageId}`, { signal }));
    const file = findFile(message, ref.fileId);
    if (!file) throw new GatehouseError('GH1505', 'the file is no longer part of its message');
    const size = num(file['size']);
    if (size !== undefined && size > capBytes) throw tooLarge(capBytes);
    const response = await client.fetchFile(allowed(str(file['url']), options.origins), signal);
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
    throw toDownloadError(error, options.signal);
  }
}

/** The address comes from the platform, and yet nothing but its file servers is asked (reliability.md A8, A18). */
function allowed(address: string | undefined, origins: readonly string[]): string {
  const url = address === undefined ? null : URL.parse(address);
  const known = url !== null && origins.some((origin) => URL.parse(origin)?.origin === url.origin);
  if (!known || url.username !== '' || url.password !== '') {
    throw new GatehouseError('GH1505', 'the file is not on a file server of Discord');
  }
  return url.href;
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
  // The original is not kept as the cause: it may spell out the address, whose signature is what protects the file.
  return new GatehouseError('GH1505', 'the download broke off or took too long');
}

function tooLarge(capBytes: number): GatehouseError {
  return new GatehouseError('GH1504', `the file is larger than ${Math.floor(capBytes / (1024 * 1024))} MB`);
}
