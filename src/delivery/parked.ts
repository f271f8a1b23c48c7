import type { Clock } from '../core/ports.ts';
import { NO_LONGER_NEEDED } from '../lib/no-longer-needed.ts';

/** Where a lane's parts are to be sent from. */
export interface Sender {
  readonly channel: string;
  readonly account: string;
}

/** How often an absent channel is looked at again. */
const LOOK_MS = 5_000;
/** Lanes that may be begun at once when their channel is there again: each holds rows in memory. */
const AT_ONCE = 256;

export interface ParkedOptions {
  readonly clock: Pick<Clock, 'monotonic' | 'sleep'>;
  readonly ready: (sender: Sender) => boolean;
  /** Begins the lane. `ended` is called when it ends or parks again. */
  readonly start: (lane: string) => void;
}

/**
 * Lanes with work and no rows in memory: a key each, and when the first part expires. Those of a channel that
 * is down wait for it; when it is there, and at recovery, they are begun by and by, as those begun before
 * end, and otherwise after 5 s.
 */
export class ParkedLanes {
  readonly #options: ParkedOptions;
  /** By sender: its lanes, with the monotonic time at which the first part of each expires. */
  readonly #senders = new Map<string, { readonly sender: Sender; readonly lanes: Map<string, number> }>();
  readonly #due = new Set<string>();
  readonly #begun = new Set<string>();
  #timer: AbortController | undefined;

  constructor(options: ParkedOptions) {
    this.#options = options;
  }

  get size(): number {
    return [...this.#senders.values()].reduce((sum, { lanes }) => sum + lanes.size, this.#due.size);
  }

  /** The lane's channel is down; its first part expires in `leftMs`. */
  park(lane: string, sender: Sender, leftMs: number): void {
    const name = JSON.stringify([sender.channel, sender.account]);
    const known = this.#senders.get(name) ?? { sender, lanes: new Map<string, number>() };
    this.#senders.set(name, known);
    known.lanes.set(lane, this.#options.clock.monotonic() + leftMs);
    this.#watch();
  }

  /** To be begun as soon as fewer than `AT_ONCE` are. */
  defer(lane: string): void {
    this.#due.add(lane);
  }

  /**
   * Whether the lane may begin now, because it is not parked, or its channel is there; then it is no longer
   * parked.
   */
  release(lane: string): boolean {
    for (const { sender, lanes } of this.#senders.values()) {
      if (!lanes.has(lane)) continue;
      if (!this.#options.ready(sender)) return false;
      lanes.delete(lane);
    }
    this.#due.delete(lane);
    return true;
  }

  ended(lane: string): void {
    if (this.#begun.delete(lane)) this.startDue();
  }

  /** Looks at every channel, and for parts that have expired, now. */
  look(): void {
    const now = this.#options.clock.monotonic();
    for (const { lanes } of this.#senders.values()) {
      for (const [lane, expiresAt] of lanes) if (expiresAt <= now && lanes.delete(lane)) this.#due.add(lane);
    }
    this.startDue();
  }

  startDue(): void {
    this.#begin(this.#due);
    for (const [name, { sender, lanes }] of this.#senders) {
      // Asked again before each lane: the first ones may find that the platform cannot be reached.
      this.#begin(lanes, () => this.#options.ready(sender));
      if (lanes.size === 0) this.#senders.delete(name);
    }
    this.#watch();
  }

  #begin(lanes: Map<string, number> | Set<string>, mayBegin = () => true): void {
    for (const lane of lanes.keys()) {
      if (this.#begun.size >= AT_ONCE || !mayBegin()) return;
      lanes.delete(lane);
      this.#begun.add(lane);
      this.#options.start(lane);
    }
  }

  /** Their parts stay in the journal. */
  clear(): void {
    this.#senders.clear();
    this.#due.clear();
    this.#timer?.abort(NO_LONGER_NEEDED);
  }

  #watch(): void {
    if (this.#timer || this.size === 0) return;
    const timer = new AbortController();
    this.#timer = timer;
    const { clock } = this.#options;
    let ms = LOOK_MS;
    for (const { lanes } of this.#senders.values())
      for (const expiresAt of lanes.values()) ms = Math.min(ms, Math.max(0, expiresAt - clock.monotonic()));
    const over = (): void => {
      this.#timer = undefined;
      // Those that still wait, for a retry say, hold up the others no longer.
      this.#begun.clear();
      if (!timer.signal.aborted) this.look();
    };
    clock.sleep(ms, timer.signal).then(over, over);
  }
}
