// rows of erasures -> each is finished, beside all other work, as soon as there is one and after every start
import type { Erasure, Erasures } from '../core/erasure.ts';
import { errorText } from '../core/errors.ts';
import type { Clock, Logger } from '../core/ports.ts';
import type { Dated } from '../core/wait.ts';
import { type ErasureOptions, finishErasure, type LeftFiles } from './erasure.ts';

const RETRY_MS = 60_000;

export interface ErasingOptions extends Omit<ErasureOptions, 'signal' | 'isAlone' | 'onLeft'> {
  readonly erasures: Erasures;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** One at a time, and beside the ticker: it may have to wait for a turn. What fails is tried again later. */
export class Erasing implements Dated, AsyncDisposable {
  readonly #options: ErasingOptions;
  readonly #stop = new AbortController();
  #running: Promise<void> | undefined;
  #notBefore = 0;

  constructor(options: ErasingOptions) {
    this.#options = options;
  }

  async earliest(): Promise<number | undefined> {
    if (this.#stop.signal.aborted) return undefined;
    // It may fail, and others may be begun meanwhile: nothing wakes the ticker for them.
    if (this.#running) return this.#options.clock.now() + RETRY_MS;
    const [first] = await this.#options.erasures.open();
    return first && Math.max(first.at, this.#notBefore);
  }

  async fire(): Promise<void> {
    const open = await this.#options.erasures.open();
    this.#running ??= this.#finishAll(open).finally(() => {
      this.#running = undefined;
    });
  }

  /** What is under way stops at its next step; the next start goes on with it. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort(new Error('the daemon stops'));
    await this.#running;
  }

  async #finishAll(open: readonly Erasure[]): Promise<void> {
    const { clock, logger } = this.#options;
    const { signal } = this.#stop;
    for (const erasure of open) {
      try {
        const onLeft = ({ left, unsearched }: LeftFiles): void =>
          logger.warn('person.left', { person: erasure.key, files: [...left], unsearched: [...unsearched] });
        await finishErasure(erasure, { ...this.#options, signal, isAlone: false, onLeft });
        logger.info('person.erased', { person: erasure.key });
      } catch (error) {
        if (signal.aborted) return;
        this.#notBefore = clock.now() + RETRY_MS;
        logger.warn('person.not-erased', { person: erasure.key, detail: errorText(error), retryInMs: RETRY_MS });
      }
    }
  }
}
