/** What a process holds in memory, as the kernel counts it. Linux only. */
import { readFile } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';

const LOOK_MS = 200;

/** The most that it held between now and the signal, looked at every 200 ms, in MB of 1,048,576 bytes. */
export async function peakMb(pid: number, signal: AbortSignal): Promise<number> {
  let most = 0;
  while (!signal.aborted) {
    most = Math.max(most, await residentMb(pid));
    await sleep(LOOK_MS, undefined, { signal }).catch(() => undefined);
  }
  return most;
}

async function residentMb(pid: number): Promise<number> {
  const text = await readFile(`/proc/${pid}/status`, 'utf8');
  return Number(/VmRSS:\s+(\d+)/.exec(text)?.[1] ?? Number.NaN) / 1_024;
}
