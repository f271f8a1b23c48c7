import type { ChannelHealth, ChannelHost } from '../../src/core/channel.ts';

/** What can be wrong, each on its own: reading the list, the webhook, storing, and what the platform thinks of the number. */
export type Concern = 'journal' | 'api' | 'webhook' | 'number';

export interface Fault {
  readonly state: 'degraded' | 'down';
  readonly detail: string;
}

/** Reports the worst of several faults, and only changes: a quiet number is polled for ever. */
export class Health {
  readonly #host: ChannelHost;
  readonly #faults = new Map<Concern, Fault>();
  #last: string | undefined;
  #ready = false;

  constructor(host: ChannelHost) {
    this.#host = host;
    this.#say('starting');
  }

  /** Undefined: it is well again. Nothing but faults is reported before the first `ready`. */
  set(concern: Concern, fault: Fault | undefined): void {
    if (fault) this.#faults.set(concern, fault);
    else this.#faults.delete(concern);
    this.#report();
  }

  ready(): void {
    this.#ready = true;
    this.#report();
  }

  stopped(): void {
    this.#faults.clear();
    this.#ready = false;
    this.#say('stopped');
  }

  #report(): void {
    const faults = [...this.#faults.values()];
    const worst = faults.find(({ state }) => state === 'down') ?? faults[0];
    if (worst) this.#say(worst.state, worst.detail);
    else if (this.#ready) this.#say('healthy');
  }

  #say(state: ChannelHealth, detail?: string): void {
    const next = `${state} ${detail ?? ''}`;
    if (next === this.#last) return;
    this.#last = next;
    this.#host.health(state, detail);
  }
}
