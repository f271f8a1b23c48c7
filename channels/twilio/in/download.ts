import { setTimeout as sleep } from 'node:timers/promises';
import type { MediaFile } from '../../../src/core/channel.ts';
import { GatehouseError } from '../../../src/core/errors.ts';
import type { MediaRef } from '../../../src/core/message.ts';
import { type DownloadLimits, fileBody, followRedirects, type Hop, openDownload, statedLength } from '../../kit/download.ts';
import type { TwilioClient } from '../wire/client.ts';

export interface DownloadOptions extends DownloadLimits {
  readonly client: Pick<TwilioClient, 'mediaRequest'>;
  /** May the bytes come from there? */
  readonly isAllowed: (url: URL) => boolean;
}

/** `<message SID>/<media SID>`, as inbound.ts writes it: nothing else becomes part of an address. */
const REF = /^((?:SM|MM)[0-9a-f]{32})\/(ME[0-9a-f]{32})$/i;
/** A file may not be in the store yet when the webhook comes. */
const NOT_YET_MS = [500, 2_000];

/** As `openDownload`. Credentials go only to the API (attack A8), redirects only to the platform (A18). */
export async function download(media: MediaRef, { client, isAllowed, ...limits }: DownloadOptions): Promise<MediaFile> {
  const [, messageSid = '', mediaSid = ''] = REF.exec(media.ref) ?? [];
  if (messageSid === '') throw new GatehouseError('GH1505', 'this is no file of Twilio');
  return await openDownload(media, limits, {
    open: async (signal) => {
      const response = await open(client.mediaRequest(messageSid, mediaSid), isAllowed, signal);
      const mime = response.headers.get('content-type') ?? undefined;
      return { body: await fileBody(response), mime, size: statedLength(response) };
    },
  });
}

async function open(
  { url: first, authorization }: ReturnType<TwilioClient['mediaRequest']>,
  isAllowed: DownloadOptions['isAllowed'],
  signal: AbortSignal,
): Promise<Response> {
  const request = async (url: URL): Promise<Hop<Response>> => {
    const headers = { connection: 'close', ...(url.origin === first.origin && { authorization }) };
    const answer = await fetch(url, { signal, redirect: 'manual', headers });
    const { status } = answer;
    return { status, location: answer.headers.get('location'), answer, discard: async () => void (await answer.body?.cancel()) };
  };
  const options = { request, isAllowed: (url: URL) => url.origin === first.origin || isAllowed(url) };
  for (let attempt = 0; ; attempt += 1) {
    const { status, answer, discard } = await followRedirects(first, options);
    const waitMs = NOT_YET_MS[attempt];
    if (status !== 404 || waitMs === undefined) return answer;
    await discard();
    await sleep(waitMs, undefined, { signal });
  }
}

/**
 * The API, Twilio's content network and the store behind it: nothing in an operator's own network can answer
 * for these.
 */
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
