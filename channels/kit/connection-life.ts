import { randomUUID } from 'node:crypto';
import type { ChannelDeps, ChannelHost, SendResult } from '../../src/core/channel.ts';
import { errorText, isGatehouseError } from '../../src/core/errors.ts';
import type { InboundMessage } from '../../src/core/message.ts';
import { linkedSignal } from '../../src/lib/linked-signal.ts';
import { settledOrAborted } from '../../src/lib/time-limit.ts';
import { InboundLine } from './inbound-line.ts';
import { Lifecycle, NOT_LEFT } from './lifecycle.ts';
import { reconnect } from './reconnect.ts';
import { type StoringOptions, storeMessages } from './store-messages.ts';

/** At most this many messages wait; then reading stops, since a pushing platform cannot be told to wait. */
const MOST_WAITING = 256;
/** A server that refuses us, or throws us out soon after it let us in, must not be asked every second. */
const [BASE_MS, CAP_MS, STEADY_MS] = [2_000, 300_000, 60_000];

/**
 * One connection: resolves or rejects when it has ended, and ends when `stop` aborts. It calls `up` once it
 * receives and can send.
 */
export type Connect<Connection> = (up: (connection: Connection) => void, stop: AbortSignal) => Promise<void>;

/**
 * Writes one part. Resolves to the outcome where that is known at once; else the connection brings it, to
 * `answer`. The signal aborts once the outcome is known: nothing more of the part is to be written then,
 * since all of it may be sent again.
 */
export type Transmit<Connection> = (connection: Connection, token: string, until: AbortSignal) => Promise<SendResult | undefined>;

/**
 * The life of an adapter that receives and sends over one connection, for platforms of class C. It starts
 * once, connects again with back-off, tells its health, offers what comes in in order, sends one part at a
 * time, and stops. `start`, `send` and `stop` keep the contracts of the methods of `Channel` that call them.
 */
export class ConnectionLife<Connection> {
  readonly #deps: ChannelDeps;
  readonly #life = new Lifecycle();
  readonly #offers = new InboundLine(MOST_WAITING);
  #connection: Connection | undefined;
  /** Aborts when intake ends. */
  #over: AbortSignal | undefined;
  /** A message was taken and not stored, because intake ended. */
  #hasLost = false;
  #lastSend: Promise<unknown> = Promise.resolve();
  #asked: { readonly token: string; readonly settle: (result: SendResult) => void } | undefined;

  constructor(deps: ChannelDeps) {
    this.#deps = deps;
  }

  /** A connection that ends with GH1501 is down, with anything else degraded; both are tried again. */
  start(host: ChannelHost, signal: AbortSignal, connect: Connect<Connection>): Promise<void> {
    return this.#life.start(host, signal, async (over, settled) => {
      over.addEventListener('abort', settled, { once: true });
      this.#over = over;
      const { clock, random, logger } = this.#deps;
      const run = (connected: () => void): Promise<void> =>
        this.#run(connect, () => {
          connected();
          host.health('healthy');
          settled();
        });
      const onEnd = (error: unknown, waitMs: number): boolean => {
        const why = error === undefined ? 'the connection was closed' : errorText(error);
        const [down, detail] = isGatehouseError(error) ? [error.code === 'GH1501', why] : [false, `GH1502: ${why}`];
        host.health(down ? 'down' : 'degraded', detail);
        logger.warn('channel.disconnected', { detail, waitMs });
        settled();
        return true;
      };
      // When intake ends, answers still leave by this connection: only `stop` ends it.
      const pace = { baseMs: BASE_MS, capMs: CAP_MS, steadyMs: STEADY_MS };
      await reconnect({ run, onEnd, clock, random, signal: this.#life.stopping, ...pace });
    });
  }

  /**
   * Offers a message after those before it. Resolves at once while there is room, else when its turn is over.
   * Never rejects.
   */
  async take(message: InboundMessage): Promise<void> {
    const store = (): Promise<void> => this.#store([message]);
    if (!this.#offers.push(store)) await this.#offers.run(store);
  }

  /** The cursor of what comes next, committed after the messages before it. */
  keep(cursor: string): void {
    // It never rejects.
    void this.#offers.run(() => this.#store([], cursor));
  }

  /** Waits for all that was taken before; true when the journal holds every message. Never rejects. */
  async stored(): Promise<boolean> {
    await this.#offers.idle();
    return !this.#hasLost;
  }

  /**
   * Sends one part after those before it. Nothing leaves when there is no connection or the signal aborted by
   * then. The outcome is unknown when the connection ends or the signal aborts before it came, or `transmit`
   * throws.
   */
  send(signal: AbortSignal, transmit: Transmit<Connection>): Promise<SendResult> {
    return this.#life.sends.run(signal, async () => {
      const before = this.#lastSend;
      const over = Promise.withResolvers<void>();
      this.#lastSend = before.then(() => over.promise);
      try {
        // Its time may end while it waits. It says so then: its caller takes silence for a doubt.
        await settledOrAborted(before, signal).catch(() => undefined);
        return await this.#send(signal, transmit);
      } finally {
        over.resolve();
      }
    });
  }

  /** The outcome of the send under way; one that names another send came too late and is ignored. */
  answer(result: SendResult, token = this.#asked?.token): void {
    if (token !== undefined && token === this.#asked?.token) this.#asked.settle(result);
  }

  /** Waits for sends under way: breaking one would leave its fate unknown. */
  async stop(): Promise<void> {
    await this.#life.sends.close();
    await this.#life.stop(() => this.#offers.idle());
  }

  async #run(connect: Connect<Connection>, connected: () => void): Promise<void> {
    const up = (connection: Connection): void => {
      this.#connection = connection;
      connected();
    };
    try {
      await connect(up, this.#life.stopping);
    } finally {
      this.#connection = undefined;
      this.answer({ kind: 'unknown', detail: 'the connection ended before it was confirmed' });
    }
  }

  async #send(signal: AbortSignal, transmit: Transmit<Connection>): Promise<SendResult> {
    const connection = this.#connection;
    if (!connection) return { kind: 'retry', reason: 'not connected', scope: 'account' };
    if (signal.aborted) return NOT_LEFT;
    const { promise, resolve } = Promise.withResolvers<SendResult>();
    const token = randomUUID();
    using writing = linkedSignal(signal);
    let isSettled = false;
    const settle = (result: SendResult): void => {
      isSettled = true;
      resolve(result);
      writing.abort(new Error('what becomes of the part is known'));
    };
    this.#asked = { token, settle };
    const onAbort = (): void => resolve({ kind: 'unknown', detail: 'it was not confirmed in time' });
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      return (await transmit(connection, token, writing.signal)) ?? (await promise);
    } catch (error) {
      if (isSettled) return await promise;
      return { kind: 'unknown', detail: errorText(error) };
    } finally {
      signal.removeEventListener('abort', onAbort);
      this.#asked = undefined;
    }
  }

  async #store(batch: readonly InboundMessage[], cursor?: string): Promise<void> {
    const [host, signal] = [this.#life.host, this.#over];
    if (!host || !signal) return;
    const { clock, random, logger } = this.#deps;
    const onTrouble: StoringOptions['onTrouble'] = (detail, state) => host.health(state, detail);
    try {
      await storeMessages(batch, cursor, { host, clock, random, logger, signal, onTrouble });
    } catch (reason) {
      // It stopped, and most platforms will not repeat it.
      this.#hasLost = true;
      for (const { id } of batch) logger.warn('channel.message-lost', { message: id, reason: errorText(reason) });
    }
  }
}
