/** Files that people sent. The token goes to the platform's own hosts only, at every step of a redirect. */
import type { IncomingMessage } from 'node:http';
import type { MediaFile } from '../../src/core/channel.ts';
import { GatehouseError } from '../../src/core/errors.ts';
import type { MediaRef } from '../../src/core/message.ts';
import { CallError, type SlackClient } from './client.ts';
import { num, obj, str } from './json.ts';

export interface DownloadOptions {
  readonly client: Pick<SlackClient, 'call' | 'fetchFile' | 'apiHost'>;
  readonly capBytes: number;
  /** For the whole file, from the first call to the last byte. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

const MAX_REDIRECTS = 3;

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
    const file = obj((await client.call('files.info', { file: media.ref }, signal))['file']);
    const size = num(file['size']);
    if (size !== undefined && size > capBytes) throw tooLarge(capBytes);
    const address = str(file['url_private_download']) ?? str(file['url_private']);
    if (address === undefined) throw new GatehouseError('GH1505', 'the platform offers no download for this file');
    const response = await open(address, client, signal);
    const mime = media.mime ?? str(file['mimetype']);
    if (isLoginPage(response, mime)) {
      response.destroy();
      throw new GatehouseError('GH1505', 'the platform sent its login page instead of the file', {
        hint: 'give the app the scope files:read and install it again',
      });
    }
    const stated = size ?? media.size;
    return {
      bytes: capped(response, capBytes, options.signal),
      ...(mime !== undefined && mime !== '' && { mime }),
      ...(stated !== undefined && { size: stated }),
    };
  } catch (error) {
    throw toDownloadError(error, options.signal);
  }
}

async function open(address: string, client: DownloadOptions['client'], signal: AbortSignal): Promise<IncomingMessage> {
  let url = toUrl(address);
  for (let hop = 0; hop <= MAX_REDIRECTS; hop += 1) {
    if (!mayHaveToken(url, client.apiHost))
      throw new GatehouseError('GH1505', `the file is at ${url.host}, which is not the platform`);
    const response = await client.fetchFile(url, signal);
    const status = response.statusCode ?? 0;
    if (status === 200) return response;
    const { location } = response.headers;
    response.destroy();
    if (status < 300 || status > 399 || location === undefined) {
      throw new GatehouseError('GH1505', `the platform answered ${status} to the download`);
    }
    url = toUrl(location, url);
  }
  throw new GatehouseError('GH1505', 'the download was redirected too often');
}

function toUrl(address: string, base?: URL): URL {
  const url = URL.parse(address, base?.href);
  if (!url) throw new GatehouseError('GH1505', 'the platform named no usable address for the file');
  return url;
}

/** Encrypted, to a host of the platform; or to the very host that was configured, which has the token already. */
function mayHaveToken(url: URL, apiHost: string): boolean {
  if (url.username !== '' || url.password !== '') return false;
  if (url.host === apiHost) return true;
  return url.protocol === 'https:' && url.port === '' && /^(?:[a-z0-9-]+\.)*slack(?:-files)?\.com$/.test(url.hostname);
}

/** Without the scope files:read the answer is 200 and a page to log in. */
function isLoginPage(response: IncomingMessage, mime: string | undefined): boolean {
  return (response.headers['content-type'] ?? '').startsWith('text/html') && mime !== undefined && !mime.includes('html');
}

async function* capped(body: IncomingMessage, capBytes: number, signal: AbortSignal): AsyncGenerator<Uint8Array> {
  let total = 0;
  try {
    for await (const chunk of body as AsyncIterable<Buffer>) {
      total += chunk.byteLength;
      // Leaving the loop closes the connection.
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
  return new GatehouseError('GH1505', 'the download broke off or took too long');
}

function tooLarge(capBytes: number): GatehouseError {
  return new GatehouseError('GH1504', `the file is larger than ${Math.floor(capBytes / (1024 * 1024))} MB`);
}
