const MINUTE_MS = 60_000;

export interface InboundCapOptions {
  readonly perSender: number;
  readonly inAll: number;
}

/**
 * The guard against a loop with another machine, and against a bill (attack A5): each message in costs money, each answer
 * more. Counts by the time of a message, so that what waited during a pause is not taken for a flood. The same message offered
 * twice counts once, with the same verdict. In memory: a restart forgives one minute.
 */
export class InboundCap {
  readonly #options: InboundCapOptions;
  /** Sender -> SID -> time and verdict. */
  readonly #seen = new Map<string, Map<string, { readonly at: number; readonly admitted: boolean }>>();
  #newest = 0;

  constructor(options: InboundCapOptions) {
    this.#options = options;
  }

  /** False: this message must not be answered. */
  admit({ sid, sender, at }: { readonly sid: string; readonly sender: string; readonly at: number }): boolean {
    this.#forget(at);
    const window = this.#seen.get(sender) ?? new Map<string, { at: number; admitted: boolean }>();
    const known = window.get(sid);
    if (known) return known.admitted;
    const own = count(window, at);
    let all = 0;
    for (const other of this.#seen.values()) all += count(other, at);
    const admitted = own < this.#options.perSender && all < this.#options.inAll;
    this.#seen.set(sender, window.set(sid, { at, admitted }));
    return admitted;
  }

  /** Twice the window: the list and a webhook may tell the times of one message differently. */
  #forget(at: number): void {
    this.#newest = Math.max(this.#newest, at);
    for (const [sender, window] of this.#seen) {
      for (const [sid, entry] of window) if (this.#newest - entry.at > 2 * MINUTE_MS) window.delete(sid);
      if (window.size === 0) this.#seen.delete(sender);
    }
  }
}

/** Admitted ones in the minute before `at`. */
function count(window: ReadonlyMap<string, { at: number; admitted: boolean }>, at: number): number {
  let found = 0;
  for (const entry of window.values()) if (entry.admitted && Math.abs(at - entry.at) < MINUTE_MS) found += 1;
  return found;
}
