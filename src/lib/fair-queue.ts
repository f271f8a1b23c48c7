export interface FairItem {
  /** Place among all items; smaller came earlier. */
  readonly order: number;
  /** Its party may have more of these running than `Room.most`. */
  readonly isUnlimited?: boolean;
}

export interface Room {
  /** Free now. */
  readonly places: number;
  /** Places that all parties together are sure of. */
  readonly share: number;
  /** Items of one party that may run at once; at least 1. */
  readonly most: number;
}

/** A party that had work this recently is expected to have some again. */
export const RECENT_MS = 60_000;

interface Party<T> {
  running: number;
  readonly waiting: T[];
  /** Monotonic time of its last arrival or end. */
  lastAt: number;
}

/**
 * Items of many parties that share places: whose turn it is next. A party with nothing running comes before
 * one with something, and of those the one that waits longest; within a party, first come, first served. So a
 * party with many items delays another by no more than one. One that has something running leaves places to
 * the others that had work lately, up to half of the share or of the places that there are, where those are
 * more; and from `UNKNOWN_FROM` places on always one to a party that had none: items that take long must not
 * hold every place. A party that has as many running as one may have waits until one of its own ends. Items
 * without a party count for none, leave nothing, and are not limited.
 */
export class FairQueue<T extends FairItem> {
  /** Those known lately, the one that was quiet for longest first. */
  readonly #parties = new Map<string, Party<T>>();
  /** Parties that wait with nothing running, and with something running. */
  readonly #fresh = new Set<string>();
  readonly #served = new Set<string>();
  #size = 0;
  #running = 0;

  /** Items that wait. */
  get size(): number {
    return this.#size;
  }

  /** Parties that are remembered. */
  get parties(): number {
    return this.#parties.size;
  }

  push(party: string, item: T, now: number): void {
    const state = this.#touch(party, now);
    state.waiting.push(item);
    this.#size += 1;
    this.#file(party, state);
  }

  /** The item whose turn it is; undefined when none may begin. */
  peek(room: Room, now: number): T | undefined {
    const party = room.places > 0 ? this.#next(room, now) : undefined;
    return party === undefined ? undefined : this.#parties.get(party)?.waiting[0];
  }

  /** Begins the item that `peek` shows; `ended` is called when it is over. */
  take(room: Room, now: number): T | undefined {
    const party = room.places > 0 ? this.#next(room, now) : undefined;
    const state = party === undefined ? undefined : this.#parties.get(party);
    const item = state?.waiting.shift();
    if (!state || !item || party === undefined) return undefined;
    state.running += 1;
    this.#running += 1;
    this.#size -= 1;
    this.#file(party, state);
    return item;
  }

  /** Takes back an item that waits. */
  remove(party: string, item: T): void {
    const state = this.#parties.get(party);
    const at = state?.waiting.indexOf(item) ?? -1;
    if (!state || at < 0) return;
    state.waiting.splice(at, 1);
    this.#size -= 1;
    this.#file(party, state);
  }

  ended(party: string, now: number): void {
    const state = this.#touch(party, now);
    state.running -= 1;
    this.#running -= 1;
    this.#file(party, state);
  }

  /** When a place that is kept for a quiet party becomes free; Infinity when that is of use to none. */
  quietAt(now: number): number {
    if (this.#served.size === 0) return Number.POSITIVE_INFINITY;
    for (const { running, lastAt } of this.#parties.values())
      if (running === 0 && lastAt + RECENT_MS > now) return lastAt + RECENT_MS;
    return Number.POSITIVE_INFINITY;
  }

  #next({ places, share, most }: Room, now: number): string | undefined {
    for (const party of this.#fresh) return party;
    let best: string | undefined;
    const rank = (party: string): readonly [number, number] => {
      const { running = 0, waiting = [] } = this.#parties.get(party) ?? {};
      return [running, waiting[0]?.order ?? 0];
    };
    for (const party of this.#served) {
      if (this.#isAtLimit(party, most)) continue;
      if (places <= this.#kept(party, places, share, now)) continue;
      const [[running, order], [least, oldest]] = [rank(party), best === undefined ? [Number.POSITIVE_INFINITY, 0] : rank(best)];
      if (running < least || (running === least && order < oldest)) best = party;
    }
    return best;
  }

  #isAtLimit(party: string, most: number): boolean {
    const { running = 0, waiting = [] } = this.#parties.get(party) ?? {};
    return party !== NOBODY && running >= most && waiting[0]?.isUnlimited !== true;
  }

  /** Places that this party leaves to others. Looks at no more parties than run or are kept a place for. */
  #kept(party: string, places: number, share: number, now: number): number {
    if (party === NOBODY) return 0;
    const most = Math.floor(Math.max(share, places + this.#running) / 2);
    let others = 0;
    for (const [key, { running, waiting, lastAt }] of this.#parties) {
      if (others >= most) break;
      if (running > 0 || waiting.length > 0 || key === party) continue;
      if (lastAt + RECENT_MS > now) others += 1;
      else this.#parties.delete(key);
    }
    return Math.min(most, Math.max(share >= UNKNOWN_FROM ? 1 : 0, others));
  }

  #touch(party: string, now: number): Party<T> {
    this.#forgetQuiet(party, now);
    const state = this.#parties.get(party) ?? { running: 0, waiting: [], lastAt: now };
    state.lastAt = now;
    this.#parties.delete(party);
    this.#parties.set(party, state);
    return state;
  }

  /** Those before the first that has work or had some lately. */
  #forgetQuiet(but: string, now: number): void {
    for (const [key, { running, waiting, lastAt }] of this.#parties) {
      if (key === but || running > 0 || waiting.length > 0 || lastAt + RECENT_MS > now) return;
      this.#parties.delete(key);
    }
  }

  #file(party: string, { running, waiting }: Party<T>): void {
    const place = waiting.length === 0 ? undefined : running === 0 ? this.#fresh : this.#served;
    for (const set of [this.#fresh, this.#served]) if (set !== place) set.delete(party);
    place?.add(party);
  }
}

/** The party of items of no party in particular. */
export const NOBODY = '';
const UNKNOWN_FROM = 5;
