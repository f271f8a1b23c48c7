import { errorText, isGatehouseError } from '../core/errors.ts';
import { abortedFailure, createFailure } from './failure.ts';
import type { WarmableModel } from './protocols/wire.ts';

/** The key to send now, if any. Rejects with GH2202 where only a new login helps, else with GH2203. */
export type CurrentKey = (signal: AbortSignal) => Promise<string | undefined>;

/**
 * A wire whose key is a login that is renewed while it runs (spec L1). Each call asks for the key; another
 * one makes a new wire. `first` is the key at the start.
 */
export function withRenewedKey(
  first: string | undefined,
  current: CurrentKey,
  create: (key: string | undefined) => WarmableModel,
): WarmableModel {
  let key = first;
  let wire = create(first);
  return {
    ...wire,
    async *call(request, signal) {
      try {
        const now = await current(signal);
        if (now !== key) [wire, key] = [create(now), now];
      } catch (error) {
        if (signal.aborted) return yield { type: 'failed', failure: abortedFailure() };
        const known = isGatehouseError(error) ? error : undefined;
        const kind = known?.code === 'GH2203' ? 'network' : 'auth';
        const hint = known?.hint ? { hint: known.hint } : {};
        return yield { type: 'failed', failure: createFailure(kind, { message: errorText(error), ...hint }) };
      }
      yield* wire.call(request, signal);
    },
    warm: () => wire.warm(),
  };
}
