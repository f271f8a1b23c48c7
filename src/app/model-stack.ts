// Config and keys in, the model of the daemon out: wire -> budget -> retry per model, router over them,
// spending steps outermost
import { isDeepStrictEqual } from 'node:util';
import type { LoadedConfig } from '../../config/load.ts';
import { ERROR_CODES } from '../core/error-codes.ts';
import { errorText } from '../core/errors.ts';
import type { UsageEntry } from '../core/ledger.ts';
import type { FailureKind, Model, ModelCallContext, ModelFacts, ModelFailure } from '../core/model.ts';
import type { Clock, Logger } from '../core/ports.ts';
import { priceOf } from '../llm/catalog/price.ts';
import { compose } from '../llm/compose.ts';
import { createDemo, type WireDeps } from '../llm/create.ts';
import type { Detected } from '../llm/detect.ts';
import { Budget } from '../llm/money/budget.ts';
import { limitsFrom } from '../llm/money/limits.ts';
import { unfinishedEntry } from '../llm/money/usage-entry.ts';
import { type BudgetedOptions, withBudget } from '../llm/money/with-budget.ts';
import type { SpendingStepsOptions } from '../llm/money/with-spending-steps.ts';
import { offeredModels } from '../llm/offered-models.ts';
import { resolveProvider } from '../llm/providers/resolve.ts';
import { type RetryInfo, withRetry } from '../llm/retry.ts';
import { createAdaptiveRouter } from '../llm/routing/adaptive-router.ts';
import { type ChainOptions, createChain } from '../llm/routing/chain.ts';
import { withChoice } from '../llm/routing/choose.ts';
import { createProviderRouter, type ProviderRouter, type RouterEntry } from '../llm/routing/provider-router.ts';
import type { Slot } from '../llm/routing/slot.ts';
import { modelReplaced, type ReplacedModel } from '../operator/notices.ts';
import { modelWarnings } from './catalog-warnings.ts';
import { currentLogin } from './current-login.ts';
import type { ModelEntry, ModelStack, ModelStackOptions, NamedModelEntry } from './model-types.ts';
import { createEntryWire, Gates, warnOfPlainText } from './model-wires.ts';
import { withRefusalNotice } from './refusal-notice.ts';
import { withReplacement } from './replaced-model.ts';
import { createSpeech } from './speech.ts';
import { type Spending, withSpendingLimits } from './spending-limits.ts';
import { UnwrittenSpending, withWrittenSpending } from './unwritten-spending.ts';

type Config = LoadedConfig['config'];

export type { ModelEntry, ModelStack, NamedModelEntry } from './model-types.ts';

/** Where another model stands by, a longer wait than this is not taken: better to switch. ms. */
const PATIENCE_WITH_OTHERS_MS = 2_000;

/** Reads today's spending from the journal. Rejects as the journal and `createSpeech` do. */
export async function createModelStack(options: ModelStackOptions): Promise<ModelStack> {
  const { config, detected, journal, logger } = options;
  // By where the key is from and not by the limit there is now: a budget may be taken out of the config while
  // this runs.
  const foundKey = isFound(detected);
  const budget = options.before?.budget ?? (await openBudget(options, foundKey));
  const spent =
    options.before?.spent ??
    new UnwrittenSpending(journal, (error) =>
      logger.warn('usage.unrecorded', { code: 'GH1301', detail: errorText(error), hint: ERROR_CODES.GH1301.hint }),
    );
  const { transcription } = config;
  const transcriber = transcription && (await createSpeech(transcription, { ...options, budget, onSpent: spent.record }));
  const spending: Spending = { steps: config.budget?.steps };
  const { model, ...routed } = createModel(options, budget, spent, spending);
  return {
    ...routed,
    ...{ model, budget, spent },
    ...(transcriber ? { transcriber } : {}),
    setLimits(section) {
      spending.steps = section?.steps;
      budget.setLimits(limitsFrom(section, { foundKey }));
    },
    daily: () => {
      const day = budget.tightest(NOBODY, 'day');
      return day && { spentUsd: day.spentUsd, limitUsd: day.limitUsd };
    },
  };
}

async function openBudget(
  { config, journal, clock, includeOthers, linked }: ModelStackOptions,
  foundKey: boolean,
): Promise<Budget> {
  const budget = await Budget.open(journal, limitsFrom(config.budget, { foundKey }), { clock, ...(linked ? { linked } : {}) });
  await includeOthers?.(budget);
  return budget;
}

function createModel(options: ModelStackOptions, budget: Budget, spent: UnwrittenSpending, spending: Spending): Routed {
  const { config, detected, clock, logger, operator } = options;
  const { record } = spent;
  const onRetry = ({ model, failure, attempt, waitMs }: RetryInfo): void =>
    logger.warn('model.retry', { model, code: failure.code, detail: failure.message, attempt, waitMs });
  const onOddUsage: BudgetedOptions['onOddUsage'] = (odd) => logger.warn('usage.odd', odd);
  const deps: WireDeps = { timeouts: timeoutsOf(config), clock };
  const { target } = detected;
  if (!target) return { model: createDemo({ ...deps, random: Math.random, onRetry }), ...ALONE };
  const chain: readonly ModelEntry[] = [{ target, key: detected.key }, ...options.fallbacks];
  const aliases = options.named ?? [];
  for (const entry of [...chain, ...aliases]) warnOfPlainText(entry, logger);
  const patience = { maxWaitMs: PATIENCE_WITH_OTHERS_MS };
  const gates = new Gates();
  const create = (entry: ModelEntry, hasStandby: boolean, about?: (kind: FailureKind) => boolean): Model =>
    compose(
      createEntryWire(entry, options, deps),
      (inner) => withBudget(inner, budget, { clock, onUnfinished: record, onOddUsage, ...pricesOf(entry, clock) }),
      (inner) => withWrittenSpending(inner, budget, spent),
      (inner) =>
        withRetry(inner, {
          ...{ clock, random: Math.random, onRetry, gate: gates.of(entry) },
          ...(options.maxRetries === undefined ? {} : { maxRetries: options.maxRetries }),
          ...(hasStandby ? patience : {}),
        }),
      (inner) => withRefusalNotice(inner, operator.owner, about, entry.key?.from),
    );
  const toSlot = (entry: ModelEntry, hasStandby: boolean): Slot => ({ model: create(entry, hasStandby) });
  const replaced: { current?: ReplacedModel } = {};
  const slots = chain.map((entry, at) => {
    // A model that the operator chose is never replaced.
    if (at > 0 || !isFound(detected)) return toSlot(entry, chain.length > 1);
    const onReplaced = (news: ReplacedModel): void => {
      replaced.current = news;
    };
    return {
      model: replaceable(entry, options, (other) => create(other, chain.length > 1, (kind) => kind !== GONE), onReplaced),
    };
  });
  const told = toldOf(options, record);
  const routed = route(slots, config, clock, told);
  // A name for one of the default models is that model, which must not stand by for itself. One that may be
  // replaced is another: what the operator named is not replaced.
  const slotOf = (entry: ModelEntry): Slot => {
    const at = chain.findIndex((other) => isSame(entry, other));
    return (at === 0 && isFound(detected) ? undefined : slots[at]) ?? toSlot(entry, true);
  };
  const named = createProviderRouter(namedEntries(slots, aliases, slotOf));
  const chosen = chooseAmong(named, { slots, routed, config, clock, told });
  const freeFirst: SpendingStepsOptions['freeFirst'] = ({ model }) =>
    isFree(((model === undefined ? undefined : named.find(model)?.model.facts) ?? target.facts).price);
  const model = withSpendingLimits(chosen, budget, { ...options, spending, freeFirst });
  const targets = [...chain, ...aliases].map((entry) => entry.target);
  const warnings = (now: number): readonly string[] => modelWarnings(targets, now, budget.limits);
  const ends = { [Symbol.asyncDispose]: () => chosen[Symbol.asyncDispose]() };
  return { ...routed, named, model, replaced: () => replaced.current, warnings, ...ends };
}

/** What models that stand by for each other tell. */
type Told = Required<Pick<ChainOptions, 'onFailed' | 'onUnused'>>;

function toldOf({ clock, logger }: ModelStackOptions, record: (entry: UsageEntry) => void): Told {
  return {
    onFailed: (model, failure) => reportFailure(model, failure, logger),
    onUnused: ({ provider, model, usage }, context) =>
      record(unfinishedEntry(`${provider}/${model}`, { context, at: clock.now(), usage })),
  };
}

interface Choosing {
  readonly slots: readonly Slot[];
  readonly routed: Routed;
  readonly config: Config;
  readonly clock: Clock;
  readonly told: Told;
}

/** Disposing ends what runs beside the calls of all models, the default ones included. */
function chooseAmong(named: ProviderRouter, { slots, routed, config, clock, told }: Choosing): Model & AsyncDisposable {
  const parts: AsyncDisposable[] = [routed];
  const model = withChoice(routed.model, {
    ...{ named, purposes: config.purposes, thinking: config.thinking },
    withStandby(entry) {
      // One of the default models has the others behind it, and not itself once more.
      const others = slots.filter((slot) => slot.model !== entry.model);
      const standby = others.length < slots.length ? others : [{ model: routed.model }];
      if (standby.length === 0) return routed.model;
      const chain = createChain([entry, ...standby], { clock, ...told });
      parts.push(chain);
      return chain;
    },
  });
  const dispose = async (): Promise<void> => {
    await Promise.all(parts.map((part) => part[Symbol.asyncDispose]()));
  };
  return { ...model, [Symbol.asyncDispose]: dispose };
}

/** A price that the operator stated holds for whatever answers at that address. */
function pricesOf({ target: { hints, baseUrl } }: ModelEntry, clock: Clock): Pick<BudgetedOptions, 'priceOf'> {
  return hints.price ? {} : { priceOf: (provider, model) => priceOf(provider, model, baseUrl, clock.now()) };
}

function isFound({ source }: Detected): boolean {
  return source === 'environment' || source === 'login';
}

function replaceable(
  { target, key }: ModelEntry,
  { config, env, login, operator, clock, logger }: ModelStackOptions,
  create: (entry: ModelEntry) => Model,
  onReplaced: (news: ReplacedModel) => void,
): Model {
  const { provider, baseUrl } = target;
  const own = provider.baseUrl !== undefined && new URL(provider.baseUrl).origin === new URL(baseUrl).origin;
  const { model_hints, api_type, extra_headers, extra_body } = config;
  const reach = { model_hints, api_type, extra_headers, extra_body, ...(own ? {} : { base_url: baseUrl }) };
  const settings = { provider: provider.name, ...reach };
  const model = withReplacement({
    provider: provider.name,
    model: target.model,
    create: (model) => create({ target: model === target.model ? target : resolveProvider({ ...settings, model }, env), key }),
    list: async (signal) =>
      offeredModels(target, key?.from === 'login' ? await currentLogin(target, login, signal) : key?.value(), signal),
    onReplaced: (from, to) => {
      const news = { from: `${provider.name}/${from}`, to: `${provider.name}/${to}` };
      logger.warn('model.replaced', { ...news, hint: 'choose one with "model" in the config' });
      void operator.owner.tell(modelReplaced(news));
      onReplaced(news);
    },
    now: () => clock.now(),
  });
  // One that is replaced is told of by `onReplaced` alone.
  return withRefusalNotice(model, operator.owner, (kind) => kind === GONE);
}

function isSame(one: ModelEntry, other: ModelEntry): boolean {
  return isDeepStrictEqual(one.target, other.target) && one.key?.value() === other.key?.value();
}

function isFree(price: ModelFacts['price']): boolean {
  return price !== null && price.in === 0 && price.out === 0;
}

const GONE: FailureKind = 'model-gone';

/** Counted by the limit of a day alone. */
const NOBODY: ModelCallContext = { session: '', channel: '', sender: '', purpose: 'status' };
const ALONE = { [Symbol.asyncDispose]: async () => undefined };

type Routed = Pick<ModelStack, 'model' | 'router' | 'slots' | 'named' | 'replaced' | 'warnings'> & AsyncDisposable;

function route(slots: readonly Slot[], { adaptive_routing: settings }: Config, clock: Clock, told: Told): Routed {
  const [only, second] = slots;
  if (only && !second) return { model: only.model, ...ALONE };
  if (!settings?.enabled) {
    const chain = createChain(slots, { clock, ...told });
    return { model: chain, slots: () => chain.snapshot(), [Symbol.asyncDispose]: () => chain[Symbol.asyncDispose]() };
  }
  const router = createAdaptiveRouter(slots, {
    clock,
    ...told,
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
  return { model: router, router, slots: () => router.snapshot(), [Symbol.asyncDispose]: () => router[Symbol.asyncDispose]() };
}

/** The names of the config, then the default models by `provider/model`. */
function namedEntries(
  slots: readonly Slot[],
  named: readonly NamedModelEntry[],
  toSlot: (entry: ModelEntry) => Slot,
): readonly RouterEntry[] {
  const entries: RouterEntry[] = named.map((entry) => ({
    ...toSlot(entry),
    key: entry.name,
    ...(entry.description === undefined ? {} : { description: entry.description }),
  }));
  for (const { model } of slots) if (entries.every(({ key }) => key !== model.id)) entries.push({ key: model.id, model });
  return entries;
}

function timeoutsOf({ gateway }: Config): WireDeps['timeouts'] {
  return {
    connectMs: gateway.llm_connect_timeout_secs * 1_000,
    totalMs: gateway.llm_timeout_secs * 1_000,
    thinkingMs: gateway.llm_thinking_timeout_secs * 1_000,
  };
}

/**
 * Another model answers and the chat sees nothing: without this line a key could be refused for weeks
 * unnoticed.
 */
function reportFailure(model: string, { kind, code, message, hint }: ModelFailure, logger: Logger): void {
  // What was stopped on purpose is no failure, and limits have a report of their own.
  if (kind === 'aborted' || kind === 'budget') return;
  logger.warn('model.passed-over', { model, code, kind, detail: message, hint });
}
