import type { Clock } from '../core/ports.ts';
import type { Sender } from './parked.ts';

/** Chats in which a send failed, with none in between that was answered: then it is not the chats. */
const CHATS = 8;
/** How long nothing is sent then: twice as long before each further try, up to the longest. ms. */
const FIRST_MS = 5_000;
const LONGEST_MS = 60_000;

interface Trouble {
  readonly lanes: Set<string>;
  /** Monotonic. After it one send at a time tries whether the platform is back. */
  closedUntil: number;
  pauseMs: number;
}

/**
 * Notices that a platform cannot be reached. A few sends find that out in place of one for each chat that has
 * something to say, so that an outage costs neither their attempts nor the memory of lanes that wait.
 */
export class Outages {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #troubles = new Map<string, Trouble>();

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  isOpen(sender: Sender): boolean {
    const trouble = this.#troubles.get(nameOf(sender));
    return trouble === undefined || trouble.lanes.size < CHATS || trouble.closedUntil <= this.#clock.monotonic();
  }

  /**
   * To be asked right before a send. False = another one is finding out whether the platform is back. What
   * came of it is told by `answered`, `failed` or `unused`; where it never is, it counts for a minute.
   */
  begin(sender: Sender): boolean {
    if (!this.isOpen(sender)) return false;
    const trouble = this.#troubles.get(nameOf(sender));
    if (trouble && trouble.lanes.size >= CHATS) {
      trouble.closedUntil = this.#clock.monotonic() + LONGEST_MS;
      trouble.pauseMs = Math.min(trouble.pauseMs * 2, LONGEST_MS);
    }
    return true;
  }

  /** What `begin` allowed was not sent, so nothing was found out: the next one may try at once. */
  unused(sender: Sender): void {
    const trouble = this.#troubles.get(nameOf(sender));
    if (!trouble || trouble.lanes.size < CHATS) return;
    trouble.closedUntil = this.#clock.monotonic();
    trouble.pauseMs = Math.max(FIRST_MS, trouble.pauseMs / 2);
  }

  /** The platform answered, with a refusal perhaps. */
  answered(sender: Sender): void {
    this.#troubles.delete(nameOf(sender));
  }

  /** A send of this lane failed, and is tried again. */
  failed(sender: Sender, lane: string): void {
    const name = nameOf(sender);
    const trouble = this.#troubles.get(name) ?? { lanes: new Set<string>(), closedUntil: 0, pauseMs: FIRST_MS };
    this.#troubles.set(name, trouble);
    if (trouble.lanes.size < CHATS) trouble.lanes.add(lane);
    if (trouble.lanes.size >= CHATS) trouble.closedUntil = this.#clock.monotonic() + trouble.pauseMs;
  }
}

function nameOf({ channel, account }: Sender): string {
  return JSON.stringify([channel, account]);
}
