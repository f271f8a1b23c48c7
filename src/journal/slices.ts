import { setTimeout as sleep } from 'node:timers/promises';
import type { CommitQueue } from './commit-queue.ts';

/** The longest that a transaction of housekeeping keeps others waiting, without its sync. */
const SLICE_MS = 3;
const PAUSE_MS = 10;

/**
 * Calls `some` in short transactions until it returns false: each ends when its time is up, and then
 * everything else has at least twice as long to itself. `some` must do little at a time and go on where it
 * stopped. Rejects like any write.
 */
export async function inSlices(queue: CommitQueue, some: () => boolean): Promise<void> {
  for (;;) {
    const startedAt = performance.now();
    const more = await queue.write(() => untilLate(some));
    if (!more) return;
    // Real time on purpose: what is measured is this machine, and tests with a clock of their own need not
    // move it.
    await sleep(Math.max(PAUSE_MS, 2 * (performance.now() - startedAt)));
  }
}

function untilLate(some: () => boolean): boolean {
  const end = performance.now() + SLICE_MS;
  while (some()) if (performance.now() >= end) return true;
  return false;
}
