/** GET calls whose answer an event waits for, with the patience that its use is worth. */
import { errorText } from '../../../src/core/errors.ts';
import type { Context } from '../../kit/context.ts';
import { withDeadline } from '../../kit/deadline.ts';
import type { DiscordClient } from '../wire/client.ts';
import { isFinal, waitOf } from '../wire/failure.ts';

export interface AskingOptions extends Pick<Context, 'clock' | 'logger' | 'signal'> {
  readonly client: Pick<DiscordClient, 'call'>;
  readonly callTimeoutMs: number;
}

/** Tries of a question that must be answered: about a minute. */
const ATTEMPTS = 6;

/** Every method rejects when the adapter stops. */
export class Asking {
  readonly #options: AskingOptions;

  constructor(options: AskingOptions) {
    this.#options = options;
  }

  /** Rejects with a `CallError` too. */
  get(route: string, query?: Readonly<Record<string, string>>): Promise<unknown> {
    const { client, clock, callTimeoutMs, signal } = this.#options;
    return withDeadline({ clock, ms: callTimeoutMs, signal }, (inner) =>
      client.call('GET', route, { ...(query && { query }), signal: inner }),
    );
  }

  /**
   * For what decides to which conversation a message belongs. Undefined when the platform would not or could
   * not say.
   */
  async patiently(route: string): Promise<unknown> {
    const { clock, signal } = this.#options;
    for (let attempt = 1; ; attempt += 1) {
      try {
        return await this.get(route);
      } catch (error) {
        if (isFinal(error) || attempt >= ATTEMPTS) return this.#fail(route, error);
        await clock.sleep(waitOf(error) ?? 500 * 2 ** attempt, signal);
      }
    }
  }

  /**
   * For what is good to know: one call, so that a platform in trouble holds up nothing. An empty object when
   * it said no for good, undefined when it did not answer.
   */
  async once(route: string): Promise<unknown> {
    try {
      return await this.get(route);
    } catch (error) {
      this.#fail(route, error);
      return isFinal(error) && waitOf(error) === undefined ? {} : undefined;
    }
  }

  #fail(route: string, error: unknown): undefined {
    const { logger, signal } = this.#options;
    signal.throwIfAborted();
    logger.warn('discord.lookup-failed', { route, error: errorText(error) });
    return undefined;
  }
}
