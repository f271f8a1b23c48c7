import { setTimeout as sleep } from 'node:timers/promises';
import type { MediaFile } from '../../src/core/channel.ts';
import { GatehouseError } from '../../src/core/errors.ts';
import type { MediaRef } from '../../src/core/message.ts';
import type { TwilioClient } from './client.ts';

export interface DownloadOptions {
  readonly client: Pick<TwilioClient, 'mediaRequest'>;
  /** May the bytes come from there? */
  readonly isAllowed: (url: URL) => boolean;
  readonly capBytes: number;
  /** For the whole file, from the first request to the last byte. */
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** `<message SID>/<media SID>`, as inbound.ts writes it: nothing else becomes part of an address. */
const REF = /^((?:SM|MM)[0-9a-f]{32})\/(ME[0-9a-f]{32})$/i;
/** The API redirects once, to the store. */
const MAX_REDIRECTS = 3;
/** A file may not be in the store yet when the webhook comes. */
const NOT_YET_MS = [500, 2_000];

/**
 * Opens a file at the platform. Rejects with GH1504 when it is too large and GH1505 when it cannot be had; reading the bytes
 * may reject with the same. Credentials go to the API alone (attack A8), redirects only to the hosts of the platform (A18).
 */
export async function download(media: MediaRef, options: DownloadOptions): Promise<MediaFile> {
  const { capBytes } = options;
  if (media.size !== undefined && media.size > capBytes) throw tooLarge(capBytes);
  // Not the injected clock: the wait goes on while the caller reads, when nobody is there to stop a timer of ours.
  const signal = AbortSignal.any([options.signal, AbortSignal.timeout(options.timeoutMs)]);
  try {
    const [, messageSid = '', mediaSid = ''] = REF.exec(media.ref) ?? [];
    if (messageSid === '') throw new GatehouseError('GH1505', 'this is no file of Twilio');
    const response = await open(messageSid, mediaSid, options, signal);
    const { body, headers } = response;
    const stated = Number(headers.get('content-length') ?? Number.NaN);
    if (stated > capBytes) {
      await body?.cancel();
      throw tooLarge(capBytes);
    }
    if (!body) throw new GatehouseError('GH1505', 'the platform sent no file');
    const mime = media.mime ?? headers.get('content-type') ?? undefined;
    return {
      bytes: capped(body, capBytes, options.signal),
      ...(mime !== undefined && { mime }),
      ...(stated >= 0 && { size: stated }),
    };
  } catch (error) {
    throw toDownloadError(error, options.signal);
  }
}

async function open(
  messageSid: string,
  mediaSid: string,
  { client, isAllowed }: DownloadOptions,
  signal: AbortSignal,
): Promise<Response> {
  for (let attempt = 0; ; attempt += 1) {
    const { url, authorization } = client.mediaRequest(messageSid, mediaSid);
    const response = await follow(url, authorization, isAllowed, signal);
    if (response.ok) return response;
    await response.body?.cancel();
    const waitMs = NOT_YET_MS[attempt];
    if (response.status !== 404 || waitMs === undefined) {
      throw new GatehouseError('GH1505', `the platform answered ${response.status} to the download`);
    }
    await sleep(waitMs, undefined, { signal });
  }
}

async function follow(
  first: URL,
  authorization: string,
  isAllowed: (url: URL) => boolean,
  signal: AbortSignal,
): Promise<Response> {
  let url = first;
  for (let hops = 0; hops <= MAX_REDIRECTS; hops += 1) {
    const headers = { connection: 'close', ...(url.origin === first.origin && { authorization }) };
    const response = await fetch(url, { signal, redirect: 'manual', headers });
    const target = response.status >= 300 && response.status < 400 ? response.headers.get('location') : null;
    if (target === null) return response;
    await response.body?.cancel();
    if (!URL.canParse(target, url.href)) throw new GatehouseError('GH1505', 'the platform redirected to no address');
    url = new URL(target, url);
    if (url.username !== '' || (url.origin !== first.origin && !isAllowed(url))) {
      throw new GatehouseError('GH1505', `the platform redirected to ${url.host}, which is not one of its hosts`);
    }
  }
  throw new GatehouseError('GH1505', 'the platform redirected too often');
}

/** The API itself, Twilio's content network, and the store behind it. Nothing that an operator's own network could answer for. */
const HOSTS = [
  /(?:^|\.)twilio\.com$/,
  /(?:^|\.)twiliocdn\.com$/,
  /^(?:[a-z0-9.-]+\.)?s3(?:[.-][a-z0-9-]+){0,3}\.amazonaws\.com$/,
];

/** `more`: exact host names, from the settings. Those may be plain HTTP. */
export function isPlatformHost({ protocol, hostname, port }: URL, more: readonly string[]): boolean {
  if (more.includes(hostname)) return protocol === 'https:' || protocol === 'http:';
  return protocol === 'https:' && (port === '' || port === '443') && HOSTS.some((host) => host.test(hostname));
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
  // The address of the store is a key to the file: it is not passed on.
  return new GatehouseError('GH1505', 'the download broke off or took too long');
}

function tooLarge(capBytes: number): GatehouseError {
  return new GatehouseError('GH1504', `the file is larger than ${Math.floor(capBytes / (1024 * 1024))} MB`);
}
