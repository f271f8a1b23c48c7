/** Which key belongs to the server of the config's `transcription` section. */
import { GatehouseError } from '../../core/errors.ts';
import { isLoopback } from '../catalog/price.ts';
import { PROVIDERS } from '../providers/index.ts';
import { type KeyNeed, keyVariables } from '../providers/key.ts';
import { openaiCompatible } from '../providers/table.ts';

export interface SpeechServer extends KeyNeed {
  /** It is on this machine: free, and with or without a key. */
  readonly own: boolean;
}

/**
 * At a provider's own address its stored login or usual variable is meant; any other server gets the key that
 * the config names for it and no other. Throws GH1101 for a remote address without TLS.
 */
export function speechServerOf(section: { readonly base_url: string; readonly api_key_env?: string | undefined }): SpeechServer {
  const { base_url, api_key_env } = section;
  const own = isLoopback(base_url);
  const { origin, protocol } = new URL(base_url);
  if (!own && protocol !== 'https:') {
    throw new GatehouseError(
      'GH1101',
      'transcription.base_url must be https: recordings and the key would be readable on the way',
      { hint: 'use an https:// address, or a server on this machine' },
    );
  }
  const provider = PROVIDERS.find(({ baseUrl }) => baseUrl !== undefined && new URL(baseUrl).origin === origin);
  const named = api_key_env === undefined ? [] : [api_key_env];
  return {
    provider: provider ?? openaiCompatible,
    keyEnvs: provider ? keyVariables(provider, api_key_env) : named,
    keyRequired: !own && (provider !== undefined || api_key_env !== undefined),
    keyForAddress: provider === undefined,
    foreignAddress: provider === undefined,
    own,
  };
}
