import { sessionStem } from './file-name.ts';

/** Keys whose paths are remembered. */
const MOST_STEMS = 1_000;

/** Paths of sessions without their ending, by key: each turn asks for its own some ten times. */
export class Stems {
  readonly #dir: string;
  readonly #stems = new Map<string, string>();

  constructor(dir: string) {
    this.#dir = dir;
  }

  of(key: string): string {
    let stem = this.#stems.get(key);
    if (stem !== undefined) return stem;
    if (this.#stems.size >= MOST_STEMS) this.#stems.clear();
    stem = sessionStem(this.#dir, key);
    this.#stems.set(key, stem);
    return stem;
  }
}
