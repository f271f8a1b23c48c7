import { SQL as journal } from './1-journal.ts';
import { SQL as cost } from './2-cost.ts';
import { SQL as corrections } from './3-corrections.ts';
import { SQL as usageSums } from './4-usage-sums.ts';
import { SQL as runs } from './5-runs.ts';
import { SQL as people } from './6-people.ts';
import { SQL as settled } from './7-settled.ts';
import { SQL as parked } from './8-parked.ts';

/**
 * Each entry takes the schema from the version before it to the next; entry 0 makes version 1. Released
 * entries are never edited: files out there were made with them. All times are epoch ms except
 * `dedup.accepted_at` (see `aging.ts`).
 */
export const MIGRATIONS: readonly string[] = [journal, cost, corrections, usageSums, runs, people, settled, parked];
