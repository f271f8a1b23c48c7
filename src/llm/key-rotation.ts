import type { FailureKind, ModelFailure, Usage } from '../core/model.ts';
import type { Clock } from '../core/ports.ts';
import type { WarmableModel } from './protocols/wire.ts';
import type { FoundKey } from './providers/key.ts';

export interface KeyRotationOptions {
  readonly clock: Clock;
  /** A provider turned this key down; `next` takes its place. Told as a key begins to rest. Never throws. */
  readonly onResting: (key: FoundKey, failure: ModelFailure, next: FoundKey) => void;
}

/** Failures that a call with another key may not meet. */
const OF_THE_KEY: readonly FailureKind[] = ['auth', 'forbidden', 'payment', 'rate-limit'];
/** How long a key at its limit rests when the provider does not say. ms. */
const REST_MS = 30_000;
/** A refused key is tried again now and then: it may have been mended at the provider. ms. */
const REFUSED_REST_MS = 15 * 60_000;
/** ms, whatever the provider says: monthly limits may be raised, and no header ends a key for good. */
const LONGEST_REST_MS = 24 * 3_600_000;

interface Place {
  readonly key: FoundKey;
  readonly wire: WarmableModel;
  /** Monotonic ms. */
  restsUntil: number;
  failure?: ModelFailure;
}

/**
 * One model with several keys. A call goes on to the next key when one is refused or at its limit, and tries
 * each at most once; that key then rests, as long as the provider says. While all rest, the one that is ready
 * first is used, and a failure says when that is. The last outcome has the usage of all. At least one key.
 */
export function withKeyRotation(
  keys: readonly FoundKey[],
  create: (key: string) => WarmableModel,
  { clock, onResting }: KeyRotationOptions,
): WarmableModel {
  const places: readonly Place[] = keys.map((key) => ({ key, wire: create(key.value()), restsUntil: Number.NEGATIVE_INFINITY }));
  const [main] = places;
  if (!main) throw new RangeError('at least one key is needed');
  const rest = ({ restsUntil }: Place): number => Math.max(0, restsUntil - clock.monotonic());
  /** Ready ones in the order of the config, then the others in the order in which they will be. */
  const inOrder = (): Place[] => [...places].sort((a, b) => rest(a) - rest(b));
  const final = (failure: ModelFailure): ModelFailure => {
    const [soonest] = inOrder();
    // A key that is ready was not asked, because something had been shown: the next try uses it at once.
    if (soonest && rest(soonest) === 0 && failure.kind === 'rate-limit') return { ...failure, retryAfterMs: 0 };
    if (soonest?.failure?.kind !== 'rate-limit') return failure;
    return { ...soonest.failure, retryAfterMs: rest(soonest) };
  };
  return {
    ...main.wire,
    async *call(request, signal) {
      const untried = new Set(inOrder());
      let spent: Usage | undefined;
      let [next] = untried;
      while (next) {
        const place: Place = next;
        next = undefined;
        untried.delete(place);
        let streamed = false;
        for await (const event of place.wire.call(request, signal)) {
          if (event.type === 'done') {
            const usage = sumOf(event.answer.usage, spent);
            return yield { ...event, answer: { ...event.answer, usage } };
          }
          if (event.type !== 'failed') {
            streamed ||= event.type === 'text' || event.type === 'reasoning';
            yield event;
            continue;
          }
          const { usage, ...failure } = event.failure;
          if (usage) spent = sumOf(usage, spent);
          const all = spent && { usage: spent };
          if (signal.aborted || !OF_THE_KEY.includes(failure.kind)) return yield { ...event, failure: { ...failure, ...all } };
          place.failure = failure;
          place.restsUntil = clock.monotonic() + restOf(failure);
          // One that rests itself would be asked in vain, and what was shown cannot be told again from here.
          next = streamed ? undefined : [...untried].find((other) => rest(other) === 0);
          if (!next) return yield { type: 'failed', failure: { ...final(failure), ...all } };
          onResting(place.key, failure, next.key);
        }
      }
    },
    warm: () => main.wire.warm(),
  };
}

const COUNTS = ['tokensIn', 'tokensOut', 'tokensCached', 'tokensCacheWrite', 'tokensReasoning', 'costUsd'] as const;

/** Both together; a cost that only one of them has is not known. */
function sumOf(one: Usage, other?: Usage): Usage {
  if (!other) return one;
  const sums = COUNTS.map((name) => [name, (one[name] ?? 0) + (other[name] ?? 0)]);
  const isTold = typeof one.costUsd === 'number' && typeof other.costUsd === 'number';
  return { ...one, ...Object.fromEntries(sums), ...(isTold ? {} : { costUsd: null }) };
}

function restOf({ kind, retryAfterMs }: ModelFailure): number {
  return Math.min(retryAfterMs ?? (kind === 'rate-limit' ? REST_MS : REFUSED_REST_MS), LONGEST_REST_MS);
}
