import type { ChannelHealth } from '../../src/core/channel.ts';
import { changesOnly, type ReportHealth } from './reported-health.ts';

/** What is wrong with one part of a channel. */
export interface Fault {
  readonly state: Exclude<ChannelHealth, 'healthy'>;
  readonly detail?: string | undefined;
}

/**
 * The health of a channel out of the health of its parts: the connection, the journal, the login. The worst
 * part is shown; a channel whose parts are all healthy is healthy, and what is worth knowing of them all the
 * same is said beside it. Only changes are reported.
 */
export class HealthSum<Part extends string> {
  readonly #report: ReportHealth;
  readonly #rank: (part: Part, fault: Fault) => number;
  /** In the order in which they came up. */
  readonly #faults: Map<Part, Fault>;
  readonly #notes = new Map<Part, string>();

  /**
   * The fault with the lowest `rank` is shown, of several the oldest. `unready` are the parts that begin as
   * `starting`.
   */
  constructor(report: ReportHealth, rank: (part: Part, fault: Fault) => number, unready: readonly Part[]) {
    this.#report = changesOnly(report, 'starting');
    this.#rank = rank;
    this.#faults = new Map(unready.map((part) => [part, { state: 'starting' }]));
  }

  /** `detail` of a healthy part is what to know of it all the same. */
  set(part: Part, state: ChannelHealth, detail?: string): void {
    this.#notes.delete(part);
    // A part that was not ready before is as young as what became of it.
    if (state === 'healthy' || this.#faults.get(part)?.state === 'starting') this.#faults.delete(part);
    if (state !== 'healthy') this.#faults.set(part, { state, detail });
    else if (detail !== undefined) this.#notes.set(part, detail);
    const [worst] = [...this.#faults].sort(([a, left], [b, right]) => this.#rank(a, left) - this.#rank(b, right));
    if (worst) this.#report(worst[1].state, worst[1].detail);
    else this.#report('healthy', this.#notes.size === 0 ? undefined : [...this.#notes.values()].join('; '));
  }
}

/** Ranks parts in this order, whatever is wrong with them. */
export function inOrder<Part extends string>(...parts: readonly Part[]): (part: Part) => number {
  return (part) => parts.indexOf(part);
}
