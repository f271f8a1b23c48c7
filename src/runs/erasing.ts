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
  /** By the clock that cannot be set. */
  #notBefore = 0;

  constructor(options: ErasingOptions) {
    this.#options = options;
  }

  async earliest(): Promise<number | undefined> {
    if (this.#stop.signal.aborted) return undefined;
    // It may fail, and others may be begun meanwhile: nothing wakes the ticker for them.
    const { clock, erasures } = this.#options;
    if (this.#running) return clock.now() + RETRY_MS;
    if ((await erasures.open()).length === 0) return undefined;
    // At once, whatever the date on which it was begun: that clock may have been ahead.
    return clock.now() + Math.max(0, this.#notBefore - clock.monotonic());
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
    const keys = open.map(({ key }) => key);
    for (const key of keys) {
      let erasure: Erasure | undefined;
      try {
        // It may have been asked for again while the others were finished.
        erasure = await this.#openOf(key);
        if (!erasure) continue;
        const onLeft = ({ left, unsearched }: LeftFiles): void =>
          logger.warn('person.left', { person: key, files: [...left], unsearched: [...unsearched] });
        await finishErasure(erasure, { ...this.#options, signal, isAlone: false, onLeft });
        logger.info('person.erased', { person: key });
      } catch (error) {
        if (signal.aborted) return;
        const now = await this.#openOf(key);
        if (erasure && now && (now.at !== erasure.at || now.until > erasure.until)) {
          // It was asked for again meanwhile: from the beginning, at once.
          keys.push(key);
          continue;
        }
        this.#notBefore = clock.monotonic() + RETRY_MS;
        logger.warn('person.not-erased', { person: key, detail: errorText(error), retryInMs: RETRY_MS });
      }
    }
  }

  async #openOf(key: string): Promise<Erasure | undefined> {
    return (await this.#options.erasures.open()).find((one) => one.key === key);
  }
}
