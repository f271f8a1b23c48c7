/**
 * Runs once before the tests (`globalSetup` of vitest.config.ts): their files lie in memory where that has
 * room, and are removed with their directory behind the last test. Every journal syncs each message, and no
 * test is about the disk below: those of failing and full disks bring file systems of their own, and a
 * killed process leaves the same files in memory as on a disk. A third of the suite's system time were syncs.
 */
import { chmodSync, mkdtempSync, rmSync, statfsSync } from 'node:fs';
import { join } from 'node:path';

const MEMORY = '/dev/shm';
const LEAST_BYTES = 2 * 1024 ** 3;

/** Names the directory in the environment of the workers; returns what removes it. */
export function setup(): (() => void) | undefined {
  const dir = memoryDir();
  if (dir === undefined) return undefined;
  process.env['TMPDIR'] = dir;
  return () => rmSync(dir, { recursive: true, force: true, maxRetries: 3 });
}

function memoryDir(): string | undefined {
  try {
    const { bavail, bsize } = statfsSync(MEMORY);
    if (bavail * bsize < LEAST_BYTES) return undefined;
    const dir = mkdtempSync(join(MEMORY, 'gatehouse-tests-'));
    // Mail servers that tests start have users of their own, who pass through.
    chmodSync(dir, 0o711);
    return dir;
  } catch {
    return undefined; // not every system has it: the files lie where the system wants them
  }
}
