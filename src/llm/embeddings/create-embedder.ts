import type { Embedder } from '../../core/media-models.ts';
import { createLocalEmbedder } from './local-embedder.ts';
import { createRemoteEmbedder, type RemoteEmbedderOptions, type RemoteProvider } from './remote-embedder.ts';

export interface EmbedderOptions extends Omit<RemoteEmbedderOptions, 'provider'> {
  readonly provider: RemoteProvider | 'local';
  /** `<data dir>/packages`, for the local one. */
  readonly packagesDir: string;
}

/**
 * The embedder of the config's `embedding` section. Connects nothing and loads nothing before the first call.
 * Its later user is memory; until then only `models test` calls it.
 */
export function createEmbedder({ provider, packagesDir, ...options }: EmbedderOptions): Embedder {
  return provider === 'local' ? createLocalEmbedder({ packagesDir }) : createRemoteEmbedder({ ...options, provider });
}
