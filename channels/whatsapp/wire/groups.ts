import type { GroupMetadata } from '@whiskeysockets/baileys';
import type { Clock } from '../../../src/core/ports.ts';

const TTL_MS = 5 * 60_000;

/** Who is in which group, for a while: asking for the members before every message gets accounts limited. */
export class GroupCache {
  readonly #clock: Clock;
  readonly #ask: (jid: string) => Promise<GroupMetadata>;
  readonly #groups = new Map<string, { readonly metadata: GroupMetadata; readonly until: number }>();

  constructor(clock: Clock, ask: (jid: string) => Promise<GroupMetadata>) {
    this.#clock = clock;
    this.#ask = ask;
  }

  cached(jid: string): GroupMetadata | undefined {
    const cached = this.#groups.get(jid);
    return cached && cached.until > this.#clock.monotonic() ? cached.metadata : undefined;
  }

  /** Afterwards it is cached. Rejects with the platform's word. */
  async know(jid: string): Promise<void> {
    if (this.cached(jid)) return;
    const metadata = await this.#ask(jid);
    this.#groups.set(jid, { metadata, until: this.#clock.monotonic() + TTL_MS });
  }

  /** Something about it has changed. */
  forget(jid: string | undefined): void {
    if (jid !== undefined) this.#groups.delete(jid);
  }
}
