import { setImmediate as nextTask } from 'node:timers/promises';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/**
 * What collects all garbage of this process when it is called. The flag is taken back at once. Under other
 * flags than its own, compiled code that was kept is of no use, and all test files that this process goes on
 * with would be compiled anew.
 */
export function garbageCollector(): () => void {
  setFlagsFromString('--expose-gc');
  const collect: () => void = runInNewContext('gc');
  setFlagsFromString('--no-expose-gc');
  return collect;
}

/**
 * Collects all garbage of this process until `isEnough`, at most three times: the last objects may still
 * stand on the stack.
 */
export async function collectGarbage(isEnough: () => boolean): Promise<void> {
  const collect = garbageCollector();
  for (let round = 0; round < 3; round += 1) {
    // A reference that was looked at holds until its task is over.
    await nextTask();
    collect();
    if (isEnough()) return;
  }
}
