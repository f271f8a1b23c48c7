/**
 * One line to the gateway. Platforms push over many connections, and the second message must not pass a first
 * one that waits. A message stays in line when its connection is gone, since the platform gives up long
 * before a busy gateway does.
 */
export class InboundLine {
  readonly #capacity: number;
  #waiting = 0;
  #last: Promise<unknown> = Promise.resolve();

  /** `push` refuses more: the platform offers again what is not acknowledged. Default: no limit. */
  constructor(capacity = Number.POSITIVE_INFINITY) {
    this.#capacity = capacity;
  }

  /** Runs `task` when all before it are over, however they ended. Undefined when the line is full. */
  push<T>(task: () => Promise<T>): Promise<T> | undefined {
    return this.#waiting < this.#capacity ? this.run(task) : undefined;
  }

  /** The same for what may always wait. */
  run<T>(task: () => Promise<T>): Promise<T> {
    this.#waiting += 1;
    const turn = this.#last.then(task).finally(() => {
      this.#waiting -= 1;
    });
    // Who called hears of a failure; those behind only wait for the end.
    this.#last = turn.catch(() => undefined);
    return turn;
  }

  /** Resolves when nothing that is in line now is left. */
  async idle(): Promise<void> {
    await this.#last;
  }
}
