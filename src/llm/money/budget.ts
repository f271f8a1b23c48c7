/**
 * Money under control: each paid call is reserved at its worst case before it is sent and settled at its real
 * cost afterwards, so that what is spent and what running calls may still spend never pass a limit together.
 * Totals live in memory; a restart begins with the ledger of the journal.
 */
import type { SpendingReader } from '../../core/ledger.ts';
import type { ModelCallContext } from '../../core/model.ts';
import type { Clock } from '../../core/ports.ts';
import { settledOrAborted } from '../../lib/time-limit.ts';
import { startOfLocalDay } from '../../lib/wall-time.ts';
import { Accounts } from './accounts.ts';
import { keysOf, type LimitName, linkedKeys } from './limit-keys.ts';

/** USD. An absent limit does not limit. A day goes from midnight to midnight of the daemon's time zone. */
export interface BudgetLimits {
  /** All calls of a day together. */
  readonly dailyUsd?: number;
  /** Each session, a day. */
  readonly sessionUsd?: number;
  /** Each sender, a day. */
  readonly senderUsd?: number;
  /** Each job, for as long as it runs: no midnight lifts it. */
  readonly jobUsd?: number;
  /** Call models of unknown price in spite of a limit; they count as nothing. Default false. */
  readonly allowUnknownPrice?: boolean;
}

export type { LimitName } from './limit-keys.ts';

/** A limit as one call meets it. */
export interface LimitState {
  readonly limit: LimitName;
  /** The limit with its subject, such as `session:_main:telegram:1`: the same for all calls it counts. */
  readonly key: string;
  readonly limitUsd: number;
  readonly spentUsd: number;
  /** Held for calls that run. */
  readonly reservedUsd: number;
}

export interface Refused extends LimitState {
  readonly kind: 'refused';
  readonly reason: 'limit' | 'unknown-price';
  /** null = unknown price. */
  readonly worstUsd: number | null;
  /** `provider/model`, where the call of a model was refused. */
  readonly model?: string;
  /** Only calls that run are in the way: it may fit when they end for less than was held for them. */
  readonly held: boolean;
  /** Until the day ends; absent when no time helps (a job's limit, an unknown price). */
  readonly retryAfterMs?: number;
}

/** One of `settle` and `release` counts, the first; later ones do nothing. */
export interface Reservation {
  readonly kind: 'reserved';
  /** Neither settled nor released. */
  readonly open: boolean;
  /** The call cost this much. null = unknown, counted as nothing. */
  settle(actualUsd: number | null): void;
  /** Nothing was billed. */
  release(): void;
}

/** How one call may be treated, and what became of it. Made by `Budget.call`, found by its `context`. */
export interface SpendingCall {
  /** To be sent as the request's context. A copy of it loses the terms and is treated as any other call. */
  readonly context: ModelCallContext;
  /** The output limit may be lowered until the call fits, but not below this many tokens. */
  readonly fitFrom?: number;
  /** No other model may answer what this one is refused. */
  readonly alone?: boolean;
  /** The last refusal it met, also when another model then answered. */
  refused?: Refused;
  /** What the dearest of its refused calls may cost: a yes may let that one through. Infinity = unknown. */
  dearestUsd: number;
}

export interface BudgetOptions {
  readonly clock: Clock;
  /** The midnight that began the day of a time, epoch ms. Default: of the process's time zone. */
  readonly startOfDay?: (at: number) => number;
  /** Senders who are one person share its limit. Asked at each use. */
  readonly linked?: (sender: string) => readonly string[];
}

type Terms = SpendingCall & { beyond: 'no' | 'granted' | 'taken' };

/** Longer than any day with a change to winter time, shorter than two days. */
const INTO_NEXT_DAY_MS = 30 * 3_600_000;
/** A clock set back by less was corrected near midnight, which must not give out the day's money twice. */
const SET_BACK_MS = 48 * 3_600_000;
/** A job that has cost nothing for so long is taken to have ended. */
const JOB_MS = 30 * 86_400_000;

export class Budget {
  readonly #clock: Clock;
  readonly #startOfDay: (at: number) => number;
  readonly #accounts: Accounts;
  readonly #calls = new WeakMap<ModelCallContext, Terms>();
  #limits: BudgetLimits;
  #day: number;
  #changed = Promise.withResolvers<void>();

  private constructor(
    limits: BudgetLimits,
    { clock, startOfDay = startOfLocalDay, linked = (sender) => [sender] }: BudgetOptions,
  ) {
    this.#accounts = new Accounts(linkedKeys(linked));
    this.#limits = limits;
    this.#clock = clock;
    this.#startOfDay = startOfDay;
    this.#day = startOfDay(clock.now());
  }

  /** Begins with what the ledger has of today, and of jobs for 30 days. Rejects as the journal does. */
  static async open(ledger: SpendingReader, limits: BudgetLimits, options: BudgetOptions): Promise<Budget> {
    const budget = new Budget(limits, options);
    await budget.include(ledger);
    return budget;
  }

  /** Counts the spending of one more ledger, as it is now. Once for each; rejects as the journal does. */
  async include(ledger: SpendingReader): Promise<void> {
    for (const by of ['day', 'session', 'sender', 'job'] as const) {
      const groups = await ledger.spending({ since: by === 'job' ? this.#day - JOB_MS : this.#day, by });
      for (const { key, costUsd } of groups) this.#accounts.spend(by === 'day' ? by : `${by}:${key}`, costUsd, this.#day);
    }
  }

  /** When the present day began, epoch ms: what is said once a day is said once per value of this. */
  get day(): number {
    this.#turnDay();
    return this.#day;
  }

  get limits(): BudgetLimits {
    return this.#limits;
  }

  /** For a changed config. What was spent and is held stays counted. */
  setLimits(limits: BudgetLimits): void {
    this.#limits = limits;
    this.#wake();
  }

  /** Whether any limit counts this call. */
  limited({ job }: ModelCallContext): boolean {
    const { dailyUsd, sessionUsd, senderUsd, jobUsd } = this.#limits;
    return (dailyUsd ?? sessionUsd ?? senderUsd ?? (job === undefined ? undefined : jobUsd)) !== undefined;
  }

  /** The limit of which the smallest share is left, or the one of this name; undefined: there is none. */
  tightest(context: ModelCallContext, name?: LimitName): LimitState | undefined {
    this.#turnDay();
    const states = this.#statesOf(context).filter(({ limit }) => limit === (name ?? limit));
    return states.sort((a, b) => shareLeft(a) - shareLeft(b))[0];
  }

  /** USD that a call may cost at most; Infinity without limits. Never negative. */
  leftUsd(context: ModelCallContext): number {
    this.#turnDay();
    return Math.min(Number.POSITIVE_INFINITY, ...this.#statesOf(context).map(leftOf));
  }

  /**
   * To be called before anything is sent; `worstUsd` is the most the call may cost. 0 always fits, null
   * (price unknown) only without limits or with `allowUnknownPrice`. Synchronous: calls never share money.
   */
  reserve(context: ModelCallContext, worstUsd: number | null): Reservation | Refused {
    this.#turnDay();
    const terms = this.#calls.get(context);
    const worst = worstUsd !== null && worstUsd >= 0 && Number.isFinite(worstUsd) ? worstUsd : null;
    const refused = this.#refusal(context, worst);
    if (refused && terms?.beyond !== 'granted') {
      const dearestUsd = Math.max(terms?.dearestUsd ?? 0, worst ?? Number.POSITIVE_INFINITY);
      if (terms) Object.assign(terms, { refused, dearestUsd });
      return refused;
    }
    if (refused && terms) terms.beyond = 'taken';
    return this.#reserved(context, worst ?? 0, refused ? terms : undefined);
  }

  /** Terms for one call: see `SpendingCall`. `beyond`: it makes one reservation whatever the limits say. */
  call(
    context: ModelCallContext,
    { beyond, ...terms }: Pick<SpendingCall, 'fitFrom' | 'alone'> & { readonly beyond?: boolean } = {},
  ): SpendingCall {
    const own: Terms = { ...terms, context: { ...context }, dearestUsd: 0, beyond: beyond ? 'granted' : 'no' };
    this.#calls.set(own.context, own);
    return own;
  }

  /** The terms of the call with exactly this context object. */
  termsOf(context: ModelCallContext): SpendingCall | undefined {
    return this.#calls.get(context);
  }

  /** What `reserve` would say now; `held`: running calls may yet give back what is missing. */
  outlook(context: ModelCallContext, worstUsd: number | null): 'fits' | 'held' | 'full' {
    this.#turnDay();
    const refused = this.#refusal(context, worstUsd);
    if (!refused) return 'fits';
    return refused.held ? 'held' : 'full';
  }

  /** Resolves when a call settled, money came back or limits changed. Rejects with the signal's reason. */
  async changed(signal: AbortSignal): Promise<void> {
    await settledOrAborted(this.#changed.promise, signal);
  }

  #reserved(context: ModelCallContext, worst: number, granted: Terms | undefined): Reservation {
    const keys = Object.values(keysOf(context));
    for (const key of keys) this.#accounts.hold(key, worst);
    let open = true;
    const end = (actual: number): void => {
      if (!open) return;
      open = false;
      this.#turnDay();
      for (const key of keys) {
        this.#accounts.free(key, worst);
        // Also over midnight: the ledger dates a call by its end.
        this.#accounts.spend(key, actual, this.#day);
      }
      if (granted && actual === 0) granted.beyond = 'granted';
      this.#wake();
    };
    return {
      kind: 'reserved',
      get open() {
        return open;
      },
      // A cost that is no amount of money is a bug somewhere: the worst case is then what is safe.
      settle: (actual) => end(actual === null ? 0 : actual >= 0 && Number.isFinite(actual) ? actual : worst),
      release: () => end(0),
    };
  }

  #refusal(context: ModelCallContext, worst: number | null): Refused | undefined {
    if (worst === 0) return undefined;
    const states = this.#statesOf(context);
    if (worst === null) {
      const [state] = states;
      if (!state || this.#limits.allowUnknownPrice) return undefined;
      return { ...state, kind: 'refused', reason: 'unknown-price', worstUsd: null, held: false };
    }
    const met = states.filter((state) => !this.#accounts.fits(state.key, state.limitUsd, worst));
    // The limit that lasts longest is told: a job's, then one that no running call will make room in.
    const isHeld = (one: LimitState): boolean => this.#accounts.fitsLater(one.key, one.limitUsd, worst);
    const state = met.find(({ limit }) => limit === 'job') ?? met.find((one) => !isHeld(one)) ?? met[0];
    if (!state) return undefined;
    const refused = { ...state, kind: 'refused', reason: 'limit', worstUsd: worst } as const;
    const held = met.every(isHeld);
    const retryAfterMs = Math.max(1, this.#startOfDay(this.#day + INTO_NEXT_DAY_MS) - this.#clock.now());
    return state.limit === 'job' ? { ...refused, held } : { ...refused, held, retryAfterMs };
  }

  #statesOf(context: ModelCallContext): LimitState[] {
    const { dailyUsd, sessionUsd, senderUsd, jobUsd } = this.#limits;
    const limits = { day: dailyUsd, session: sessionUsd, sender: senderUsd, job: jobUsd };
    const states: LimitState[] = [];
    for (const [limit, key] of Object.entries(keysOf(context)) as [LimitName, string][]) {
      const limitUsd = limits[limit];
      const shared = this.#accounts.linked(key)[0] ?? key;
      if (limitUsd !== undefined) states.push({ limit, key: shared, limitUsd, ...this.#accounts.totals(key) });
    }
    return states;
  }

  #turnDay(): void {
    const day = this.#startOfDay(this.#clock.now());
    if (day === this.#day) return;
    if (day > this.#day) this.#accounts.newDay(day - JOB_MS);
    // A clock far back was wrong before: count on from there, keeping what was spent.
    else if (day > this.#day - SET_BACK_MS) return;
    this.#day = day;
  }

  #wake(): void {
    const { resolve } = this.#changed;
    this.#changed = Promise.withResolvers();
    resolve();
  }
}

/** What is left of a limit, USD, never negative. */
export function leftOf({ limitUsd, spentUsd, reservedUsd }: LimitState): number {
  // To the billionth, as it is counted: what is left of a difference of fractions is no money.
  return Math.max(0, Math.round((limitUsd - spentUsd - reservedUsd) * 1e9) / 1e9);
}

/** 1 = all of it, 0 = nothing. A limit of 0 has nothing left. */
export function shareLeft(state: LimitState): number {
  return state.limitUsd === 0 ? 0 : leftOf(state) / state.limitUsd;
}
