import { existsSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import type { Clock } from '../core/ports.ts';
import { descendantsOf } from './kernel-process.ts';

const LOOK_EVERY_MS = 500;

/**
 * Resolves with true once a process and all that descends from it hold more than `maxBytes` together, what
 * they share counted once, and with false when `over` aborts. The kernel bounds each process by itself; this
 * is the sum, looked at twice a second. A process whose parent has ended descends from the init of its
 * namespace: a sandbox has one of its own below `pid`, and without a sandbox that process is not counted.
 * Without a `/proc` nothing is ever held.
 */
export async function outgrows(
  pid: number,
  maxBytes: number,
  { clock, over }: { readonly clock: Pick<Clock, 'sleep'>; readonly over: AbortSignal },
): Promise<boolean> {
  while (!over.aborted) {
    // Its reason is no failure: there is nothing left to look at.
    await clock.sleep(LOOK_EVERY_MS, over).catch(() => undefined);
    // What cannot be looked at now may be at the next look.
    if (!over.aborted && (await holdsMore(pid, maxBytes).catch(() => false))) return !over.aborted;
  }
  return false;
}

async function holdsMore(pid: number, maxBytes: number): Promise<boolean> {
  const ids = await treeOf(pid);
  // Shares are dear to read, and are never more than this.
  return (await sumOf(ids, residentOf)) > maxBytes && (await sumOf(ids, shareOf)) > maxBytes;
}

/** As `descendantsOf`, which reads all processes of the machine: too dear for a look twice a second. */
async function treeOf(pid: number): Promise<readonly number[]> {
  if (!existsSync('/proc/thread-self/children')) return [pid, ...(await descendantsOf(pid))];
  const found = new Set([pid]);
  // A set is walked to what was added meanwhile.
  for (const next of found) for (const child of await childrenOf(next)) found.add(child);
  return [...found];
}

/** Each thread has its own. */
async function childrenOf(pid: number): Promise<readonly number[]> {
  const threads = await readdir(`/proc/${pid}/task`).catch(() => []);
  const read = threads.map((thread) => readFile(`/proc/${pid}/task/${thread}/children`, 'utf8').catch(() => ''));
  return (await Promise.all(read)).flatMap((text) => text.split(' ').filter(Boolean).map(Number));
}

async function sumOf(ids: readonly number[], bytesOf: (pid: number) => Promise<number>): Promise<number> {
  return (await Promise.all(ids.map(bytesOf))).reduce((sum, bytes) => sum + bytes, 0);
}

/** What it has in memory, shared or not. Of a process that is gone, 0. */
async function residentOf(pid: number): Promise<number> {
  const text = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
  return Number(/^VmRSS:\s+(\d+) kB$/m.exec(text)?.[1] ?? 0) * 1024;
}

/** Its proportional share (PSS); where the program forbids to look, all that it has in memory. */
async function shareOf(pid: number): Promise<number> {
  const text = await readFile(`/proc/${pid}/smaps_rollup`, 'utf8').catch(() => '');
  const share = /^Pss:\s+(\d+) kB$/m.exec(text)?.[1];
  return share === undefined ? await residentOf(pid) : Number(share) * 1024;
}
