/** A data directory on a disk of 3 MB, and what fills it. */
import { closeSync, openSync, rmSync, writeSync } from 'node:fs';
import { join } from 'node:path';
import type { ChildDaemon } from './child-daemon.ts';

const TMPFS = 'mount -t tmpfs -o size=3m tmpfs "$1" && shift && exec "$@"';

/** Runs a daemon in a mount namespace of its own; the pid stays that of the first program. */
export function onSmallDisk(dataDir: string): readonly string[] {
  return ['unshare', '-rm', 'sh', '-c', TMPFS, 'sh', dataDir];
}

/** Its data directory, as it is seen from outside of its namespace. */
export function seenFromOutside(daemon: ChildDaemon): string {
  return join(`/proc/${daemon.process.pid}/root`, daemon.dataDir);
}

/** Takes every page of the daemon's disk. Returns what gives them back. */
export function fillDisk(daemon: ChildDaemon): () => void {
  const filler = join(seenFromOutside(daemon), 'filler');
  const file = openSync(filler, 'w');
  try {
    for (let size = 65_536; size >= 1; size /= 16) {
      try {
        for (;;) writeSync(file, Buffer.alloc(size));
      } catch (error) {
        if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error;
      }
    }
  } finally {
    closeSync(file);
  }
  return () => rmSync(filler);
}
