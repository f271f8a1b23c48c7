/** What the suites of the journal share. */

import type { Journal } from '../core/journal.ts';
import type { Admission } from '../core/run.ts';
import type { FakeClock } from './fakes.ts';
import { LANE } from './journal-rows.ts';

export interface JournalHarness extends AsyncDisposable {
  readonly clock: FakeClock;
  /** Another start on the same data, with a new boot id. Earlier ones may be left idle, as if killed. */
  open(options?: { highWater?: number }): Promise<Journal>;
  /** Housekeeping of the last start, as the daemon does it hourly. */
  prune(): Promise<void>;
}

export const BOUNDS = { maxAttempts: 3, maxAgeMs: 86_400_000 };

export async function kinds(journal: Journal, batch: readonly Admission[]): Promise<readonly string[]> {
  return (await journal.accept(batch)).map(({ kind }) => kind);
}

export async function texts(journal: Journal, lane = LANE): Promise<readonly string[]> {
  return (await journal.waiting(lane, 100)).map((row) => row.message?.text ?? '');
}

export async function pendingKeys(journal: Journal, lane = LANE): Promise<readonly string[]> {
  return (await journal.pending(lane, 100)).map((row) => row.part.key);
}

export type CreateJournal = () => Promise<JournalHarness>;
