import PQueue from 'p-queue';

/** Runs at most `concurrency` jobs at once, first come first served. */
export class BoundedQueue {
  readonly #queue: PQueue;

  constructor(concurrency: number) {
    this.#queue = new PQueue({ concurrency });
  }

  get running(): number {
    return this.#queue.pending;
  }

  get waiting(): number {
    return this.#queue.size;
  }

  /** Resolves or rejects as the job does. */
  run<T>(job: () => Promise<T>): Promise<T> {
    return this.#queue.add(job);
  }
}
