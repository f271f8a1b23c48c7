/** Files that people sent. The token goes to the platform's own hosts only, at every step of a redirect. */
import type { IncomingMessage } from 'node:http';
import type { MediaFile } from '../../../src/core/channel.ts';
import { GatehouseError } from '../../../src/core/errors.ts';
import type { MediaRef } from '../../../src/core/message.ts';
import { type DownloadLimits, fileUrl, followRedirects, type Hop, openDownload, tooLarge } from '../../kit/download.ts';
import { num, obj, str } from '../../kit/json.ts';
import type { SlackClient } from '../wire/client.ts';
import { typeServed } from './inbound-content.ts';

export interface DownloadOptions extends DownloadLimits {
  readonly client: Pick<SlackClient, 'call' | 'fetchFile' | 'apiHost'>;
}

/** See `openDownload`. */
export async function download(media: MediaRef, { client, ...limits }: DownloadOptions): Promise<MediaFile> {
  return await openDownload(media, limits, {
    open: async (signal) => {
      const file = obj((await client.call('files.info', { file: media.ref }, signal))['file']);
      const size = num(file['size']);
      if ((size ?? 0) > limits.capBytes) throw tooLarge(limits.capBytes);
      const address = str(file['url_private_download']) ?? str(file['url_private']);
      if (address === undefined) throw new GatehouseError('GH1505', 'the platform offers no download for this file');
      const body = await open(address, client, signal);
      const mime = typeServed(media.mime ?? str(file['mimetype']));
      if (isLoginPage(body, mime)) {
        body.destroy();
        throw new GatehouseError('GH1505', 'the platform sent its login page instead of the file', {
          hint: 'give the app the scope files:read and install it again',
        });
      }
      return { body, mime, size };
    },
  });
}

async function open(address: string, client: DownloadOptions['client'], signal: AbortSignal): Promise<IncomingMessage> {
  const isAllowed = (url: URL): boolean => mayHaveToken(url, client.apiHost);
  const request = async (url: URL): Promise<Hop<IncomingMessage>> => {
    const answer = await client.fetchFile(url, signal);
    const { statusCode: status = 0, headers } = answer;
    return { status, location: headers.location, answer, discard: () => void answer.destroy() };
  };
  const { status, answer } = await followRedirects(fileUrl(address, isAllowed), { isAllowed, request });
  if (status === 200) return answer;
  answer.destroy();
  throw new GatehouseError('GH1505', `the platform answered ${status} to the download`);
}

/** True over TLS for a host of the platform, and for the configured host, which has the token already. */
function mayHaveToken(url: URL, apiHost: string): boolean {
  if (url.host === apiHost) return true;
  return url.protocol === 'https:' && url.port === '' && /^(?:[a-z0-9-]+\.)*slack(?:-files)?\.com$/.test(url.hostname);
}

/** Without the scope files:read the answer is 200 and a page to log in. */
function isLoginPage(response: IncomingMessage, mime: string | undefined): boolean {
  return (response.headers['content-type'] ?? '').startsWith('text/html') && mime !== undefined && !mime.includes('html');
}
