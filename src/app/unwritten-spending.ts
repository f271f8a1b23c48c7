import { errorText } from '../core/errors.ts';
import type { Ledger, UsageEntry } from '../core/ledger.ts';
import type { Model } from '../core/model.ts';
import { createFailure } from '../llm/failure.ts';
import type { Budget } from '../llm/money/budget.ts';

/**
 * What was spent outside a step, on its way into the ledger. Totals live in memory, so that a call whose
 * price could not be written (a full disk) would be forgotten by a restart, and its money be given out again.
 * It is kept and written again before the next call that a limit counts, and as long as that fails no such
 * call is made: `withWrittenSpending`.
 */
export class UnwrittenSpending {
  readonly #ledger: Pick<Ledger, 'spend'>;
  readonly #onFailed: (error: unknown) => void;
  readonly #kept = new Map<string, UsageEntry>();

  constructor(ledger: Pick<Ledger, 'spend'>, onFailed: (error: unknown) => void) {
    this.#ledger = ledger;
    this.#onFailed = onFailed;
  }

  /** Never throws; `onFailed` is told when it could not be written. */
  readonly record = (entry: UsageEntry): void => {
    this.#kept.set(entry.id, entry);
    this.#write(entry).catch(this.#onFailed);
  };

  /** Writes what is left. Rejects as the journal does while something cannot be written. */
  readonly settled = async (): Promise<void> => {
    // The same id twice is one row: one that is being written may be written here as well.
    for (const entry of [...this.#kept.values()]) await this.#write(entry);
  };

  async #write(entry: UsageEntry): Promise<void> {
    await this.#ledger.spend(entry);
    this.#kept.delete(entry.id);
  }
}

/**
 * Around `withBudget`: a call that a limit counts ends with GH1301 while something that was spent cannot be
 * written down, and nothing is sent.
 */
export function withWrittenSpending(model: Model, budget: Pick<Budget, 'limited'>, spent: UnwrittenSpending): Model {
  if (model.demo) return model;
  return {
    ...model,
    async *call(request, signal) {
      const why = budget.limited(request.context) && !signal.aborted ? await spent.settled().then(none, errorText) : undefined;
      if (why === undefined) return yield* model.call(request, signal);
      const message = `${model.id} was not called: there is a limit, and what earlier calls cost cannot be written down: ${why}`;
      yield { type: 'failed', failure: createFailure('budget', { message, code: 'GH1301' }) };
    },
  };
}

const none = (): undefined => undefined;
