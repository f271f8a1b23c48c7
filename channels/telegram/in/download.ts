import type { MediaFile } from '../../../src/core/channel.ts';
import { GatehouseError } from '../../../src/core/errors.ts';
import type { MediaRef } from '../../../src/core/message.ts';
import { apiFailureOf } from '../../kit/call-error.ts';
import { type DownloadLimits, fileBody, openDownload, tooLarge } from '../../kit/download.ts';
import type { TelegramClient } from '../wire/client.ts';

export interface DownloadOptions extends DownloadLimits {
  readonly client: Pick<TelegramClient, 'getFile' | 'fetchFile'>;
}

/** See `openDownload`. */
export async function download(media: MediaRef, { client, ...limits }: DownloadOptions): Promise<MediaFile> {
  const { capBytes } = limits;
  return await openDownload(media, limits, {
    open: async (signal) => {
      const { file_path: path, file_size: size } = await client.getFile(media.ref, signal);
      if ((size ?? 0) > capBytes) throw tooLarge(capBytes);
      if (path === undefined) throw new GatehouseError('GH1505', 'the platform offers no download for this file');
      return { body: await fileBody(await client.fetchFile(path, signal)), size };
    },
    // The platform refuses what bots may not download before it names a path.
    explain: (error) => (apiFailureOf(error)?.detail.includes('too big') ? tooLarge(capBytes) : undefined),
  });
}
