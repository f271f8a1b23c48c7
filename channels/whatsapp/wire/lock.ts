import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Clock } from '../../../src/core/ports.ts';
import { lockFile } from '../../../src/lib/file-lock.ts';
import { NO_LONGER_NEEDED } from '../../../src/lib/no-longer-needed.ts';

/** A predecessor that is just ending may hold it for a moment. */
const WAIT_MS = 2_000;

/**
 * The login of one instance, for this process alone: two that go on with the same keys would make each
 * other's messages unreadable. Undefined when another holds it. Rejects with `signal.reason`, or when the
 * directory cannot be written.
 */
export async function lockLogin(dir: string, options: { clock: Clock; signal: AbortSignal }): Promise<Disposable | undefined> {
  const { clock, signal } = options;
  await mkdir(dir, { recursive: true, mode: 0o700 });
  const late = new AbortController();
  const done = new AbortController();
  const timer = clock.sleep(WAIT_MS, done.signal).then(
    () => late.abort(new Error('another holds the lock')),
    () => undefined, // it ended early because the lock was taken
  );
  try {
    return await lockFile(join(dir, 'login.lock'), { clock, signal: AbortSignal.any([signal, late.signal]) });
  } catch (error) {
    if (late.signal.aborted && !signal.aborted) return undefined;
    throw error;
  } finally {
    done.abort(NO_LONGER_NEEDED);
    await timer;
  }
}
