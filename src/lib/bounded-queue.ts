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

  /**
   * Resolves or rejects as the job does, which keeps its place until then. `signal` ends the wait for its
   * turn with its reason, and no job that has begun.
   */
  async run<T>(job: () => Promise<T>, signal?: AbortSignal): Promise<T> {
    signal?.throwIfAborted();
    // Not `signal` itself: the queue would give the place of a job that is still ending to the next one.
    const wait = new AbortController();
    const onAbort = (): void => wait.abort(signal?.reason);
    const stopListening = (): void => signal?.removeEventListener('abort', onAbort);
    signal?.addEventListener('abort', onAbort, { once: true });
    const begin = (): Promise<T> => {
      stopListening();
      return job();
    };
    return await this.#queue.add(begin, { signal: wait.signal }).finally(stopListening);
  }
}
