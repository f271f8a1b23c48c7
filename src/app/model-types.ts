/** What the models of the daemon are made of, and what they are to the rest of it. */
import type { LoadedConfig } from '../../config/load.ts';
import type { Emit } from '../core/events.ts';
import type { Ledger } from '../core/ledger.ts';
import type { Model } from '../core/model.ts';
import type { Clock, Logger } from '../core/ports.ts';
import type { SlotStatus } from '../core/status.ts';
import type { Detected } from '../llm/detect.ts';
import type { Budget, BudgetOptions } from '../llm/money/budget.ts';
import type { FoundKey } from '../llm/providers/key.ts';
import type { ResolvedProvider } from '../llm/providers/resolve.ts';
import type { AdaptiveRouter } from '../llm/routing/adaptive-router.ts';
import type { ProviderRouter } from '../llm/routing/provider-router.ts';
import type { ReplacedModel } from '../operator/notices.ts';
import type { Operator } from './compose/operator.ts';
import type { Login } from './current-login.ts';
import type { SpeechOptions, TranscriberFor } from './speech.ts';
import type { UnwrittenSpending } from './unwritten-spending.ts';

type Config = LoadedConfig['config'];

/** One model of the config with its key. */
export interface ModelEntry {
  readonly target: ResolvedProvider;
  readonly key: FoundKey | undefined;
}

/** One of the section `models`. */
export interface NamedModelEntry extends ModelEntry {
  readonly name: string;
  readonly description?: string | undefined;
}

export interface ModelStackOptions {
  /** Of a call that fails. Default: that of `withRetry`. */
  readonly maxRetries?: number;
  readonly config: Config;
  /** What the daemon starts with; its `target` is absent for the demo. */
  readonly detected: Detected;
  /** `fallback_models`, in order. */
  readonly fallbacks: readonly ModelEntry[];
  /** `models`, in order. Default: none. */
  readonly named?: readonly NamedModelEntry[];
  readonly login: Login;
  readonly env: SpeechOptions['env'];
  readonly secret: SpeechOptions['secret'];
  readonly journal: Pick<Ledger, 'spending' | 'spend'>;
  /** The stack that this one is to replace: what was spent and what is held for calls that run counts on. */
  readonly before?: Pick<ModelStack, 'budget' | 'spent'> | undefined;
  /** Counts in the budget what a program beside this one has spent on the same keys. Called once. */
  readonly includeOthers?: (budget: Budget) => Promise<void>;
  readonly emit: Emit;
  readonly operator: Operator;
  /** As of `BudgetOptions`. */
  readonly linked?: NonNullable<BudgetOptions['linked']>;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Disposing ends what runs beside the calls. */
export interface ModelStack extends AsyncDisposable {
  readonly model: Model;
  /** Absent: recordings are not transcribed. */
  readonly transcriber?: TranscriberFor;
  /** Which of several models is asked; absent where the config names no adaptive routing. */
  readonly router?: Pick<AdaptiveRouter, 'mode' | 'snapshot'>;
  /** Of the models that take part; absent where there is only one. */
  readonly slots?: () => readonly SlotStatus[];
  /** What `/model` and the config can name; absent for the demo. */
  readonly named?: ProviderRouter;
  /**
   * A model found without a config that its provider does not have any more, and what answers in its place.
   */
  readonly replaced?: () => ReplacedModel | undefined;
  /** What is wrong with the catalog on that day, or with what it says of these models; a sentence each. */
  readonly warnings?: (now: number) => readonly string[];
  /** What was spent today. */
  readonly budget?: Budget;
  /** What of that is not written down yet. */
  readonly spent?: UnwrittenSpending;
  /** Limits and steps hold from now on, for a changed config. */
  readonly setLimits?: (budget: Config['budget']) => void;
  /** The limit of a day, for people; undefined = none. */
  readonly daily?: () => { readonly spentUsd: number; readonly limitUsd: number } | undefined;
}
