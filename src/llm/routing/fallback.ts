import type { Model } from '../../core/model.ts';
import type { Clock } from '../../core/ports.ts';
import { wrapperFacts } from './chain.ts';
import { isModelFault } from './failover.ts';
import { attemptOn, type Walk, walkFrom } from './failover-walk.ts';
import type { ProviderRouter } from './provider-router.ts';
import { SlotState } from './slot.ts';

/**
 * The model that `name` stands for, then those compatible with it (spec B6). When all fail the call ends with the failure of the
 * first. A model that failed is not offered as a fallback for a while. Throws as `ProviderRouter.resolve` does.
 */
export function createFallback(router: ProviderRouter, name: string, options: { readonly clock: Clock }): Model {
  const { clock } = options;
  const primary = router.resolve(name);
  const states = new Map(router.entries.map((entry) => [entry.key, new SlotState(entry, { clock })]));
  const first = states.get(primary.key) ?? new SlotState(primary, { clock });
  const keys = new Map([...states].map(([key, state]) => [state, key]));
  return {
    ...wrapperFacts([first]),
    ...(first.model.facts ? { facts: first.model.facts } : {}),
    call(request, signal) {
      const walk: Walk = {
        request,
        signal,
        clock,
        rest: () => router.fallbacksFor(primary.key).flatMap(({ key }) => states.get(key) ?? []),
        onFailed(slot, failure) {
          const key = keys.get(slot);
          if (key !== undefined && isModelFault(failure)) router.coolDown(key);
        },
      };
      return walkFrom((tried) => attemptOn(first, tried, walk), walk);
    },
  };
}
