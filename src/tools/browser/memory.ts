import { readdir, readFile } from 'node:fs/promises';

const LOOK_EVERY_MS = 500;

/**
 * Calls `onExceeded` once, when this process and all that descends from it hold more than `maxBytes`, what
 * they share counted once. The kernel bounds each process by itself; this is the sum. Watches nothing without
 * a `/proc`.
 */
export function watchMemory(maxBytes: number, onExceeded: (bytes: number) => void): void {
  let isLooking = false;
  const timer = setInterval(async () => {
    if (isLooking) return;
    isLooking = true;
    if ((await heldBytes()) > maxBytes) {
      clearInterval(timer);
      onExceeded(maxBytes);
    }
    isLooking = false;
  }, LOOK_EVERY_MS);
  timer.unref();
}

async function heldBytes(): Promise<number> {
  const ids = (await readdir('/proc').catch(() => [])).filter((name) => /^\d+$/.test(name));
  const parents = new Map(await Promise.all(ids.map(async (id) => [id, await parentOf(id)] as const)));
  const isOurs = (id: string | undefined): boolean => {
    for (let at = id, steps = 0; at !== undefined && steps < 64; at = parents.get(at), steps += 1)
      if (at === String(process.pid)) return true;
    return false;
  };
  const held = await Promise.all(ids.filter(isOurs).map(shareOf));
  return held.reduce((sum, bytes) => sum + bytes, 0);
}

async function parentOf(id: string): Promise<string | undefined> {
  const text = await readFile(`/proc/${id}/stat`, 'utf8').catch(() => '');
  // The name of the program stands in brackets and may hold anything.
  return text.slice(text.lastIndexOf(')') + 2).split(' ')[1];
}

/** Its proportional share (PSS). Of a process that is gone, 0. */
async function shareOf(id: string): Promise<number> {
  const text = await readFile(`/proc/${id}/smaps_rollup`, 'utf8').catch(() => '');
  return Number(/^Pss:\s+(\d+) kB$/m.exec(text)?.[1] ?? 0) * 1024;
}
