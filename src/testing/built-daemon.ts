/** Runs once before the tests (`globalSetup` of vitest.config.ts): their daemons run from the kept bundle. */
import { keptBundle } from '../../scripts/bundle/kept.ts';

/** Names the directory in the environment of the workers. */
export async function setup(): Promise<void> {
  const directory = await builtDaemon();
  if (directory !== undefined) process.env['GATEHOUSE_BUILT'] = directory;
}

/** The directory with the programs put together, one file for each entry; undefined where that fails. */
export async function builtDaemon(): Promise<string | undefined> {
  try {
    return await keptBundle();
  } catch (error) {
    process.stderr.write(`the program was not put together, daemons run from their sources: ${String(error)}\n`);
    return undefined;
  }
}
