// a failure that no caller caught -> a log line -> the channel at fault again, or the end in order
import { ERROR_CODES } from '../core/error-codes.ts';
import { errorText, GatehouseError } from '../core/errors.ts';
import type { Logger } from '../core/ports.ts';
import { originNow } from './origin.ts';

export interface StraysOptions {
  readonly logger: Pick<Logger, 'error'>;
  /** Ends the daemon in order: running turns go on at the next start, and no attempt is counted. */
  readonly end: (reason: string) => void;
  /** Ends the process at once, which is as safe as a kill. */
  readonly exit: () => void;
}

/**
 * Decides about failures that no caller sees, as a mistake in an SDK makes them; without it each would end
 * the process. Every one is logged (GH1007). The channel at fault is started again. A run has time limits of
 * its own and goes on. A rejection of unknown origin changes nothing more. After an exception of unknown
 * origin it is not known what was left half done: the daemon ends in order. A further one during that, or a
 * failure in here, ends the process: no loop.
 */
export class Strays {
  readonly #options: StraysOptions;
  #ending = false;

  constructor(options: StraysOptions) {
    this.#options = options;
  }

  /** Until disposed. */
  watch(): Disposable {
    const onRejection = (error: unknown): void => this.handle(error, 'rejection');
    const onException = (error: unknown): void => this.handle(error, 'exception');
    process.on('unhandledRejection', onRejection);
    process.on('uncaughtException', onException);
    return {
      [Symbol.dispose]: () => {
        process.off('unhandledRejection', onRejection);
        process.off('uncaughtException', onException);
      },
    };
  }

  handle(error: unknown, what: 'rejection' | 'exception'): void {
    try {
      this.#decide(error, what);
    } catch {
      this.#options.exit();
    }
  }

  #decide(error: unknown, what: 'rejection' | 'exception'): void {
    const { logger, end, exit } = this.#options;
    const origin = originNow();
    const from = origin?.kind === 'channel' ? { channel: origin.name } : origin && { run: origin.id };
    const stack = error instanceof Error && error.stack ? { stack: error.stack } : {};
    const { hint } = ERROR_CODES.GH1007;
    logger.error(`stray.${what}`, { code: 'GH1007', ...from, detail: errorText(error), hint, ...stack });
    if (origin?.kind === 'channel') {
      origin.fail(new GatehouseError('GH1007', `a stray ${what}: ${errorText(error)}`, { cause: error }));
    }
    if (origin || what === 'rejection') return;
    if (this.#ending) exit();
    else end('GH1007');
    this.#ending = true;
  }
}
