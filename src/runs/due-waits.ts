import type { Commits } from '../core/commit.ts';
import { type Dated, lateResult, type Waits } from '../core/wait.ts';

/** Waits that one commit settles. */
const BATCH = 100;

/** Waits whose date has come settle with what they were given for that. One timer serves all of them. */
export function dueWaits(journal: Commits & { readonly waits: Waits }): Dated & { replan(): Promise<void> } {
  return {
    earliest: () => journal.waits.earliest(),
    async replan() {
      if ((await journal.waits.earliest()) !== undefined) await journal.commit([{ kind: 'set-back' }]);
    },
    async fire(now) {
      for (;;) {
        const due = await journal.waits.due(now, BATCH);
        if (due.length === 0) return;
        await journal.commit(
          due.map((wait) => ({ kind: 'settle', settled: { wait: wait.id, value: lateResult(wait), by: 'due' } }) as const),
        );
      }
    },
  };
}
