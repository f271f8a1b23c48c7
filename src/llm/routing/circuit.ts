import type { Clock } from '../../core/ports.ts';

export type CircuitState = 'closed' | 'open' | 'half-open';

export interface CircuitOptions {
  readonly clock: Pick<Clock, 'monotonic'>;
  /** Failures in a row after which the circuit opens. Default 2. */
  readonly threshold?: number;
  /** How long an open circuit stays open before one trial is let through. ms, default 60 s (spec B5). */
  readonly probeIntervalMs?: number;
}

/** Leave of a circuit to make one call. The first outcome told counts, later ones are ignored. */
export interface Pass {
  /** Whether the call is the trial of a half-open circuit. */
  readonly trial: boolean;
  succeeded(): void;
  failed(): void;
  /** The call says nothing of the model: cancelled, or refused by a limit of ours. */
  released(): void;
}

/**
 * closed -> open at `threshold` failures in a row -> half-open after `probeIntervalMs`, with one trial at a
 * time. A success closes the circuit; a trial that fails opens it again.
 */
export class Circuit {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #threshold: number;
  readonly #probeIntervalMs: number;
  #openedAt: number | undefined;
  /** Identity of the trial under way. */
  #trial: object | undefined;
  #consecutiveFailures = 0;

  constructor({ clock, threshold = 2, probeIntervalMs = 60_000 }: CircuitOptions) {
    this.#clock = clock;
    this.#threshold = threshold;
    this.#probeIntervalMs = probeIntervalMs;
  }

  get consecutiveFailures(): number {
    return this.#consecutiveFailures;
  }

  get state(): CircuitState {
    if (this.#openedAt === undefined) return 'closed';
    return this.#clock.monotonic() - this.#openedAt >= this.#probeIntervalMs ? 'half-open' : 'open';
  }

  /** Whether a call may be sent that is not a last resort. */
  get admits(): boolean {
    return this.state === 'closed' || this.#trialDue;
  }

  get #trialDue(): boolean {
    return this.state === 'half-open' && this.#trial === undefined;
  }

  /**
   * Takes leave for one call, which is the trial when one is due. Never refuses: where every circuit is open,
   * a call that may fail is better than none.
   */
  enter(): Pass {
    const call = {};
    let settled = false;
    const trial = this.#trialDue;
    if (trial) this.#trial = call;
    const settle = (outcome: (wasTrial: boolean) => void): void => {
      if (settled) return;
      settled = true;
      const wasTrial = this.#trial === call;
      if (wasTrial) this.#trial = undefined;
      outcome(wasTrial);
    };
    return {
      trial,
      succeeded: () => settle(() => this.#close()),
      failed: () => settle((wasTrial) => this.#fail(wasTrial)),
      released: () => settle(() => undefined),
    };
  }

  #close(): void {
    this.#consecutiveFailures = 0;
    this.#openedAt = undefined;
  }

  /** A straggler, or a last resort, that fails while the circuit is open does not put the next trial off. */
  #fail(wasTrial: boolean): void {
    this.#consecutiveFailures += 1;
    const opens = this.#openedAt === undefined ? this.#consecutiveFailures >= this.#threshold : wasTrial;
    if (opens) this.#openedAt = this.#clock.monotonic();
  }
}
