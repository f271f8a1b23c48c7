import type { ModelRequest } from '../../core/model.ts';
import { type Assembly, callWire, type WarmableModel, type WireOptions } from './wire.ts';

/** What one wire does in its own way. */
export interface WireParts<Client> {
  /** Loads the SDK and makes its client. Called once, at the first call or by `warm`. */
  readonly connect: () => Promise<Client>;
  readonly assembly: (answer: { readonly provider: string; readonly model: string; readonly inputTokens: number }) => Assembly;
  /** Sends the request; resolves with the chunks of the answer. */
  readonly open: (client: Client, request: ModelRequest, signal: AbortSignal) => Promise<AsyncIterable<unknown>>;
}

/** A model over one wire. Connects nothing and loads nothing until the first call or `warm`. Retries nothing: see `withRetry`. */
export function createWireModel<Client>(options: WireOptions, parts: WireParts<Client>): WarmableModel {
  const { provider, model, contextWindow, facts } = options;
  let loading: Promise<Client> | undefined;
  const client = (): Promise<Client> => {
    loading ??= parts.connect();
    return loading;
  };
  return {
    id: `${provider}/${model}`,
    contextWindow,
    ...(facts ? { facts } : {}),
    call: (request, signal) =>
      callWire(options, request, signal, {
        assembly: (inputTokens) => parts.assembly({ provider, model, inputTokens }),
        open: async (until) => await parts.open(await client(), request, until),
      }),
    async warm() {
      await client();
    },
  };
}
