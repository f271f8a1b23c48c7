import type { ChannelHost } from '../../src/core/channel.ts';
import { changesOnly, type ReportHealth } from '../kit/reported-health.ts';

/** What can be wrong, each on its own: reading the list, the webhook, storing, what the platform thinks of the number, messages lost on the way. */
export type Concern = 'journal' | 'api' | 'webhook' | 'number' | 'undelivered';

export interface Fault {
  readonly state: 'degraded' | 'down';
  readonly detail: string;
}

/** Reports the worst of several faults, and only changes: a quiet number is polled for ever. */
export class Health {
  readonly #say: ReportHealth;
  readonly #faults = new Map<Concern, Fault>();
  #ready = false;

  constructor(host: ChannelHost) {
    this.#say = changesOnly((state, detail) => host.health(state, detail));
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

  /** Reports nothing any more. */
  close(): void {
    this.#faults.clear();
    this.#ready = false;
  }

  #report(): void {
    const faults = [...this.#faults];
    // What is past hides nothing that is wrong now.
    const [, worst] =
      faults.find(([, { state }]) => state === 'down') ??
      faults.find(([concern]) => concern !== 'undelivered') ??
      faults[0] ??
      [];
    if (worst) this.#say(worst.state, worst.detail);
    else if (this.#ready) this.#say('healthy');
  }
}
