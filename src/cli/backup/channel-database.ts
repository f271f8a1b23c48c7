import { rm, stat } from 'node:fs/promises';
import { copyDatabase, damageOf, isOfTarget } from '../../journal/backup.ts';
import { NoCopy, ofTarget } from './no-copy.ts';

/**
 * Copies a database that a channel writes to meanwhile, and checks the copy. Resolves with its size. Rejects
 * with `NoCopy` where the original is no sound database or cannot be read, and leaves nothing then; with the
 * error of SQLite or the system where the copy cannot be written.
 */
export async function copyChannelDatabase(source: string, target: string): Promise<number> {
  try {
    await ofTarget(() => copyDatabase(source, target));
    const damage = damageOf(target);
    if (damage !== '') throw new NoCopy(`is damaged: ${damage}`);
    return (await stat(target)).size;
  } catch (error) {
    for (const suffix of ['', '-journal', '-wal', '-shm']) await rm(`${target}${suffix}`, { force: true });
    if (error instanceof NoCopy || isOfTarget(error)) throw error;
    throw new NoCopy(error instanceof Error ? error.message : String(error));
  }
}
