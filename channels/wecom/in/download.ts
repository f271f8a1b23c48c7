import type { MediaFile } from '../../../src/core/channel.ts';
import type { MediaRef } from '../../../src/core/message.ts';
import { type DownloadLimits, fileBody, openDownload, statedLength } from '../../kit/download.ts';
import type { WecomClient } from '../wire/client.ts';

export interface DownloadOptions extends DownloadLimits {
  readonly client: Pick<WecomClient, 'fetchMedia'>;
}

/** See `openDownload`. The platform keeps a file for three days. */
export async function download(media: MediaRef, { client, ...limits }: DownloadOptions): Promise<MediaFile> {
  return await openDownload(media, limits, {
    open: async (signal) => {
      const response = await client.fetchMedia(media.ref, signal);
      const mime = response.headers.get('content-type')?.split(';', 1)[0]?.trim();
      return { body: await fileBody(response), mime, size: statedLength(response) };
    },
  });
}
