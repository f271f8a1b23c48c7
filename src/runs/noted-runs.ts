// which running runs have notes in the journal that they did not read yet
import type { RunRow } from '../core/run.ts';
import type { Runs } from '../core/runs.ts';
import type { StepRecord } from '../core/step.ts';
import { LATER_FIRST } from './ended.ts';

/**
 * A hint of this process: what counts are the notes in the journal, which every attempt reads when it begins.
 */
export class NotedRuns {
  readonly #journal: Pick<Runs, 'steps'>;
  /** Of the runs that run: whether one has notes, and whether one came since they were read. */
  readonly #runs = new Map<string, { hasNotes: boolean; hasNew: boolean }>();

  constructor(journal: Pick<Runs, 'steps'>) {
    this.#journal = journal;
  }

  begin(key: string): void {
    this.#runs.set(key, { hasNotes: false, hasNew: false });
  }

  end(key: string): void {
    this.#runs.delete(key);
  }

  /** The run of this key, if it runs, has a note more on disk. */
  noted(key: string): void {
    if (this.#runs.has(key)) this.#runs.set(key, { hasNotes: true, hasNew: true });
  }

  /** What an attempt found when it began. */
  found(key: string, steps: readonly StepRecord[]): void {
    const run = this.#runs.get(key);
    if (run && steps.some(({ kind }) => kind === 'note')) run.hasNotes = true;
  }

  /** See `StepLog.notes`. */
  async newOf({ key, seq }: RunRow): Promise<readonly StepRecord[] | undefined> {
    const run = this.#runs.get(key);
    if (!run?.hasNew) return undefined;
    run.hasNew = false;
    return await this.#journal.steps(seq);
  }

  /** The answer, under a line that says so where a later message was answered before it. */
  async marked({ key, seq }: RunRow, text: string): Promise<string> {
    if (!this.#runs.get(key)?.hasNotes) return text;
    const steps = await this.#journal.steps(seq);
    const isLate = steps.some(({ kind, state }) => kind === 'note' && state === 'DONE');
    return isLate ? `${LATER_FIRST}\n\n${text}` : text;
  }
}
