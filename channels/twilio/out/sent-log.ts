import { shortHash } from '../../../src/core/ids.ts';
import type { OutboundPart } from '../../../src/core/message.ts';
import { RecentMap } from '../../kit/recent.ts';

/** Attempts of which more is known than from the list. No number sends more in the time it takes to ask. */
const MAX_KEPT = 2_000;

/** What this process knows of its own sends; a restart knows nothing, and then only the list can be asked. */
export class SentLog {
  /** Part's name -> when its first attempt began, epoch ms. */
  readonly #begun = new RecentMap<number>(MAX_KEPT);
  /** SID -> name of the part it is. */
  readonly #owners = new RecentMap<string>(MAX_KEPT);

  /**
   * The name under which Twilio tells us of a part. Addresses of callbacks are logged, and a key says who
   * wrote what.
   */
  static nameOf(part: Pick<OutboundPart, 'key'>): string {
    return shortHash(part.key, 24);
  }

  begin(name: string, at: number): void {
    if (!this.#begun.has(name)) this.#begun.set(name, at);
  }

  /** By the answer to a send, or by a status callback, which may come though the answer was lost. */
  own(sid: string, name: string): void {
    this.#owners.set(sid, name);
  }

  begunAt(name: string): number | undefined {
    return this.#begun.get(name);
  }

  sidOf(name: string): string | undefined {
    for (const [sid, owner] of this.#owners) if (owner === name) return sid;
    return undefined;
  }

  /** True for a message that is another part than this one. */
  isOthers(sid: string, name: string): boolean {
    const owner = this.#owners.get(sid);
    return owner !== undefined && owner !== name;
  }
}
