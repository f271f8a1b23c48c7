import { flushCompileCache } from 'node:module';
import { getHeapStatistics, setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { errorText } from '../core/errors.ts';
import type { Clock, Logger } from '../core/ports.ts';

const LOOK_EVERY_MS = 100;
/** Ten seconds. Between messages that follow each other nothing runs for a moment, which is no rest. */
const LOOKS_AT_REST = 100;
/** A daemon that has no such rest in its first five minutes uses what the start has left. */
const LOOKS_AFTER_START = 3_000;
const WEIGH_EVERY_MS = 5_000;
/** What a burst has left is worth a collection from here on, as against what the last one left. */
const GROWN_BY = 1.5;
const GROWN_BY_BYTES = 32 * 1024 * 1024;

export interface ReleaseMemoryOptions {
  readonly clock: Pick<Clock, 'sleep'>;
  readonly logger: Pick<Logger, 'warn'>;
  /** Whether no turn runs and none waits. */
  readonly isAtRest: () => boolean;
  /** Ends it. */
  readonly signal: AbortSignal;
  /** V8's collector. */
  readonly collect?: NonNullable<typeof globalThis.gc>;
  /** How much of the system's memory V8's heap holds, used or not. bytes. */
  readonly held?: () => number;
}

/**
 * Gives memory back to the system when no one has written for ten seconds: once what only the start needed,
 * about 15 of 112 MB, and then what each burst leaves, about 60 of 210 MB. V8 mostly does the latter by
 * itself, but not where it takes the rate of the burst for that of the rest ("high alloc" under
 * `--trace-memory-reducer`). The whole process stands still for 0.1 to 0.2 s, and compiles anew what it had
 * compiled. Call it when the daemon is ready. Resolves when `signal` is aborted; never rejects.
 */
export async function releaseMemory(options: ReleaseMemoryOptions): Promise<void> {
  const { clock, logger, signal, held = heapHeld } = options;
  let left = held();
  let collect = options.collect;
  const release = (): void => {
    collect ??= exposedCollector();
    // Of all flavors only this one shrinks the young generation, which is most of it.
    collect({ type: 'major', execution: 'sync', flavor: 'last-resort' });
    left = held();
  };
  const hasGrown = (): boolean => held() >= Math.max(left * GROWN_BY, left + GROWN_BY_BYTES);
  try {
    if (await isRestSeen(options, LOOKS_AFTER_START)) release();
    while (!signal.aborted) {
      await clock.sleep(WEIGH_EVERY_MS, signal);
      // Asked twice: meanwhile V8 may have done it.
      if (hasGrown() && (await isRestSeen(options, Number.POSITIVE_INFINITY)) && hasGrown()) release();
    }
  } catch (error) {
    if (!signal.aborted) logger.warn('memory.not-released', { detail: errorText(error) });
  }
}

/** Waits for ten seconds without a turn; false when there were none in so many looks. */
async function isRestSeen({ clock, isAtRest, signal }: ReleaseMemoryOptions, looks: number): Promise<boolean> {
  let atRest = 0;
  for (let look = 0; look < looks && atRest < LOOKS_AT_REST; look += 1) {
    await clock.sleep(LOOK_EVERY_MS, signal);
    atRest = isAtRest() ? atRest + 1 : 0;
  }
  return atRest === LOOKS_AT_REST;
}

function heapHeld(): number {
  return getHeapStatistics().total_heap_size;
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

/** Versions of V8 of which it was measured, and which know the flag. */
const MEASURED_V8 = /^13\./;

/**
 * What compiling a hot function has taken is freed as soon as it is done, and not by a task of its own, to
 * which a busy machine comes late: 213 instead of 256 MB under load. Call it when the daemon is ready, since
 * code that Node has cached is of no use under other flags than those it was cached with.
 */
export function freeCompilersAtOnce(): void {
  if (!MEASURED_V8.test(process.versions.v8)) return;
  flushCompileCache();
  setFlagsFromString('--no-maglev-destroy-on-background');
}
