import { readdirSync, readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { markedWith } from './kernel-process.ts';

/** CPU time of all threads, of ten times. ms */
async function cpuOf(task: () => unknown): Promise<number> {
  const before = process.cpuUsage();
  for (let nth = 0; nth < 10; nth += 1) await task();
  const { user, system } = process.cpuUsage(before);
  return (user + system) / 1_000;
}

function readAll(): number {
  let bytes = 0;
  for (const name of readdirSync('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    try {
      bytes += readFileSync(`/proc/${name}/environ`, 'latin1').length;
    } catch {
      // It is gone, or of another user.
    }
  }
  return bytes;
}

test.runIf(process.platform === 'linux')('a look for a mark costs little more than reading what it has to read', async () => {
  let [looks, reads] = [Number.POSITIVE_INFINITY, Number.POSITIVE_INFINITY];
  // In turns, and the least of each: what the machine does beside it falls on both.
  for (let round = 0; round < 7; round += 1) {
    reads = Math.min(reads, await cpuOf(readAll));
    looks = Math.min(looks, await cpuOf(() => markedWith('no such mark')));
  }
  expect(looks).toBeLessThan(2 * reads);
});
