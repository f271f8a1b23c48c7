/** Files that people sent: only from hosts of the platform, in limited time, no more bytes than wanted. */
import { Readable } from 'node:stream';
import type { ChannelLimits, MediaFile } from '../../src/core/channel.ts';
import { GatehouseError } from '../../src/core/errors.ts';
import type { MediaRef } from '../../src/core/message.ts';
import { linkedSignal } from '../../src/lib/linked-signal.ts';
import { CallError } from './call-error.ts';
import { DeadlineError } from './deadline.ts';

/** Bytes. */
export const MEGABYTE = 1024 * 1024;

export interface DownloadLimits {
  readonly capBytes: number;
  /** For the whole file, from the first call to the last byte. */
  readonly timeoutMs: number;
  /** The caller's. */
  readonly signal: AbortSignal;
  /** The channel's own end. */
  readonly stop?: AbortSignal;
}

/** What a channel's limits and settings say of one download. `stop` is the channel's own end. */
export function downloadLimits(
  { downloadBytes }: Pick<ChannelLimits, 'downloadBytes'>,
  settings: { readonly download_timeout_secs: number },
  signal: AbortSignal,
  stop: AbortSignal,
): DownloadLimits {
  return { capBytes: downloadBytes, timeoutMs: settings.download_timeout_secs * 1_000, signal, stop };
}

/** A file as the platform hands it over. */
export interface OpenedFile {
  /** Left unread, it is closed by `cancel` or `destroy`, whichever it has. */
  readonly body: AsyncIterable<Uint8Array>;
  /** What the platform says, where a message did not. */
  readonly mime?: string | undefined;
  /** Bytes, as the platform says; the message's own word counts where it says nothing. */
  readonly size?: number | undefined;
}

export interface DownloadSteps {
  /** Asks the platform. The signal ends with the caller, with the channel, and with the time limit. */
  readonly open: (signal: AbortSignal) => Promise<OpenedFile>;
  /**
   * What a failure of `open` or of reading means: a sentence becomes GH1505. Undefined: a `CallError` says it
   * itself, anything else "broke off or took too long". Other errors are never passed on: their words may
   * spell out an address, which is often a key to the file, or headers with a token.
   */
  readonly explain?: (error: unknown) => GatehouseError | string | undefined;
}

/**
 * Opens a file at the platform. Rejects with GH1504 when it is too large, with GH1505 when it cannot be had,
 * or with the reason of a signal that aborted; reading the bytes may reject with the same. The cap is
 * enforced on the bytes, since a stated size may be wrong.
 */
export async function openDownload(media: MediaRef, limits: DownloadLimits, steps: DownloadSteps): Promise<MediaFile> {
  const { capBytes, timeoutMs, signal, stop } = limits;
  if ((media.size ?? 0) > capBytes) throw tooLarge(capBytes);
  const life = linkedSignal(signal, ...(stop ? [stop] : []));
  // This is not the injected clock: the wait goes on while the caller reads, when no code here could stop a
  // timer of it.
  const timer = setTimeout(() => {
    life.abort(new DeadlineError(timeoutMs));
    life[Symbol.dispose]();
  }, timeoutMs).unref();
  const end = (): void => {
    clearTimeout(timer);
    life[Symbol.dispose]();
  };
  const failure = (error: unknown): unknown => {
    const { aborted, reason } = life.signal;
    if (aborted && !(reason instanceof DeadlineError)) return reason;
    if (error instanceof GatehouseError) return error;
    const words = error instanceof CallError ? error.message : 'the download broke off or took too long';
    const meaning = steps.explain?.(error) ?? words;
    return typeof meaning === 'string' ? new GatehouseError('GH1505', meaning) : meaning;
  };
  try {
    life.signal.throwIfAborted();
    const file = await steps.open(life.signal);
    if ((file.size ?? 0) > capBytes) {
      await discard(file.body);
      throw tooLarge(capBytes);
    }
    const mime = media.mime ?? file.mime;
    const size = file.size ?? media.size;
    return {
      bytes: capped(file.body, { capBytes, failure, end }),
      ...(mime !== undefined && mime !== '' && { mime }),
      ...(size !== undefined && { size }),
    };
  } catch (error) {
    end();
    throw failure(error);
  }
}

/** Refuses a file above the cap; for use within `explain` too. */
export function tooLarge(capBytes: number): GatehouseError {
  return new GatehouseError('GH1504', `the file is larger than ${Math.floor(capBytes / MEGABYTE)} MB`);
}

/** The body of a response that holds a file. Any other response is GH1505, and its body is closed. */
export async function fileBody(response: Response): Promise<ReadableStream<Uint8Array>> {
  if (response.ok && response.body) return response.body;
  await response.body?.cancel();
  throw new GatehouseError('GH1505', `the platform answered ${response.status} to the download`);
}

/** Undefined unless the header is a whole number. */
export function statedLength(response: Response): number | undefined {
  const stated = Number(response.headers.get('content-length') ?? Number.NaN);
  return Number.isSafeInteger(stated) ? stated : undefined;
}

/**
 * The address of a file, absolute or relative to `base`. Throws GH1505 unless `isAllowed` accepts it. The
 * address comes from outside, and nothing but the platform may be asked for it, least of all a host of the
 * operator's own network (attacks A8 and A18).
 */
export function fileUrl(address: string | undefined, isAllowed: (url: URL) => boolean, base?: URL): URL {
  const url = address === undefined ? null : URL.parse(address, base?.href);
  if (!url) throw new GatehouseError('GH1505', 'the platform named no usable address for the file');
  if (url.username !== '' || url.password !== '' || !isAllowed(url)) {
    throw new GatehouseError('GH1505', `the file is at ${url.host || 'an address without a host'}, which is not the platform`);
  }
  return url;
}

/** What a redirect is followed by: `node:http` and `fetch` alike. */
export interface Hop<Answer> {
  readonly status: number;
  readonly location: string | null | undefined;
  readonly answer: Answer;
  /** Closes an answer that is not wanted. */
  readonly discard: () => Promise<void> | void;
}

const MAX_REDIRECTS = 3;

/**
 * Follows redirects one by one, since each address has to be allowed before it is asked. Resolves with the
 * first answer that is no redirect. Rejects with GH1505 for an address that is not allowed and for too many
 * redirects. The caller checks `first`.
 */
export async function followRedirects<Answer>(
  first: URL,
  options: { readonly isAllowed: (url: URL) => boolean; readonly request: (url: URL) => Promise<Hop<Answer>> },
): Promise<Hop<Answer>> {
  let url = first;
  for (let hops = 0; hops <= MAX_REDIRECTS; hops += 1) {
    const hop = await options.request(url);
    const { status, location } = hop;
    if (status < 300 || status > 399 || location === null || location === undefined) return hop;
    await hop.discard();
    url = fileUrl(location, options.isAllowed, url);
  }
  throw new GatehouseError('GH1505', 'the download was redirected too often');
}

async function discard(body: OpenedFile['body']): Promise<void> {
  if (body instanceof Readable) body.destroy();
  else if (body instanceof ReadableStream) await body.cancel();
}

async function* capped(
  body: AsyncIterable<Uint8Array>,
  options: { readonly capBytes: number; readonly failure: (error: unknown) => unknown; readonly end: () => void },
): AsyncGenerator<Uint8Array> {
  let total = 0;
  try {
    for await (const chunk of body) {
      total += chunk.byteLength;
      // Leaving the loop closes the body, and with it the connection.
      if (total > options.capBytes) throw tooLarge(options.capBytes);
      yield chunk;
    }
  } catch (error) {
    throw options.failure(error);
  } finally {
    options.end();
  }
}
