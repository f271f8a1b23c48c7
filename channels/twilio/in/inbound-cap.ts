const MINUTE_MS = 60_000;

export interface InboundCapOptions {
  readonly perSender: number;
  readonly inAll: number;
}

/**
 * `refused`: must not be answered. `later`: offer it again. It may matter: whom the gateway lets in is not
 * known here.
 */
export type Verdict = 'admitted' | 'refused' | 'later';

/**
 * The guard against a loop with another machine, and against a bill (attack A5): each message in costs money,
 * each answer more. Counts by the time of a message, so that what waited during a pause is not taken for a
 * flood. The same message offered twice counts once, with the same verdict unless that was to wait. In
 * memory: a restart forgives one minute.
 */
export class InboundCap {
  readonly #options: InboundCapOptions;
  /** Sender -> SID -> time and verdict. */
  readonly #seen = new Map<string, Map<string, Entry>>();
  #newest = 0;

  constructor(options: InboundCapOptions) {
    this.#options = options;
  }

  admit({ sid, sender, at, now }: { readonly [Name in 'sid' | 'sender']: string } & { at: number; now: number }): Verdict {
    this.#forget(at, now);
    const window = this.#seen.get(sender) ?? new Map<string, Entry>();
    const known = window.get(sid);
    if (known && known.verdict !== 'later') return known.verdict;
    // What waited counts in the minute in which it is let in: the one it was written in stays full.
    const late = Math.max(at, now);
    const first = known ? late : at;
    const verdict = this.#judge(window, first);
    // The list is offered up to the first that has to wait: what stands behind it has waited as well, unseen.
    const hasWaited = verdict === 'later' && late - at >= MINUTE_MS && this.#judge(window, late) === 'admitted';
    const entry: Entry = hasWaited ? { at: late, verdict: 'admitted' } : { at: first, verdict };
    this.#seen.set(sender, window.set(sid, entry));
    return entry.verdict;
  }

  #judge(window: ReadonlyMap<string, Entry>, at: number): Verdict {
    const { perSender, inAll } = this.#options;
    if (count(window, at) >= perSender) return 'refused';
    let all = 0;
    for (const other of this.#seen.values()) all += count(other, at);
    return all >= inAll ? 'later' : 'admitted';
  }

  /** Twice the window: the list and a webhook may tell the times of one message differently. */
  #forget(at: number, now: number): void {
    // Where the clock was set back, what had a time ahead of it must not make all that comes old.
    this.#newest = Math.min(Math.max(this.#newest, at), Math.max(at, now));
    for (const [sender, window] of this.#seen) {
      for (const [sid, entry] of window) if (this.#newest - entry.at > 2 * MINUTE_MS) window.delete(sid);
      if (window.size === 0) this.#seen.delete(sender);
    }
  }
}

interface Entry {
  readonly at: number;
  readonly verdict: Verdict;
}

/** Admitted ones in the minute before `at`. */
function count(window: ReadonlyMap<string, Entry>, at: number): number {
  let found = 0;
  for (const entry of window.values()) if (entry.verdict === 'admitted' && Math.abs(at - entry.at) < MINUTE_MS) found += 1;
  return found;
}
