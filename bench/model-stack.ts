import { randomUUID } from 'node:crypto';
import type { Model, ModelAnswer, ModelRequest } from '../src/core/model.ts';
import type { Clock } from '../src/core/ports.ts';
import { openJournal } from '../src/journal/open.ts';
import { compose } from '../src/llm/compose.ts';
import { Budget } from '../src/llm/money/budget.ts';
import { withBudget } from '../src/llm/money/with-budget.ts';
import { withSpendingSteps } from '../src/llm/money/with-spending-steps.ts';
import { withRetry } from '../src/llm/retry.ts';
import { createAdaptiveRouter } from '../src/llm/routing/adaptive-router.ts';

export interface Stack extends AsyncDisposable {
  readonly model: Model;
  /** Resolves when the answer's row of the ledger is on the disk. */
  record(request: ModelRequest, answer: ModelAnswer): Promise<void>;
}

/**
 * The wires as the daemon wraps them: retry, budget, router, spending steps. The journal lies in `dir`. What
 * chooses the model of a conversation is left out: there is one choice here.
 */
export async function createStack(wires: readonly Model[], dir: string, clock: Clock): Promise<Stack> {
  const opened = await openJournal({ dir, clock });
  const { journal } = opened;
  const limits = { dailyUsd: 1_000_000, sessionUsd: 1_000_000, senderUsd: 1_000_000 };
  const budget = await Budget.open(journal, limits, { clock });
  const { random } = Math;
  const slots = wires.map((wire) => ({
    model: compose(
      wire,
      (model) => withBudget(model, budget, { clock }),
      (model) => withRetry(model, { clock, random }),
    ),
  }));
  const router = createAdaptiveRouter(slots, { clock, random, mode: 'lane' });
  return {
    model: withSpendingSteps(router, budget, { clock }),
    async record({ context }, { provider, model, usage }) {
      const { session, channel, sender, purpose } = context;
      const id = randomUUID();
      await journal.spend({ id, at: clock.now(), provider, model, costUsd: null, ...usage, session, channel, sender, purpose });
    },
    async [Symbol.asyncDispose]() {
      await router[Symbol.asyncDispose]();
      await opened[Symbol.asyncDispose]();
    },
  };
}
