import type { Clock } from '../core/ports.ts';

/** A channel that had work this recently is expected to have some again. */
const RECENT_MS = 60_000;

interface ChannelState {
  running: number;
  /** Jobs in the order they came, with their place over all channels. */
  readonly waiting: { readonly order: number; readonly start: () => void }[];
  /** Monotonic time of its last arrival. */
  lastAt: number;
}

export interface TurnPermitsOptions {
  /** Turns that may run at once over all channels. */
  readonly total: number;
  /** Channels that may have work. One alone may use every permit. */
  readonly channels: number;
  readonly clock: Pick<Clock, 'monotonic'>;
}

/**
 * The bound on turns that run at once, shared so that no channel waits for the turns of another that take long: a model that needs
 * half a minute for the people of one channel would otherwise hold every permit for as long. Each channel with recent work is sure
 * of an equal share, one permit is for a channel that had none lately, and what is left over goes to whoever asks first.
 */
export class TurnPermits {
  readonly #options: TurnPermitsOptions;
  readonly #channels = new Map<string, ChannelState>();
  #running = 0;
  #arrivals = 0;

  constructor(options: TurnPermitsOptions) {
    this.#options = options;
  }

  get running(): number {
    return this.#running;
  }

  get waiting(): number {
    return [...this.#channels.values()].reduce((sum, { waiting }) => sum + waiting.length, 0);
  }

  /** Runs the job once the channel has a permit; within a channel first come, first served. Resolves or rejects as the job does. */
  async run<T>(channel: string, job: () => Promise<T>): Promise<T> {
    const state = this.#state(channel);
    state.lastAt = this.#options.clock.monotonic();
    if (state.waiting.length > 0 || !this.#mayStart(state)) {
      const { promise, resolve } = Promise.withResolvers<void>();
      this.#arrivals += 1;
      state.waiting.push({ order: this.#arrivals, start: resolve });
      // Whoever hands the permit over counts it.
      await promise;
    } else this.#take(state);
    try {
      return await job();
    } finally {
      state.running -= 1;
      this.#running -= 1;
      this.#handOn();
    }
  }

  #state(channel: string): ChannelState {
    const found = this.#channels.get(channel) ?? { running: 0, waiting: [], lastAt: 0 };
    this.#channels.set(channel, found);
    return found;
  }

  #take(state: ChannelState): void {
    state.running += 1;
    this.#running += 1;
  }

  /** A channel that may not start although permits are free has a turn running, whose end comes back here: none waits for ever. */
  #handOn(): void {
    for (;;) {
      let next: ChannelState | undefined;
      for (const state of this.#channels.values()) {
        const order = state.waiting[0]?.order;
        if (order === undefined || !this.#mayStart(state)) continue;
        if (next === undefined || order < (next.waiting[0]?.order ?? 0)) next = state;
      }
      const waiting = next?.waiting.shift();
      if (!next || !waiting) return;
      this.#take(next);
      waiting.start();
    }
  }

  #mayStart(state: ChannelState): boolean {
    const { total, channels, clock } = this.#options;
    const free = total - this.#running;
    if (free <= 0) return false;
    const since = clock.monotonic() - RECENT_MS;
    const busy = [...this.#channels.values()].filter(
      (one) => one === state || one.running > 0 || one.waiting.length > 0 || one.lastAt > since,
    );
    const forIdle = busy.length < channels ? 1 : 0;
    const share = Math.max(1, Math.floor(total / (busy.length + forIdle)));
    if (state.running < share) return true;
    const kept = busy.reduce((sum, other) => sum + (other === state ? 0 : Math.max(0, share - other.running)), forIdle);
    return free > kept;
  }
}
