import { open } from 'node:fs/promises';
import { availableParallelism, cpus, type as systemType, totalmem } from 'node:os';
import { join } from 'node:path';
import { median } from './statistics.ts';
import { makeWorkDir } from './subjects.ts';

const SYNCS = 50;

/** One line: what the figures depend on. */
export async function describeMachine(): Promise<string> {
  const processor = cpus()[0]?.model.trim() ?? 'unknown processor';
  const memory = `${Math.round(totalmem() / 2 ** 30)} GiB`;
  const sync = `${(await measureSync()).toFixed(2)} ms per file sync`;
  return `${availableParallelism()} processors (${processor}), ${memory}, ${systemType()}, Node ${process.version}, ${sync}`;
}

/** Median of one append of 4 KiB that reaches the disk: each commit of the journal costs at least that. */
async function measureSync(): Promise<number> {
  await using work = await makeWorkDir();
  await using file = await open(join(work.path, 'sync'), 'a');
  const block = Buffer.alloc(4_096, 1);
  const samples: number[] = [];
  for (let round = 0; round < SYNCS; round += 1) {
    const startedAt = performance.now();
    await file.write(block);
    await file.datasync();
    samples.push(performance.now() - startedAt);
  }
  return median(samples);
}
