import { reconnect } from '../../channels/kit/reconnect.ts';
import type { Channel, ChannelHealth } from '../core/channel.ts';
import { errorText, isGatehouseError } from '../core/errors.ts';
import type { ChannelStatus } from '../core/turn.ts';
import { settledOrAborted } from '../lib/time-limit.ts';
import { asError, makeChannel, mayPass, ownBehalf, startChannel, stopChannel } from './channel-life.ts';
import type { ChannelEntry, ChannelListener, ChannelSetOptions, StartHost } from './channel-options.ts';
import { type Origin, onBehalfOf } from './origin.ts';
import { ToldHealth } from './told-health.ts';

/** One that broke sooner counts as one that could not be started: the wait goes on growing. */
const STEADY_MS = 60_000;
const RESTART_BASE_MS = 1_000;
const RESTART_CAP_MS = 300_000;

/**
 * One configured channel through all its lives: created, started, watched, replaced when it breaks, stopped.
 */
export class ConfiguredChannel {
  readonly #options: ChannelSetOptions;
  readonly #stopping = new AbortController();
  readonly #waiters: (() => void)[] = [];
  #entry: ChannelEntry;
  #listener: ChannelListener | undefined;
  #local = false;
  #channel: Channel | undefined;
  #lastChannel: Channel | undefined;
  /** Why it could not be created, until it is tried again. */
  #createError: unknown;
  #refusal: Error | undefined;
  #willRestart = true;
  /** `fail` breaks the one that was created last, once it is started. */
  #life: { fail: (error: unknown) => void } = { fail: () => undefined };
  #loop: Promise<void> | undefined;
  readonly #health: ToldHealth;
  #isHeld = false;
  #inputEnded = false;
  lastMessageAt: number | undefined;
  lastSentAt: number | undefined;

  constructor(entry: ChannelEntry, options: ChannelSetOptions) {
    this.#entry = entry;
    this.#options = options;
    this.#health = new ToldHealth(entry.name, options);
  }

  get entry(): ChannelEntry {
    return this.#entry;
  }

  /**
   * Undefined while there is none that works: it could not be created, or it broke and the next one is not
   * made yet.
   */
  get channel(): Channel | undefined {
    return this.#channel;
  }

  /** The one that was created last, also when it broke. */
  get lastChannel(): Channel | undefined {
    return this.#lastChannel;
  }

  get local(): boolean {
    return this.#local;
  }

  get state(): ChannelHealth {
    return this.#health.state;
  }

  /** False: there will be no other one before the operator mends something. */
  get willRestart(): boolean {
    return this.#willRestart;
  }

  /** Nothing more comes in: its input ended, or there is none. */
  get inputEnded(): boolean {
    return this.#inputEnded || this.#lastChannel === undefined;
  }

  /**
   * What only the operator can mend, in the adapter's words or its code; undefined = it works, or tries by
   * itself.
   */
  get refusal(): Error | undefined {
    return this.#refusal;
  }

  get canSend(): boolean {
    return this.#channel !== undefined && !this.#isHeld && this.state !== 'starting' && this.state !== 'stopped';
  }

  status(): ChannelStatus {
    const { account = '', inboundClass = '?', sendClass = '?' } = this.#lastChannel ?? {};
    const { lastMessageAt, lastSentAt } = this;
    return {
      ...{ name: this.#entry.name, type: this.#entry.type, account, ...this.#health.status, inboundClass, sendClass },
      ...(lastMessageAt === undefined ? {} : { lastMessageAt }),
      ...(lastSentAt === undefined ? {} : { lastSentAt }),
    };
  }

  /** Other rules for what is admitted from now on; type and settings stay. */
  setRules(entry: ChannelEntry): void {
    this.#entry = entry;
  }

  /** No send begins any more. */
  holdSends(): void {
    this.#isHeld = true;
  }

  releaseSends(): void {
    this.#isHeld = false;
  }

  /** Resolves when there is a next channel, or the news that there is none. */
  changed(): Promise<void> {
    return new Promise((resolve) => this.#waiters.push(resolve));
  }

  /**
   * Makes the first channel. Never rejects: `refusal` says what the operator has to mend, and the rest is
   * tried again.
   */
  async create(): Promise<void> {
    try {
      await this.#create();
    } catch (error) {
      this.#createError = error;
      if (!mayPass(error)) this.#refusal = asError(error);
    }
  }

  /**
   * Starts it and keeps it alive until `stopReceiving`. Resolves after the first attempt, however it ended.
   * `onTrial`: nothing is said of its state before `accepted`.
   */
  async start(host: StartHost, listener: ChannelListener, onTrial = false): Promise<void> {
    this.#listener = listener;
    if (onTrial) this.#health.hold();
    if (this.#lastChannel) listener.onCreated(this.#lastChannel);
    const tried = Promise.withResolvers<void>();
    this.#loop = this.#keepAlive(host, tried.resolve);
    await Promise.race([tried.promise, this.#loop]);
  }

  /** The trial is over: its state is told from now on. */
  accepted(): void {
    this.#health.release();
  }

  /** Intake ends; sending goes on until `stop`. */
  stopReceiving(): void {
    this.#stopping.abort(new Error('the channel is stopping'));
  }

  /** Ends intake and closes. Never rejects. */
  async stop(): Promise<void> {
    this.stopReceiving();
    await this.#loop;
    await this.#close();
    if (this.state !== 'down') this.#health.set('stopped');
  }

  /** For callers that wait for it while its successor, or nothing, takes its place. */
  wakeWaiters(): void {
    for (const resolve of this.#waiters.splice(0)) resolve();
  }

  async #create(): Promise<Channel> {
    this.#life = { fail: () => undefined };
    this.#refusal = undefined;
    const origin = this.#origin();
    const { channel, isLocal } = await onBehalfOf(origin, () => makeChannel(this.#entry, this.#options, origin));
    this.#local = isLocal;
    this.#channel = channel;
    this.#lastChannel = channel;
    this.#listener?.onCreated(channel);
    this.wakeWaiters();
    return channel;
  }

  /**
   * Until intake ends, or only the operator can mend it. `tried` is called after the first attempt. Never
   * rejects.
   */
  async #keepAlive(host: StartHost, tried: () => void): Promise<void> {
    const { clock, random = Math.random } = this.#options;
    const { signal } = this.#stopping;
    await reconnect({
      run: async (steady) => {
        const channel = this.#channel ?? (await this.#next());
        const since = clock.monotonic();
        try {
          await this.#live(channel, host, tried);
        } finally {
          if (clock.monotonic() - since >= STEADY_MS) steady();
        }
      },
      onEnd: (error) => {
        tried();
        return mayPass(error);
      },
      ...{ clock, random, signal, baseMs: RESTART_BASE_MS, capMs: RESTART_CAP_MS },
    });
    // At the end of intake the callers that wait are told by their own signals, or by `wakeWaiters`.
    if (signal.aborted) return;
    this.#willRestart = false;
    this.wakeWaiters();
  }

  /** Rejects with why there is none. */
  async #next(): Promise<Channel> {
    const failed = this.#createError;
    this.#createError = undefined;
    try {
      if (failed !== undefined) throw failed;
      return await this.#create();
    } catch (error) {
      this.#down(error);
      throw error;
    }
  }

  /**
   * One start, and what follows it: rejects when the channel broke, or with the reason of the end of intake.
   */
  async #live(channel: Channel, host: StartHost, started: () => void): Promise<void> {
    const { signal } = this.#stopping;
    const { promise: broken, reject } = Promise.withResolvers<never>();
    let over = false;
    const report: Parameters<StartHost>[1] = {
      health: (state, detail) => {
        if (over) return;
        this.#health.set(state, detail);
        this.#refusal = state === 'down' ? new Error(detail ?? 'it is down') : undefined;
      },
      ended: (error) => {
        if (error !== undefined) return reject(error);
        this.#inputEnded = true;
        this.#listener?.onInputEnded();
      },
    };
    try {
      this.#life.fail = reject;
      const shared = ownBehalf(host(channel, report));
      await Promise.race([onBehalfOf(this.#origin(), () => startChannel(channel, shared, signal, this.#options)), broken]);
      started();
      await settledOrAborted(broken, signal);
    } catch (error) {
      // Sending goes on after the end of intake. What the operator has to mend keeps its own account of what
      // is wrong.
      if (signal.aborted) throw error;
      over = mayPass(error);
      this.#down(error);
      if (over) await this.#close();
      throw error;
    }
  }

  /**
   * Of the present life. What a life that is over left behind, such as a timer of its SDK, can end no other
   * one.
   */
  #origin(): Origin {
    const life = this.#life;
    return { kind: 'channel', name: this.#entry.name, fail: (error) => life.fail(error) };
  }

  async #close(): Promise<void> {
    const channel = this.#channel;
    this.#channel = undefined;
    if (channel) await stopChannel(channel, this.#options);
  }

  #down(error: unknown): void {
    const text = isGatehouseError(error) ? `${error.code}: ${error.message}; ${error.hint}` : errorText(error);
    if (!mayPass(error)) this.#refusal = asError(error);
    this.#options.logger.error('channel.failed', { channel: this.#entry.name, detail: text, again: mayPass(error) });
    this.#health.set('down', text);
  }
}
