import type { MediaFile } from '../../../src/core/channel.ts';
import { GatehouseError } from '../../../src/core/errors.ts';
import type { MediaRef } from '../../../src/core/message.ts';
import { apiFailureOf } from '../../kit/call-error.ts';
import { type DownloadLimits, openDownload, tooLarge } from '../../kit/download.ts';
import type { FeishuClient } from '../wire/client.ts';
import { readRef } from './inbound-content.ts';

export interface DownloadOptions extends DownloadLimits {
  readonly client: Pick<FeishuClient, 'resource'>;
}

/** Resource of a message: larger than 100 MB. */
const TOO_LARGE = 234037;

/** See `openDownload`. */
export async function download(media: MediaRef, { client, ...limits }: DownloadOptions): Promise<MediaFile> {
  const file = readRef(media.ref);
  if (!file) throw new GatehouseError('GH1505', 'the reference names no file of this channel');
  return await openDownload(media, limits, {
    open: async (signal) => {
      const { bytes, size } = await client.resource(file, signal);
      return { body: bytes, size };
    },
    explain: (error) => (apiFailureOf(error)?.code === TOO_LARGE ? tooLarge(limits.capBytes) : undefined),
  });
}
