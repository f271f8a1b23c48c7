import type { ChannelHost, SendResult } from '../../src/core/channel.ts';
import { GatehouseError } from '../../src/core/errors.ts';
import type { Clock } from '../../src/core/ports.ts';
import { linkedSignal } from '../../src/lib/linked-signal.ts';
import { withDeadline } from './deadline.ts';

/** Nothing left: safe to try again. */
export const NOT_LEFT: SendResult = { kind: 'retry', reason: 'stopped before the request left', scope: 'part' };

/**
 * Sends under way. A channel that stops waits for all of them, since breaking one would leave its fate
 * unknown; the caller bounds them with their signals.
 */
export class Sends {
  readonly #running = new Set<Promise<unknown>>();
  #closed = false;

  /** Runs `send`, unless the channel is closed or the signal aborted before: then nothing leaves. */
  async run(signal: AbortSignal, send: () => Promise<SendResult>): Promise<SendResult> {
    if (this.#closed) return { kind: 'retry', reason: 'the channel is stopped', scope: 'account' };
    if (signal.aborted) return NOT_LEFT;
    const sending = send();
    this.#running.add(sending);
    try {
      return await sending;
    } finally {
      this.#running.delete(sending);
    }
  }

  /** Takes no more, and resolves when all are over. */
  async close(): Promise<void> {
    this.#closed = true;
    await Promise.allSettled(this.#running);
  }
}

/** What lies between `start` and `stop` of an adapter: one life, begun once. */
export class Lifecycle {
  readonly sends = new Sends();
  readonly #stopping = new AbortController();
  #running: Promise<void> | undefined;
  #host: ChannelHost | undefined;

  /** Aborts when `stop` is called. */
  get stopping(): AbortSignal {
    return this.#stopping.signal;
  }

  /** Given to `start`; undefined before, and after `stop`. */
  get host(): ChannelHost | undefined {
    return this.#host;
  }

  /**
   * Runs `live` until it ends, which it must once its signal aborts. Resolves when `live` called `settled`
   * (it is ready, or tries again by itself) or ended. Rejects with GH1004 at the second start, and with the
   * reason of `signal`. A `live` that rejects is a defect: the host is told, and starts the channel anew.
   */
  async start(
    host: ChannelHost,
    signal: AbortSignal,
    live: (signal: AbortSignal, settled: () => void) => Promise<void>,
  ): Promise<void> {
    signal.throwIfAborted();
    if (this.#running || this.#stopping.signal.aborted) throw new GatehouseError('GH1004', 'a channel can be started once only');
    this.#host = host;
    host.health('starting');
    const settled = Promise.withResolvers<void>();
    this.#running = this.#live(host, signal, (inner) => live(inner, settled.resolve));
    await Promise.race([settled.promise, this.#running]);
    signal.throwIfAborted();
  }

  /** Makes a call beside the sends. It ends with its caller, the channel, or a `DeadlineError` after `ms`. */
  async call<T>(
    { clock, ms, signal }: { readonly clock: Clock; readonly ms: number; readonly signal: AbortSignal },
    task: (signal: AbortSignal) => Promise<T>,
  ): Promise<T> {
    using either = linkedSignal(signal, this.#stopping.signal);
    return await withDeadline({ clock, ms, signal: either.signal }, task);
  }

  /** Ends `live`, waits for sends under way, then runs `close`. It is safe twice, and without a start. */
  async stop(close: () => Promise<void> | void): Promise<void> {
    const sent = this.sends.close();
    this.#stopping.abort(new Error('channel stopped'));
    await this.#running;
    await sent;
    await close();
    this.#host?.health('stopped');
    this.#host = undefined;
  }

  async #live(host: ChannelHost, signal: AbortSignal, live: (signal: AbortSignal) => Promise<void>): Promise<void> {
    using life = linkedSignal(signal, this.#stopping.signal);
    try {
      await live(life.signal);
    } catch (error) {
      if (life.signal.aborted) return;
      // What else belongs to this life must not outlive it.
      life.abort(error);
      host.ended(error);
    }
  }
}
