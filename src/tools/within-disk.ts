import { isGatehouseError } from '../core/errors.ts';
import type { Clock } from '../core/ports.ts';
import type { RunSpawner } from '../core/process.ts';
import { NO_LONGER_NEEDED } from '../lib/no-longer-needed.ts';
import { ToolFailure } from './define.ts';

/** How often the disk is looked at while a program runs: one call of the system. ms. */
const LOOK_EVERY_MS = 200;

/** As `DiskQuota` has them. */
export interface DiskWatch<Before> {
  before(workspace: string): Promise<Before>;
  overrun(workspace: string, before: Before): Promise<Error | undefined>;
  after(workspace: string, before: Before): Promise<void>;
}

/**
 * Programs that write what they like (`ToolProgram.writes`), in files that no tool claims room for: one that
 * goes beyond the limits of the disk is ended with all that it started, and the model is told. What it wrote
 * stays.
 */
export function withinDisk<Before>(spawner: RunSpawner, disk: DiskWatch<Before>, clock: Pick<Clock, 'sleep'>): RunSpawner {
  return {
    ...spawner,
    async run(program, signal) {
      if (!program.writes) return await spawner.run(program, signal);
      const before = await disk.before(program.cwd);
      const [full, over] = [new AbortController(), new AbortController()];
      const watch = async (): Promise<void> => {
        while (!over.signal.aborted && !full.signal.aborted) {
          await clock.sleep(LOOK_EVERY_MS, over.signal);
          // What cannot be looked at now may be at the next look.
          const reason = await disk.overrun(program.cwd, before).catch(() => undefined);
          if (reason) full.abort(reason);
        }
      };
      // It ends with the program, by the reason of its sleep.
      watch().catch(() => undefined);
      try {
        return await spawner.run(program, AbortSignal.any([signal, full.signal]));
      } catch (error) {
        if (error === full.signal.reason && isGatehouseError(error)) throw new ToolFailure(`${error.message} (${error.code})`);
        throw error;
      } finally {
        over.abort(NO_LONGER_NEEDED);
        await disk.after(program.cwd, before).catch(() => undefined);
      }
    },
  };
}
