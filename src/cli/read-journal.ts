import { access } from 'node:fs/promises';
import { join } from 'node:path';
import { type CommandContext, dataDirOf } from './context.ts';
import type { OpenJournal } from './deps.ts';

/**
 * Runs `use` on the journal of the data directory, or of another one; undefined when there is none. A command that looks must not create a data
 * directory as a side effect, so the file is looked for before it is opened.
 */
export async function withJournal<T>(
  context: CommandContext,
  use: (open: OpenJournal) => Promise<T>,
  dir = dataDirOf(context),
): Promise<T | undefined> {
  if (!(await exists(join(dir, 'journal.db')))) return undefined;
  const open = await context.deps.openJournal({
    ...{ dir, clock: context.deps.clock },
    onUpgrade: ({ from, to, copy }) =>
      context.out.say(`bringing the journal from version ${from} to ${to}; as it was it stays in ${copy}`),
  });
  await using _journal = open.journal;
  return await use(open);
}

async function exists(path: string): Promise<boolean> {
  try {
    await access(path);
    return true;
  } catch {
    return false;
  }
}
