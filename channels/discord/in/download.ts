import type { MediaFile } from '../../../src/core/channel.ts';
import { GatehouseError } from '../../../src/core/errors.ts';
import type { MediaRef } from '../../../src/core/message.ts';
import { type DownloadLimits, fileBody, fileUrl, openDownload, tooLarge } from '../../kit/download.ts';
import { num, obj, str } from '../../kit/json.ts';
import type { DiscordClient } from '../wire/client.ts';
import { findFile, parseRef } from './inbound-content.ts';

export interface DownloadOptions extends DownloadLimits {
  readonly client: Pick<DiscordClient, 'call' | 'fetchFile'>;
  /** The only places files are fetched from. */
  readonly origins: readonly string[];
}

/** See `openDownload`. The message is asked for again, since addresses of files run out after a day. */
export async function download(media: MediaRef, { client, origins, ...limits }: DownloadOptions): Promise<MediaFile> {
  const ref = parseRef(media.ref);
  if (!ref) throw new GatehouseError('GH1505', 'the reference names no file of Discord');
  const allowed = new Set(origins.map((origin) => URL.parse(origin)?.origin));
  return await openDownload(media, limits, {
    open: async (signal) => {
      const message = obj(await client.call('GET', `/channels/${ref.channelId}/messages/${ref.messageId}`, { signal }));
      const file = findFile(message, ref.fileId);
      if (!file) throw new GatehouseError('GH1505', 'the file is no longer part of its message');
      const size = num(file['size']);
      if ((size ?? 0) > limits.capBytes) throw tooLarge(limits.capBytes);
      // Only the platform's file servers are asked, though the address comes from the platform (attacks A8,
      // A18).
      const url = fileUrl(str(file['url']), ({ origin }) => allowed.has(origin));
      return { body: await fileBody(await client.fetchFile(url.href, signal)), size };
    },
  });
}
