import type { Role } from '../core/authority.ts';
import type { Clock } from '../core/ports.ts';
import { type FairItem, FairQueue, NOBODY, RECENT_MS, type Room } from '../lib/fair-queue.ts';
import { startTimer } from '../lib/timer.ts';

interface ChannelState {
  running: number;
  /** Jobs by sender, with their place over all channels. */
  readonly waiting: FairQueue<FairItem & { readonly start: () => void }>;
  /** Monotonic time of its last arrival. */
  lastAt: number;
}

/** Whose turn it is. */
export interface TurnOf {
  readonly channel: string;
  /** Absent: of no person; then no share of a person bounds it. */
  readonly senderId?: string;
  /** The owner's turns are not limited by `ofPerson`. */
  readonly role?: Role;
  /** Work that no person waits for: it has a share of its own, see `TurnPermitsOptions.background`. */
  readonly isBackground?: boolean;
}

/** Asked at each use. */
export interface TurnPermitsOptions {
  /** Turns that may run at once over all channels. */
  readonly total: number;
  /** Channels that may have work. One alone may use every permit. */
  readonly channels: number;
  /** Of these, the turns that one person may have on one channel. Default: see `turnsOfPerson`. */
  readonly ofPerson?: number | undefined;
  /** Turns in the background that may run at once; never more than half of all. Default: half of all. */
  readonly background?: number | undefined;
  readonly clock: Pick<Clock, 'monotonic' | 'sleep'>;
}

/** A turn that was stopped gives its permit back by then, though a program of it is still being ended. ms. */
const STOPPED_MS = 300;
/** Turns of so many people fill all permits, as long as no other limit is set. */
const OF_PERSON = 3;

/**
 * Turns that one person may have at once. By default a third of all, and so many only that the other people
 * of their channel have a permit left, however many channels have work; at least one.
 */
export function turnsOfPerson({ ofPerson, total, channels }: Omit<TurnPermitsOptions, 'clock'>): number {
  if (ofPerson !== undefined) return ofPerson;
  let most = Math.floor(total / OF_PERSON);
  for (let busy = 1; busy <= channels; busy += 1) {
    const { share, forIdle } = sharing(total, channels, busy);
    most = Math.min(most, Math.max(share, total - (busy - 1) * share - forIdle) - 1);
  }
  return Math.max(1, most);
}

/** Turns in the background that may run at once: conversations keep half of all. */
export function backgroundTurns({ background, total }: Pick<TurnPermitsOptions, 'background' | 'total'>): number {
  const half = Math.max(1, Math.floor(total / 2));
  return Math.min(background ?? half, half);
}

/** What each of so many busy channels is sure of, and what is for one that has had no work lately. */
function sharing(total: number, channels: number, busy: number): { readonly share: number; readonly forIdle: number } {
  const forIdle = busy < channels ? 1 : 0;
  return { share: Math.max(1, Math.floor(total / (busy + forIdle))), forIdle };
}

/**
 * The bound on turns that run at once, shared so that no channel waits for the turns of another that take
 * long: a model that needs half a minute for the people of one channel would otherwise hold every permit for
 * as long. Each channel with recent work is sure of an equal share, one permit is for a channel that had none
 * lately, and what is left over goes to the sender who asks first. Below that, the senders of a channel take
 * turns, and none holds every permit that the channel may have: see `FairQueue`. A person with many slow
 * turns holds no more than `ofPerson` permits; their other turns wait in the order they came, without one.
 * Turns in the background share a part of the permits among the people who asked for them, whatever channel
 * they answer on, and conversations always have the rest. Permits are handed on when a job comes, when one
 * ends, and when a channel has had no work for a minute.
 */
export class TurnPermits {
  readonly #options: TurnPermitsOptions;
  readonly #channels = new Map<string, ChannelState>();
  readonly #background: ChannelState = { running: 0, waiting: new FairQueue(), lastAt: 0 };
  #running = 0;
  #arrivals = 0;
  /** Waits for the share of a channel that falls quiet, while a job waits that could have it. */
  #wake: { readonly at: number; readonly stop: () => void } | undefined;

  constructor(options: TurnPermitsOptions) {
    this.#options = options;
  }

  get running(): number {
    return this.#running;
  }

  get waiting(): number {
    return this.#states.reduce((sum, { waiting }) => sum + waiting.size, 0);
  }

  /** Of `waiting`, those that no turn in the background is. */
  get conversationsWaiting(): number {
    return this.waiting - this.#background.waiting.size;
  }

  /** Turns that one person may have at once; the owner may have more. */
  get ofPerson(): number {
    return turnsOfPerson(this.#options);
  }

  get #states(): readonly ChannelState[] {
    return [...this.#channels.values(), this.#background];
  }

  /** The numbers were changed: turns that wait and may start now do. */
  look(): void {
    this.#handOn();
  }

  /**
   * Runs the job once the channel has a permit; for a sender first come, first served. Resolves or rejects as
   * the job does; to undefined, without it, when the signal aborts before. A job that is still ending some
   * time after the abort keeps its caller waiting, and no permit.
   */
  async run<T>(
    { channel, senderId = NOBODY, role, isBackground = false }: TurnOf,
    job: () => Promise<T>,
    signal?: AbortSignal,
  ): Promise<T | undefined> {
    const state = isBackground ? this.#background : this.#state(channel);
    if (!(await this.#permit(state, { senderId, isUnlimited: role === 'owner' }, signal))) return undefined;
    let isHeld = true;
    const giveBack = (): void => {
      if (!isHeld) return;
      isHeld = false;
      state.running -= 1;
      state.waiting.ended(senderId, this.#options.clock.monotonic());
      this.#running -= 1;
      this.#handOn();
    };
    let stop: (() => void) | undefined;
    const onAbort = (): void => {
      stop = startTimer(this.#options.clock, STOPPED_MS, giveBack);
    };
    signal?.addEventListener('abort', onAbort, { once: true });
    try {
      return await job();
    } finally {
      signal?.removeEventListener('abort', onAbort);
      stop?.();
      giveBack();
    }
  }

  /** True once there is one, which is counted; false when the signal aborts before. */
  #permit(
    state: ChannelState,
    { senderId, isUnlimited }: { readonly senderId: string; readonly isUnlimited: boolean },
    signal?: AbortSignal,
  ): Promise<boolean> {
    state.lastAt = this.#options.clock.monotonic();
    const { promise, resolve } = Promise.withResolvers<boolean>();
    this.#arrivals += 1;
    const start = (): void => {
      signal?.removeEventListener('abort', onAbort);
      resolve(true);
    };
    const item = { order: this.#arrivals, isUnlimited, start };
    const onAbort = (): void => {
      state.waiting.remove(senderId, item);
      resolve(false);
      this.#handOn();
    };
    state.waiting.push(senderId, item, state.lastAt);
    signal?.addEventListener('abort', onAbort, { once: true });
    if (signal?.aborted) onAbort();
    // Also to those that wait already: what was kept from them may have become free since. A permit is
    // counted when it is handed over.
    else this.#handOn();
    return promise;
  }

  #state(channel: string): ChannelState {
    const found = this.#channels.get(channel) ?? { running: 0, waiting: new FairQueue(), lastAt: 0 };
    this.#channels.set(channel, found);
    return found;
  }

  /**
   * Starts the jobs that may start, in the order they came. A channel that may not although permits are free
   * has a turn running: none waits for ever.
   */
  #handOn(): void {
    for (;;) {
      const now = this.#options.clock.monotonic();
      let next: { readonly state: ChannelState; readonly order: number; readonly room: Room } | undefined;
      for (const state of this.#states) {
        if (state.waiting.size === 0) continue;
        const room = this.#room(state);
        const order = state.waiting.peek(room, now)?.order;
        if (order !== undefined && order < (next?.order ?? Number.POSITIVE_INFINITY)) next = { state, order, room };
      }
      const waiting = next?.state.waiting.take(next.room, now);
      if (!next || !waiting) break;
      next.state.running += 1;
      this.#running += 1;
      waiting.start();
    }
    this.#watch();
  }

  /**
   * One timer, for the next channel that will have been without work for so long that others may have its
   * share. It lasts a minute at most, and only while a job waits although a permit is free. Once all jobs
   * have ended there is none.
   */
  #watch(): void {
    const { total, clock } = this.#options;
    const now = clock.monotonic();
    const quiet = this.#states.flatMap((one) => [quietAt(one), one.waiting.quietAt(now)]);
    const at = Math.min(...quiet.filter((one) => one > now));
    const isOfUse = at < Infinity && this.#running < total && this.waiting > 0;
    if (isOfUse && this.#wake?.at === at) return;
    this.#wake?.stop();
    this.#wake = undefined;
    if (!isOfUse) return;
    const woken = (): void => {
      this.#wake = undefined;
      this.#handOn();
    };
    this.#wake = { at, stop: startTimer(clock, at - now, woken) };
  }

  /** Permits that a channel may take now, and those that it is sure of. */
  #room(state: ChannelState): Room {
    const { channels, clock } = this.#options;
    const free = this.#options.total - this.#running;
    if (state === this.#background) {
      const most = backgroundTurns(this.#options);
      return { places: Math.min(free, most - state.running), share: 1, most };
    }
    const total = this.#options.total - this.#background.running;
    const now = clock.monotonic();
    const busy = [...this.#channels.values()].filter((one) => one === state || quietAt(one) > now);
    const { share, forIdle } = sharing(total, channels, busy.length);
    const kept = busy.reduce((sum, other) => sum + (other === state ? 0 : Math.max(0, share - other.running)), forIdle);
    return { places: Math.min(free, Math.max(share - state.running, free - kept)), share, most: this.ofPerson };
  }
}

/** From when on a channel counts as one without work, if nothing more comes: never, while it has some. */
function quietAt({ running, waiting, lastAt }: ChannelState): number {
  return running > 0 || waiting.size > 0 ? Infinity : lastAt + RECENT_MS;
}
