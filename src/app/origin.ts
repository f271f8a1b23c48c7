/** On whose behalf code runs: the way back to it for a failure that no caller sees. */
import { AsyncLocalStorage } from 'node:async_hooks';

export type Origin =
  /** `fail` ends this life of the channel, which is then replaced; of a life that is over it does nothing. */
  | { readonly kind: 'channel'; readonly name: string; readonly fail: (error: unknown) => void }
  | { readonly kind: 'run'; readonly id: string };

const current = new AsyncLocalStorage<Origin | undefined>();

/** Runs `work`; it, its timers, sockets and promises have this origin. */
export function onBehalfOf<T>(origin: Origin, work: () => T): T {
  return current.run(origin, work);
}

/** Runs `work` on behalf of no channel or run: what one channel or run starts and all of them use. */
export function onOwnBehalf<T>(work: () => T): T {
  return current.run(undefined, work);
}

/**
 * Undefined: on behalf of no channel or run. Holds in the handlers of `unhandledRejection` and
 * `uncaughtException`, too.
 */
export function originNow(): Origin | undefined {
  return current.getStore();
}
