import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import type { Clock } from '../core/ports.ts';

const LOOK_EVERY_MS = 100;
/** Ten seconds. Between messages that follow each other nothing runs for a moment, which is no rest. */
const LOOKS_AT_REST = 100;
/** A daemon that has no such rest in its first five minutes uses what it holds. */
const LOOKS = 3_000;

export interface ReleaseMemoryOptions {
  readonly clock: Pick<Clock, 'sleep'>;
  /** Whether no turn runs and none waits. */
  readonly isAtRest: () => boolean;
  /** Ends the wait. */
  readonly signal: AbortSignal;
  /** V8's collector. */
  readonly collect?: NonNullable<typeof globalThis.gc>;
}

/**
 * Gives the memory that only the start needed back to the system, once: about 15 of 112 MB. The whole process
 * stands still for 0.1 to 0.2 s meanwhile, and compiles anew what it had compiled, so it waits until no one
 * has written for a while. Call it when the daemon is ready. Resolves when it is done or given up; never
 * rejects.
 */
export async function releaseMemory(options: ReleaseMemoryOptions): Promise<void> {
  const { clock, isAtRest, signal, collect = exposedCollector() } = options;
  let atRest = 0;
  for (let look = 0; look < LOOKS; look += 1) {
    try {
      await clock.sleep(LOOK_EVERY_MS, signal);
    } catch {
      return;
    }
    atRest = isAtRest() ? atRest + 1 : 0;
    if (atRest === LOOKS_AT_REST) {
      // Of all flavors only this one shrinks the young generation, which is most of it.
      collect({ type: 'major', execution: 'sync', flavor: 'last-resort' });
      return;
    }
  }
}

/**
 * As `--expose-gc` on the command line gives it, which would make each start 50 ms slower: V8 takes the code
 * of Node's own modules from its cache only under the flags that it was made with.
 */
function exposedCollector(): NonNullable<typeof globalThis.gc> {
  setFlagsFromString('--expose-gc');
  try {
    return runInNewContext('gc') as NonNullable<typeof globalThis.gc>;
  } finally {
    setFlagsFromString('--no-expose-gc');
  }
}
