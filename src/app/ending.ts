import { errorText } from '../core/errors.ts';

/**
 * SIGHUP: the terminal was closed, or without one, that the config is to be read again. Without a handler it
 * is a kill, which loses nothing but leaves the history unsaved.
 */
const SIGNALS = ['SIGTERM', 'SIGINT', 'SIGHUP'] as const;

/** Why the daemon ends; the first reason wins. */
export class Ending {
  readonly code: Promise<number>;
  /** Why, in words; empty until then. */
  reason = '';
  /** Whether turns and sends get their grace: what they come to can be recorded. */
  inOrder = true;
  readonly #ended = new AbortController();
  #resolve: (code: number) => void = () => undefined;
  #inputEnded = false;
  #whenIdle: (() => Promise<void>) | undefined;

  constructor() {
    this.code = new Promise((resolve) => {
      this.#resolve = resolve;
    });
  }

  /** Aborts as soon as there is a reason. */
  get signal(): AbortSignal {
    return this.#ended.signal;
  }

  end(code: number, reason: string, inOrder = code === 0): void {
    if (this.reason === '') {
      this.reason = reason;
      this.inOrder = inOrder;
    }
    this.#resolve(code);
    this.#ended.abort(new Error('the daemon is stopping'));
  }

  inputEnded(): void {
    this.#inputEnded = true;
    this.#check();
  }

  /** After EOF the last answer is still printed. */
  whenInputEnds(idle: () => Promise<void>): void {
    this.#whenIdle = idle;
    this.#check();
  }

  #check(): void {
    if (!this.#inputEnded || !this.#whenIdle) return;
    this.#whenIdle().then(
      () => this.end(0, 'the input ended'),
      (error) => this.end(1, errorText(error)),
    );
  }

  /**
   * First signal: stop in order. Second: end at once, which is as safe as a kill. With `onHangUp`, SIGHUP is
   * that and no reason to stop.
   */
  onSignals(logger: { warn(event: string): void }, onHangUp?: () => void): Disposable {
    let signals = 0;
    const handle = (signal: NodeJS.Signals): void => {
      if (signal === 'SIGHUP' && onHangUp) {
        onHangUp();
        return;
      }
      signals += 1;
      if (signals > 1) {
        logger.warn('stopped at once; unfinished work resumes at the next start');
        process.exit(1);
      }
      this.end(0, signal);
    };
    for (const name of SIGNALS) process.on(name, handle);
    return {
      [Symbol.dispose]: () => {
        for (const name of SIGNALS) process.off(name, handle);
      },
    };
  }
}
