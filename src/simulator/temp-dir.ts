import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

/**
 * A directory that is gone when the test is: `await using dir = await tempDir()`. A daemon within this
 * process that was not ended in order may still write the file it was at while the directory is removed; so
 * the removal is tried again.
 */
export async function tempDir(parent = tmpdir()): Promise<{ path: string } & AsyncDisposable> {
  const path = await mkdtemp(join(parent, 'gatehouse-'));
  return { path, [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true, maxRetries: 10 }) };
}
