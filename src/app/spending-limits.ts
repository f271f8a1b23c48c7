import type { LoadedConfig } from '../../config/load.ts';
import { ERROR_CODES } from '../core/error-codes.ts';
import type { Emit } from '../core/events.ts';
import { shortHash } from '../core/ids.ts';
import type { Model } from '../core/model.ts';
import type { Clock, Logger } from '../core/ports.ts';
import type { Budget } from '../llm/money/budget.ts';
import { type SpendingStepsOptions, type SpendingStepTaken, withSpendingSteps } from '../llm/money/with-spending-steps.ts';
import { BudgetQuestions } from '../operator/budget-questions.ts';
import { spendingStopped } from '../operator/notices.ts';
import type { Operator } from './compose/operator.ts';
import { originNow } from './origin.ts';

/** Of the section `budget` as it is now: it may change while the daemon runs. */
export interface Spending {
  steps: SpendingStepsOptions['steps'];
}

/** What says which model answers, and what it costs. */
const PRICING_KEYS = [
  'provider',
  'model',
  'base_url',
  'model_hints',
  'fallback_models',
  'models',
  'purposes',
  'adaptive_routing',
] as const;

/** Differs where another model may answer, or at another price. */
export function pricingOf(config: LoadedConfig['config']): string {
  return shortHash(JSON.stringify(PRICING_KEYS.map((key) => config[key] ?? null)));
}

export interface SpendingLimitsOptions extends Pick<SpendingStepsOptions, 'freeFirst'> {
  readonly config: LoadedConfig['config'];
  readonly spending: Readonly<Spending>;
  readonly emit: Emit;
  readonly operator: Operator;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The steps that the config names for a call that does not fit a limit; the operator is asked and told. */
export function withSpendingLimits(model: Model, budget: Budget, options: SpendingLimitsOptions): Model {
  const { config, spending, operator, clock, logger, freeFirst } = options;
  const questions = new BudgetQuestions({ approvals: operator.approvals, budget, pricing: pricingOf(config), clock, logger });
  const askOwner: SpendingStepsOptions['askOwner'] = (question) => questions.ask(question);
  return withSpendingSteps(model, budget, {
    ...{ clock, onStep: (taken: SpendingStepTaken) => report(taken, options) },
    ...(freeFirst ? { freeFirst } : {}),
    get askOwner() {
      return operator.owner.exists ? askOwner : undefined;
    },
    get steps() {
      return spending.steps;
    },
  });
}

/**
 * In the timeline each time, in the log once a day for each limit and step; the operator is told when calls
 * are stopped.
 */
function report(taken: SpendingStepTaken, { emit, clock, logger, operator }: SpendingLimitsOptions): void {
  const { limit, key, limitUsd, spentUsd, step, unpriced, first, context } = taken;
  const notice = spendingStopped(taken);
  if (notice) void operator.owner.tell(notice);
  const { session, channel } = context;
  const origin = originNow();
  const run = origin?.kind === 'run' ? { messageId: origin.id } : {};
  emit({
    type: 'budget',
    at: clock.now(),
    ...run,
    session,
    channel,
    limit,
    step,
    spentUsd,
    limitUsd,
    ...(unpriced === undefined ? {} : { unpriced }),
  });
  if (first)
    logger.warn('budget.met', {
      limit,
      key,
      step,
      spentUsd,
      limitUsd,
      ...(unpriced === undefined
        ? { hint: 'see `gatehouse usage`; change it with "budget" in the config' }
        : { model: unpriced, hint: ERROR_CODES.GH2113.hint }),
    });
}
