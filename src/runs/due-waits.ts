import type { Commits } from '../core/commit.ts';
import { type Dated, lateResult, type StoredWait, type Waits } from '../core/wait.ts';
import type { RunQuestions } from '../operator/run-questions.ts';

/** Waits that one commit settles. */
const BATCH = 100;

/**
 * Waits whose date has come settle with what they were given for that, and people are reminded of questions
 * that are open. One timer serves all of them.
 */
export function dueWaits(
  journal: Commits & { readonly waits: Waits },
  questions: Pick<RunQuestions, 'remind'>,
): Dated & { replan(): Promise<void> } {
  return {
    earliest: () => journal.waits.earliest(),
    async replan() {
      if ((await journal.waits.earliest()) !== undefined) await journal.commit([{ kind: 'set-back' }]);
    },
    async fire(now) {
      for (;;) {
        const due = await journal.waits.due(now, BATCH);
        if (due.length === 0) return;
        const [reminders, others] = [due.filter(isReminder), due.filter((wait) => !isReminder(wait))];
        if (others.length > 0) {
          await journal.commit(
            others.map((wait) => ({ kind: 'settle', settled: { wait: wait.id, value: lateResult(wait), by: 'due' } }) as const),
          );
        }
        for (const timer of reminders) await remind(timer);
      }
    },
  };

  /** In one commit with the end of its timer, so that a person is reminded once. */
  async function remind({ id: timer, about: question = '' }: StoredWait): Promise<void> {
    const wait = await journal.waits.find(question);
    const ready = wait?.isOpen ? questions.remind(wait) : undefined;
    await journal.commit([{ kind: 'remind', timer, question, parts: ready?.parts ?? [] }]);
    ready?.onDisk();
  }
}

/** See `reminderId`. */
function isReminder({ kind, run }: StoredWait): boolean {
  return kind === 'timer' && run === 0;
}
