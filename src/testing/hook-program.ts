import { chmod, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import type { Spawner } from '../core/process.ts';
import { systemClock } from '../lib/clock.ts';
import { runGroup } from '../sandbox/process-group.ts';

/** A program of `/bin/sh` in the directory; its path. */
export async function shellProgram(dir: string, name: string, script: string): Promise<string> {
  const path = join(dir, name);
  await writeFile(path, `#!/bin/sh\n${script}\n`);
  await chmod(path, 0o755);
  return path;
}

/** Runs programs as children of this process, in no sandbox. */
export const directSpawner: Pick<Spawner, 'run'> = {
  run: ({ argv, cwd, env, stdin, limits }, signal) =>
    runGroup(
      { argv, cwd, env, isGuardian: false },
      {
        ...{ clock: systemClock, timeoutMs: limits.timeoutMs, outputBytes: limits.outputBytes, onStart: async () => undefined },
        ...(stdin === undefined ? {} : { stdin: Buffer.from(stdin) }),
      },
      signal,
    ),
};
