/** Runs that other runs began. */
import type { ChildFacts } from './new-run.ts';
import type { RunRow } from './run.ts';

/** Undefined = no run began it. */
export function childFactsOf(row: RunRow): ChildFacts | undefined {
  return row.message ? undefined : row.prompt.child;
}

/** Key of the run of a job that this one belongs to. Undefined = no job began it. */
export function jobOf(row: RunRow): string | undefined {
  return row.source.kind === 'job' ? row.key : childFactsOf(row)?.job;
}
