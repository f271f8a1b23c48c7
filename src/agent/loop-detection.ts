/** Spec G11. */
const WINDOW = 12;
const LONGEST_CYCLE = 3;
const REPETITIONS = 3;
const FEWEST_CALLS = 4;

/** What the model reads after the first detection of a turn. The second one ends the turn. */
export const LOOP_WARNING =
  'You are repeating the same tool calls. Their results will not change. Use what you have, try something else, or answer now.';

/** Watches the tool calls of one turn for a cycle of one to three calls gone through three times. */
export class LoopDetector {
  #window: string[] = [];
  #seen = 0;

  /** Takes the signatures of one model answer, in order. True when any of them completes a repetition. */
  observe(signatures: readonly string[]): boolean {
    let found = false;
    for (const signature of signatures) {
      this.#window = [...this.#window, signature].slice(-WINDOW);
      this.#seen += 1;
      found ||= this.#seen >= FEWEST_CALLS && this.#repeats();
    }
    return found;
  }

  #repeats(): boolean {
    for (let cycle = 1; cycle <= LONGEST_CYCLE; cycle += 1) {
      const tail = this.#window.slice(-cycle * REPETITIONS);
      if (tail.length === cycle * REPETITIONS && tail.every((signature, i) => i < cycle || signature === tail[i - cycle]))
        return true;
    }
    return false;
  }
}
