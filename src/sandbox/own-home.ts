import { mkdtemp, realpath, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { Confined, SandboxMode } from './confine.ts';

/**
 * Does the work with a directory that is HOME and the place for temporary files of a program of a tool that
 * was given no HOME. It is empty and private, so that no file of a workspace configures the program, and is
 * removed after the work. Where the sandbox has such a place in memory, there is none.
 */
export async function withOwnHome<T>(
  { sandbox, env }: Pick<Confined, 'sandbox' | 'env'>,
  mode: SandboxMode,
  work: (own: Pick<Confined, 'ownHome'>) => Promise<T>,
): Promise<T> {
  if (sandbox !== 'tool' || env['HOME'] !== undefined || mode === 'bwrap' || mode === 'docker') return await work({});
  // As it really is: the sandbox of macOS compares whole paths.
  const ownHome = await realpath(await mkdtemp(join(tmpdir(), 'gatehouse-home-')));
  try {
    return await work({ ownHome });
  } finally {
    // What a program closed to its own user stays in the system's directory for such files.
    await rm(ownHome, { recursive: true, force: true }).catch(() => undefined);
  }
}
