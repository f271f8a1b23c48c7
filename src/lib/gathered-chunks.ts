/** More than this waits in the connection, not in memory. Bytes. */
const GATHERED_BYTES = 256_000;

/** Where the bytes come from. */
export interface Source {
  pause(): void;
  resume(): void;
}

/**
 * Bytes that are pushed, as an iterator: each step gives all that came since the one before, which under load
 * is far less work than a step for each piece. Leaving early calls `leave`; what was pushed by then is
 * dropped.
 */
export class GatheredChunks implements AsyncIterableIterator<Uint8Array> {
  readonly #source: Source;
  readonly #leave: () => void;
  #gathered: Uint8Array[] = [];
  #bytes = 0;
  #isPaused = false;
  #end: { readonly error: unknown } | undefined;
  #wake: (() => void) | undefined;

  constructor(source: Source, leave: () => void) {
    this.#source = source;
    this.#leave = leave;
  }

  push(chunk: Uint8Array): void {
    if (this.#end) return;
    this.#gathered.push(chunk);
    this.#bytes += chunk.length;
    if (this.#bytes >= GATHERED_BYTES && !this.#isPaused) {
      this.#isPaused = true;
      this.#source.pause();
    }
    this.#wake?.();
  }

  /** With an error, the iterator rejects with it behind what was pushed before. */
  end(error?: unknown): void {
    this.#end ??= { error };
    this.#wake?.();
  }

  [Symbol.asyncIterator](): this {
    return this;
  }

  async next(): Promise<IteratorResult<Uint8Array, undefined>> {
    for (;;) {
      if (this.#bytes > 0) return { done: false, value: this.#take() };
      if (this.#end?.error) throw this.#end.error;
      if (this.#end) return { done: true, value: undefined };
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
    }
  }

  async return(): Promise<IteratorResult<Uint8Array, undefined>> {
    const isWhole = this.#end !== undefined;
    this.end();
    this.#take();
    if (!isWhole) this.#leave();
    return { done: true, value: undefined };
  }

  #take(): Uint8Array {
    const [only, more] = this.#gathered;
    const value = only && !more ? only : Buffer.concat(this.#gathered);
    this.#gathered = [];
    this.#bytes = 0;
    if (this.#isPaused) {
      this.#isPaused = false;
      this.#source.resume();
    }
    return value;
  }
}
