import { existsSync } from 'node:fs';
import { join } from 'node:path';
import { errorText } from '../core/errors.ts';
import type { Clock, Logger } from '../core/ports.ts';
import { openJournal } from '../journal/open.ts';
import type { Budget } from '../llm/money/budget.ts';

/**
 * Counts in the budget what is in the ledger of another data directory, if there is one: daemon and `chat`
 * spend the same money. Read at the start only; what the other spends meanwhile counts with the next start.
 * One that cannot be read is told of, and delays no start.
 */
export async function includeLedger(
  budget: Budget,
  dir: string,
  { clock, logger }: { clock: Clock; logger: Logger },
): Promise<void> {
  if (!existsSync(join(dir, 'journal.db'))) return;
  try {
    await using opened = await openJournal({ dir, clock, checks: false });
    await budget.include(opened.journal);
  } catch (error) {
    logger.warn('usage.unreadable', { dir, detail: `${errorText(error)}; what was spent there is not counted` });
  }
}
