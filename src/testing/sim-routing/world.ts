/** The providers of the simulated day and what befalls them. */
import type { Price } from '../../core/model.ts';
import { draw } from './random.ts';

/** error: status 500. hang: nothing until the limit. limited: 429 with Retry-After. cut: breaks half way. */
export type Trouble = 'error' | 'hang' | 'limited' | 'auth' | 'cut' | 'network';

export interface Outage {
  readonly trouble: Trouble;
  /** Ms from the start of the day. */
  readonly from: number;
  readonly to: number;
}

/** Slowness that creeps in and out: the factor grows to `factor` in the middle of the span. */
export interface Drift {
  readonly from: number;
  readonly to: number;
  readonly factor: number;
}

export interface Provider {
  /** `Model.id`. */
  readonly id: string;
  readonly price: Price;
  readonly firstTokenMs: number;
  readonly tokensPerSecond: number;
  /** Share of calls that fail at any time. */
  readonly errorRate: number;
  /**
   * Share of calls that wait long for their first token, as in a full queue. These tails are what hedging
   * is for: without them lane has the better p95, because hedge always asks the main model first, also in
   * its slow hours.
   */
  readonly stallRate: number;
  readonly outages: readonly Outage[];
  readonly drifts: readonly Drift[];
}

export interface Day {
  readonly seed: number;
  readonly lengthMs: number;
  /** Mean over the day; the busy hours have twice as many as the quiet ones. */
  readonly perMinute: number;
}

/** Hours of a day of 24; a shorter day is the same one, compressed. */
interface Plan extends Omit<Provider, 'outages' | 'drifts'> {
  readonly outages: readonly (readonly [trouble: Trouble, from: number, to: number])[];
  readonly drifts: readonly (readonly [from: number, to: number, factor: number])[];
}

/** In the order of the config: the operator put quality first. Prices are like those of such models. */
const PLANS: readonly Plan[] = [
  {
    id: 'alpha/large',
    price: { in: 3, out: 15 },
    firstTokenMs: 900,
    tokensPerSecond: 70,
    errorRate: 0.01,
    stallRate: 0.08,
    outages: [
      ['hang', 2.5, 3],
      ['error', 18, 18.8],
    ],
    drifts: [[8, 15, 5]],
  },
  {
    id: 'beta/medium',
    price: { in: 2.5, out: 10 },
    firstTokenMs: 700,
    tokensPerSecond: 75,
    errorRate: 0.01,
    stallRate: 0.08,
    outages: [['hang', 10, 10.6]],
    drifts: [[18, 21, 2]],
  },
  {
    id: 'gamma/fast',
    price: { in: 0.3, out: 1.2 },
    firstTokenMs: 500,
    tokensPerSecond: 95,
    errorRate: 0.02,
    stallRate: 0.08,
    outages: [
      ['limited', 7, 7.5],
      ['error', 12, 12.7],
      ['auth', 21.5, 22.2],
    ],
    drifts: [[15.5, 17.5, 3]],
  },
  {
    id: 'delta/small',
    price: { in: 0.15, out: 0.6 },
    firstTokenMs: 650,
    tokensPerSecond: 85,
    errorRate: 0.01,
    stallRate: 0.08,
    outages: [['cut', 13.5, 14]],
    drifts: [],
  },
];

const HOURS = 24;
/** Everybody at once, so that there are requests which nobody could have served. Hours. */
const BLACKOUT = { from: 5, to: 5.07 };
/** How far the seed moves an outage. Hours. */
const SHIFT = 0.3;

export function createWorld(day: Day): readonly Provider[] {
  const ms = (hours: number): number => Math.round((hours / HOURS) * day.lengthMs);
  return PLANS.map((plan) => ({
    ...plan,
    outages: [
      ...plan.outages.map(([trouble, from, to]): Outage => {
        const shift = (draw(day.seed, plan.id, trouble, from) - 0.5) * 2 * SHIFT;
        return { trouble, from: ms(from + shift), to: ms(to + shift) };
      }),
      { trouble: 'network', from: ms(BLACKOUT.from), to: ms(BLACKOUT.to) },
    ],
    drifts: plan.drifts.map(([from, to, factor]) => ({ from: ms(from), to: ms(to), factor })),
  }));
}

export function outageAt(provider: Provider, at: number): Outage | undefined {
  return provider.outages.find(({ from, to }) => at >= from && at < to);
}

/** Whether the provider was well all the while. */
export function wellThroughout(provider: Provider, from: number, to: number): boolean {
  return provider.outages.every((outage) => outage.to <= from || outage.from > to);
}

/** How many times slower than usual. */
export function slownessAt(provider: Provider, at: number): number {
  const drift = provider.drifts.find(({ from, to }) => at >= from && at < to);
  if (!drift) return 1;
  const middle = (drift.from + drift.to) / 2;
  const depth = 1 - Math.abs(at - middle) / (middle - drift.from);
  // Quick in, long plateau: a provider in trouble stays there.
  return 1 + (drift.factor - 1) * Math.min(1, 2 * depth);
}
