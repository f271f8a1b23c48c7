/** Ids kept in memory over all sessions, about 10 MB: bounds what many large sessions cost (F46). */
const MAX_IDS = 100_000;

/** What is known about a file between two calls; thrown away whenever it might be wrong. */
export interface FileState {
  /** Of the lines in it. */
  readonly ids: Set<string>;
  bytes: number;
}

/** The files used last, by session key. Once it holds too many ids, it forgets what was used longest ago. */
export class KnownFiles {
  /** In order of use, the oldest first. */
  readonly #files = new Map<string, { readonly state: FileState; readonly weight: number }>();
  #weight = 0;

  get(key: string): FileState | undefined {
    return this.#files.get(key)?.state;
  }

  /** Call it again after ids were added. */
  remember(key: string, state: FileState): void {
    this.forget(key);
    const weight = state.ids.size + 1;
    this.#files.set(key, { state, weight });
    this.#weight += weight;
    for (const oldest of this.#files.keys()) {
      if (this.#weight <= MAX_IDS || oldest === key) break;
      this.forget(oldest);
    }
  }

  forget(key: string): void {
    const known = this.#files.get(key);
    if (!known) return;
    this.#files.delete(key);
    this.#weight -= known.weight;
  }
}
