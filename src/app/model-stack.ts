// Config and keys in, the model of the daemon out: wire -> cost -> budget -> retry per model, router over them, spending steps outermost
import type { LoadedConfig } from '../../config/load.ts';
import { errorText } from '../core/errors.ts';
import type { Emit } from '../core/events.ts';
import type { Journal, UsageEntry } from '../core/journal.ts';
import type { Model, ModelCallContext, ModelFacts, ModelFailure } from '../core/model.ts';
import type { Clock, Logger } from '../core/ports.ts';
import type { SlotStatus } from '../core/status.ts';
import { spendingQuestion, spendingStopped } from '../gateway/owner-notices.ts';
import { isLoopback } from '../llm/catalog/price.ts';
import { compose } from '../llm/compose.ts';
import { createDemo, createWire, type WireDeps } from '../llm/create.ts';
import type { Detected } from '../llm/detect.ts';
import { Budget } from '../llm/money/budget.ts';
import { withCost } from '../llm/money/cost.ts';
import { limitsFrom } from '../llm/money/limits.ts';
import { withBudget } from '../llm/money/with-budget.ts';
import { type SpendingStepsOptions, type SpendingStepTaken, withSpendingSteps } from '../llm/money/with-spending-steps.ts';
import type { WarmableModel } from '../llm/protocols/wire.ts';
import type { FoundKey } from '../llm/providers/key.ts';
import type { ResolvedProvider } from '../llm/providers/resolve.ts';
import { type CurrentKey, withRenewedKey } from '../llm/renewed-key.ts';
import { createRetryGate, type RetryGate, type RetryInfo, withRetry } from '../llm/retry.ts';
import { createAdaptiveRouter } from '../llm/routing/adaptive-router.ts';
import { createChain } from '../llm/routing/chain.ts';
import type { Slot } from '../llm/routing/slot.ts';
import { currentLogin, type Login } from './current-login.ts';
import type { Operator } from './operator.ts';
import { withRefusalNotice } from './refusal-notice.ts';
import { createSpeech, type SpeechOptions, type TranscriberFor } from './speech.ts';

type Config = LoadedConfig['config'];

/** Where another model stands by, a longer wait than this is not taken: better to switch. ms. */
const PATIENCE_WITH_OTHERS_MS = 2_000;

/** One model of the config with its key. */
export interface ModelEntry {
  readonly target: ResolvedProvider;
  readonly key: FoundKey | undefined;
}

export interface ModelStackOptions {
  readonly config: Config;
  /** What the daemon starts with; its `target` is absent for the demo. */
  readonly detected: Detected;
  /** `fallback_models`, in order. */
  readonly fallbacks: readonly ModelEntry[];
  readonly login: Login;
  readonly env: SpeechOptions['env'];
  readonly secret: SpeechOptions['secret'];
  readonly journal: Pick<Journal, 'usage' | 'spending' | 'spend'>;
  /** Counts in the budget what a program beside this one has spent on the same keys. Called once. */
  readonly includeOthers?: (budget: Budget) => Promise<void>;
  readonly emit: Emit;
  readonly operator: Operator;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** Disposing ends what runs beside the calls. */
export interface ModelStack extends AsyncDisposable {
  readonly model: Model;
  /** Absent: recordings are not transcribed. */
  readonly transcriber?: TranscriberFor;
  /** Of the models that take part; absent where there is only one. */
  readonly slots?: () => readonly SlotStatus[];
  /** Limits hold from now on, for a changed config. */
  readonly setLimits?: (budget: Config['budget']) => void;
  /** The limit of a day, for people; undefined = none. */
  readonly daily?: () => { readonly spentUsd: number; readonly limitUsd: number } | undefined;
}

/** Reads today's spending from the journal. Rejects as the journal and `createSpeech` do. */
export async function createModelStack(options: ModelStackOptions): Promise<ModelStack> {
  const { config, detected, journal, clock, logger } = options;
  // By where the key is from and not by the limit there is now: a budget may be taken out of the config while this runs.
  const foundKey = detected.source === 'environment' || detected.source === 'login';
  const budget = await Budget.open(journal, limitsFrom(config.budget, { foundKey }), { clock });
  await options.includeOthers?.(budget);
  const record = (entry: UsageEntry): void => {
    journal.spend(entry).catch((error: unknown) => logger.warn('usage.unrecorded', { detail: errorText(error) }));
  };
  const { transcription } = config;
  const transcriber = transcription && (await createSpeech(transcription, { ...options, budget, onSpent: record }));
  const { model, ...routed } = createModel(options, budget, record);
  return {
    ...routed,
    model,
    ...(transcriber ? { transcriber } : {}),
    setLimits: (section) => budget.setLimits(limitsFrom(section, { foundKey })),
    daily: () => {
      const day = budget.tightest(NOBODY);
      return budget.limits.dailyUsd === undefined || !day ? undefined : { spentUsd: day.spentUsd, limitUsd: day.limitUsd };
    },
  };
}

function createModel(options: ModelStackOptions, budget: Budget, record: (entry: UsageEntry) => void): Routed {
  const { config, detected, clock, logger, operator } = options;
  const onRetry = ({ model, failure, attempt, waitMs }: RetryInfo): void =>
    logger.warn('model.retry', { model, code: failure.code, detail: failure.message, attempt, waitMs });
  const deps: WireDeps = { timeouts: timeoutsOf(config), clock };
  const { target } = detected;
  if (!target) return { model: createDemo({ ...deps, random: Math.random, onRetry }), ...ALONE };
  const entries = [{ target, key: mainKey(detected) }, ...options.fallbacks];
  for (const entry of entries) warnOfPlainText(entry, logger);
  const patience = entries.length > 1 ? { maxWaitMs: PATIENCE_WITH_OTHERS_MS } : {};
  const gates = new Gates();
  const slots = entries.map((entry) => ({
    model: compose(
      createEntryWire(entry, options.login, deps),
      withCost,
      (inner) => withBudget(inner, budget, { clock, facts: entry.target.facts, onEstimate: record }),
      (inner) => withRetry(inner, { clock, random: Math.random, onRetry, gate: gates.of(entry), ...patience }),
      (inner) => withRefusalNotice(inner, operator.owner),
    ),
  }));
  const routed = route(slots, config, clock, (model, failure) => reportFailure(model, failure, logger));
  const steps = config.budget ? { steps: config.budget.steps } : {};
  const onStep = (taken: SpendingStepTaken): void => report(taken, options);
  const askOwner: SpendingStepsOptions['askOwner'] = (question, signal) =>
    operator.approvals.ask(spendingQuestion(question), signal);
  const asking = operator.owner.exists ? { askOwner } : {};
  const freeFirst = isFree(target.facts.price);
  return { ...routed, model: withSpendingSteps(routed.model, budget, { clock, freeFirst, ...steps, ...asking, onStep }) };
}

function isFree(price: ModelFacts['price']): boolean {
  return price !== null && price.in === 0 && price.out === 0;
}

/** Counted by the limit of a day alone. */
const NOBODY: ModelCallContext = { session: '', channel: '', sender: '', purpose: 'status' };
const ALONE = { [Symbol.asyncDispose]: async () => undefined };

type Routed = Pick<ModelStack, 'model' | 'slots'> & AsyncDisposable;

function route(
  slots: readonly Slot[],
  { adaptive_routing: settings }: Config,
  clock: Clock,
  onFailed: (model: string, failure: ModelFailure) => void,
): Routed {
  const [only, second] = slots;
  if (only && !second) return { model: only.model, ...ALONE };
  if (!settings?.enabled) {
    const chain = createChain(slots, { clock, onFailed });
    return { model: chain, slots: () => chain.snapshot(), [Symbol.asyncDispose]: () => chain[Symbol.asyncDispose]() };
  }
  const router = createAdaptiveRouter(slots, {
    clock,
    onFailed,
    random: Math.random,
    mode: settings.mode,
    failureThreshold: settings.failure_threshold,
    probeProbability: settings.probe_probability,
    probeIntervalMs: settings.probe_interval_secs * 1_000,
    weights: {
      latency: settings.weight_latency,
      error: settings.weight_error,
      priority: settings.weight_priority,
      cost: settings.weight_cost,
    },
  });
  return { model: router, slots: () => router.snapshot(), [Symbol.asyncDispose]: () => router[Symbol.asyncDispose]() };
}

function createEntryWire({ target, key }: ModelEntry, login: ModelStackOptions['login'], deps: WireDeps): WarmableModel {
  const create = (value: string | undefined): WarmableModel => createWire(target, value, deps);
  if (key?.from !== 'login') return create(key?.value());
  const current: CurrentKey = (signal) => currentLogin(target, login, signal);
  return withRenewedKey(key.value(), current, create);
}

function mainKey({ keyFrom, apiKey }: Detected): FoundKey | undefined {
  const value = apiKey();
  return keyFrom === undefined || value === undefined ? undefined : { from: keyFrom, value: () => value };
}

/** All models of one key at one address share what a 429 said (F24). */
class Gates {
  readonly #byKey = new Map<string, RetryGate>();

  of({ target, key }: ModelEntry): RetryGate {
    const name = `${target.baseUrl}\n${key?.value() ?? ''}`;
    const gate = this.#byKey.get(name) ?? createRetryGate();
    this.#byKey.set(name, gate);
    return gate;
  }
}

function timeoutsOf({ gateway }: Config): WireDeps['timeouts'] {
  return { connectMs: gateway.llm_connect_timeout_secs * 1_000, totalMs: gateway.llm_timeout_secs * 1_000 };
}

/** Said and not refused: in networks of their own people do so, and only they know whose wires these are. */
function warnOfPlainText({ target, key }: ModelEntry, logger: Logger): void {
  const { protocol, host } = new URL(target.baseUrl);
  if (!key || protocol === 'https:' || isLoopback(target.baseUrl)) return;
  logger.warn('model.plain-text', {
    model: `${target.provider.name}/${target.model}`,
    detail: `its key (${key.from}) and every message go to ${host} unencrypted`,
    hint: 'use an https:// address in base_url',
  });
}

/** Another model answers and the chat sees nothing: a key that was refused for weeks would otherwise be known to nobody. */
function reportFailure(model: string, { kind, code, message, hint }: ModelFailure, logger: Logger): void {
  // What was stopped on purpose is no failure, and limits have a report of their own.
  if (kind === 'aborted' || kind === 'budget') return;
  logger.warn('model.passed-over', { model, code, kind, detail: message, hint });
}

/** In the timeline each time, in the log once a day for each limit and step; the operator is told when calls are stopped. */
function report(taken: SpendingStepTaken, { emit, clock, logger, operator }: ModelStackOptions): void {
  const { limit, key, limitUsd, spentUsd, step, first, context } = taken;
  const notice = spendingStopped(taken);
  if (notice) void operator.owner.tell(notice);
  emit({ type: 'budget', at: clock.now(), session: context.session, channel: context.channel, limit, step, spentUsd, limitUsd });
  if (first)
    logger.warn('budget.met', {
      limit,
      key,
      step,
      spentUsd,
      limitUsd,
      hint: 'see `gatehouse usage`; change it with "budget" in the config',
    });
}
