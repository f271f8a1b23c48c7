// figures -> which limits they miss
import type { ParkedFigures } from './measure.ts';

/** Than chats of a daemon in which nothing waits. */
const SLOWER = 1.2;
const MOST_BYTES = 2_048;

/**
 * Sentences; none = all hold. The heap is judged beside the resident size: what a process does not give back
 * after the rehearsal hides as much of what is held later.
 */
export function missedOf(figures: ParkedFigures): readonly string[] {
  const { held, timers, bytesEach, heapEach, resumeP50, quietP95, othersP95, askedP95 } = figures;
  const missed = [
    held > 0 && 'they hold turns or lanes',
    timers > 1 && 'they hold timers',
    bytesEach > MOST_BYTES && 'more than 2 kB each',
    heapEach > MOST_BYTES && 'more than 2 kB of the heap each',
    resumeP50 > 10 && 'more than 10 ms from the last settlement to the model request',
    othersP95 > SLOWER * quietP95 && 'others are answered more slowly',
    askedP95 > SLOWER * quietP95 && 'chats that wait for the owner are answered more slowly',
  ];
  return missed.filter((text) => text !== false);
}
