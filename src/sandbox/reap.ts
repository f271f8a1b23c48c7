import type { Clock } from '../core/ports.ts';
import type { ProcessRow } from '../core/process.ts';
import { cleanUpBy } from './clean-up.ts';
import { removal } from './docker.ts';
import { descendantsOf, markedWith, signalTo, startOf } from './kernel-process.ts';
import { PROGRAM_PATH } from './probe.ts';

/** Where it is the first process, the program runs in a container, which outlives it. */
export const CLIENT = 'docker';
/** For one that was killed to leave the system. ms. */
const GONE_MS = 1_000;
const LOOK_EVERY_MS = 10;

/**
 * Ends the process of a row with its group, all that descends from it, and all that carries its mark. Where
 * the id belongs to another process by now, or counts in another container, that one is left alone. Says
 * whether anything ran.
 *
 * The mark finds what has lost its parent: a sandbox whose guardian was killed while it was being made goes
 * on by itself, since bubblewrap binds its child to the guardian only once all is set up.
 */
export async function reapProcess(
  { id, pgid, started, program }: Pick<ProcessRow, 'id' | 'pgid' | 'started' | 'program'>,
  clock: Clock,
  /** Where the client of containers is looked for. */
  path = PROGRAM_PATH,
): Promise<boolean> {
  if (program === CLIENT) await cleanUpBy(removal(id), { PATH: path }).catch(() => undefined); // no engine, no container
  const isThere = (await startOf(pgid)) === started;
  // The first one last: killed before, it would hand its children to another parent.
  const below = isThere ? await descendantsOf(pgid) : [];
  const all = [...new Set([...below, ...markedWith(id)])];
  if (!isThere && all.length === 0) return false;
  for (const pid of all) signalTo(pid, 'SIGKILL');
  if (isThere) signalTo(-pgid, 'SIGKILL');
  for (let waited = 0; waited < GONE_MS; waited += LOOK_EVERY_MS) {
    const starts = await Promise.all((isThere ? [pgid, ...all] : all).map(startOf));
    if (starts.every((start) => start === undefined)) break;
    await clock.sleep(LOOK_EVERY_MS);
  }
  // What was started between the look and the end of its parent.
  for (const pid of markedWith(id)) signalTo(pid, 'SIGKILL');
  return true;
}
