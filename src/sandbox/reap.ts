import type { Clock } from '../core/ports.ts';
import type { ProcessRow } from '../core/process.ts';
import { descendantsOf, signalTo, startOf } from './kernel-process.ts';

/** For one that was killed to leave the system. ms. */
const GONE_MS = 1_000;
const LOOK_EVERY_MS = 10;

/**
 * Ends the process of a row with its group and all that descends from it, if it still runs. Where the id
 * belongs to another process by now, or counts in another container, nothing is done. Says whether it ran.
 */
export async function reapProcess({ pgid, started }: Pick<ProcessRow, 'pgid' | 'started'>, clock: Clock): Promise<boolean> {
  if ((await startOf(pgid)) !== started) return false;
  // The first one last: killed before, it would hand its children to another parent.
  const below = await descendantsOf(pgid);
  for (const pid of below) signalTo(pid, 'SIGKILL');
  signalTo(-pgid, 'SIGKILL');
  for (let waited = 0; waited < GONE_MS; waited += LOOK_EVERY_MS) {
    const starts = await Promise.all([pgid, ...below].map(startOf));
    if (starts.every((start) => start === undefined)) break;
    await clock.sleep(LOOK_EVERY_MS);
  }
  return true;
}
