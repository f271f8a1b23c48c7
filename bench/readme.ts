import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type Figure, toTable } from './figure.ts';

/** Rewrites bench/README.md with the figures of this run. */
export async function writeReadme(run: { readonly machine: string; readonly figures: readonly Figure[] }): Promise<void> {
  await writeFile(join(import.meta.dirname, 'README.md'), `${run.machine}\n\n${toTable(run.figures)}\n`);
}
