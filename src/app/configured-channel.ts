import { join } from 'node:path';
import { untilAborted } from '../../channels/kit/linked.ts';
import { reconnect } from '../../channels/kit/reconnect.ts';
import type { LoadedConfig } from '../../config/load.ts';
import type { AnyChannelDescriptor, Channel, ChannelHealth, ChannelHost, Terminal, Webhooks } from '../core/channel.ts';
import { errorText, GatehouseError, isGatehouseError } from '../core/errors.ts';
import type { Emit } from '../core/events.ts';
import type { Clock, Logger } from '../core/ports.ts';
import type { ChannelStatus } from '../core/turn.ts';
import { ownBehalf, ownWebhooks, startChannel, stopChannel } from './channel-life.ts';
import { type Origin, onBehalfOf } from './origin.ts';

export type Registry = Readonly<Record<string, () => Promise<AnyChannelDescriptor>>>;

/** Who may talk on a channel, how, and which model answers: what no adapter sees. */
export type ChannelRules = LoadedConfig['config']['gateway']['channels'][number];

export interface ChannelEntry {
  readonly name: string;
  readonly type: string;
  readonly settings: unknown;
  /** Absent where nothing is admitted, as in a trial. */
  readonly rules?: ChannelRules;
}

export interface ChannelSetOptions {
  readonly registry: Registry;
  readonly secret: (variable: string) => string;
  readonly terminal?: Terminal;
  /** Each instance has a directory of its own below. */
  readonly dataDir: string;
  readonly webhooks: {
    for(instance: string): Webhooks;
    /** Calls for an instance that is being replaced wait for its successor. */
    hold?(instance: string): Disposable;
  };
  readonly clock: Clock;
  /** 0 <= x < 1; for jitter. Default `Math.random`. */
  readonly random?: () => number;
  readonly logger: Logger;
  readonly emit: Emit;
  /** Takes secrets out of what platforms say of themselves. */
  readonly redact: (text: string) => string;
  /** The input of every channel there is has ended. */
  readonly onAllEnded: () => void;
}

export type StartHost = (channel: Channel, report: Pick<ChannelHost, 'health' | 'ended'>) => ChannelHost;

/** What a channel tells the set it is in. */
export interface ChannelListener {
  /** The next one is there. */
  readonly onCreated: (channel: Channel) => void;
  readonly onInputEnded: () => void;
}

/** One that broke sooner counts as one that could not be started: the wait goes on growing. */
const STEADY_MS = 60_000;
const RESTART_BASE_MS = 1_000;
const RESTART_CAP_MS = 300_000;
/** The config, a missing variable, a refused login, an unknown type: trying again changes nothing before the operator mends it. */
const OPERATORS_TO_MEND = /^GH(?:11\d\d|1501|1506)$/;

/** One configured channel through all its lives: created, started, watched, replaced when it breaks, stopped. */
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
  #state: ChannelHealth = 'starting';
  #since: number;
  #detail: string | undefined;
  #onTrial = false;
  #isHeld = false;
  #inputEnded = false;
  lastMessageAt: number | undefined;
  lastSentAt: number | undefined;

  constructor(entry: ChannelEntry, options: ChannelSetOptions) {
    this.#entry = entry;
    this.#options = options;
    this.#since = options.clock.now();
  }

  get entry(): ChannelEntry {
    return this.#entry;
  }

  /** Undefined while there is none that works: it could not be created, or it broke and the next one is not made yet. */
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
    return this.#state;
  }

  /** False: there will be no other one before the operator mends something. */
  get willRestart(): boolean {
    return this.#willRestart;
  }

  /** Nothing more comes in: its input ended, or there is none. */
  get inputEnded(): boolean {
    return this.#inputEnded || this.#lastChannel === undefined;
  }

  /** What only the operator can mend, in the adapter's words or its code; undefined = it works, or tries by itself. */
  get refusal(): Error | undefined {
    return this.#refusal;
  }

  get canSend(): boolean {
    return this.#channel !== undefined && !this.#isHeld && this.#state !== 'starting' && this.#state !== 'stopped';
  }

  status(): ChannelStatus {
    const { account = '', inboundClass = '?', sendClass = '?' } = this.#lastChannel ?? {};
    const { lastMessageAt, lastSentAt } = this;
    return {
      ...{ name: this.#entry.name, type: this.#entry.type, account, state: this.#state, since: this.#since },
      ...(this.#detail === undefined ? {} : { detail: this.#detail }),
      ...{ inboundClass, sendClass },
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

  /** Makes the first channel. Never rejects: `refusal` says what the operator has to mend, and the rest is tried again. */
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
    this.#onTrial = onTrial;
    if (this.#lastChannel) listener.onCreated(this.#lastChannel);
    const tried = Promise.withResolvers<void>();
    this.#loop = this.#keepAlive(host, tried.resolve);
    await Promise.race([tried.promise, this.#loop]);
  }

  /** The trial is over: its state is told from now on. */
  accepted(): void {
    this.#onTrial = false;
    if (this.#state !== 'starting') this.#tellState();
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
    if (this.#state !== 'down') this.#set('stopped');
  }

  /** For callers that wait for it while its successor, or nothing, takes its place. */
  wakeWaiters(): void {
    for (const resolve of this.#waiters.splice(0)) resolve();
  }

  async #create(): Promise<Channel> {
    this.#life = { fail: () => undefined };
    this.#refusal = undefined;
    const channel = await onBehalfOf(this.#origin(), () => this.#make());
    this.#channel = channel;
    this.#lastChannel = channel;
    this.#listener?.onCreated(channel);
    this.wakeWaiters();
    return channel;
  }

  async #make(): Promise<Channel> {
    const { registry, secret, clock, random = Math.random, logger, terminal, dataDir, webhooks } = this.#options;
    const { name, type, settings } = this.#entry;
    const load = registry[type];
    if (!load) throw new GatehouseError('GH1506', `there is no channel type ${type}`);
    const descriptor = await load();
    this.#local = descriptor.local ?? false;
    return await descriptor.create(settings as never, {
      ...{ name, secret, clock, random },
      logger: logger.child({ channel: name }),
      dir: channelDir(dataDir, name),
      webhooks: ownWebhooks(webhooks.for(name), this.#origin()),
      ...(terminal ? { terminal } : {}),
    });
  }

  /** Until intake ends, or only the operator can mend it. `tried` is called after the first attempt. Never rejects. */
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

  /** One start, and what follows it: rejects when the channel broke, or with the reason of the end of intake. */
  async #live(channel: Channel, host: StartHost, started: () => void): Promise<void> {
    const { signal } = this.#stopping;
    const { promise: broken, reject } = Promise.withResolvers<never>();
    let over = false;
    const report: Parameters<StartHost>[1] = {
      health: (state, detail) => {
        if (over) return;
        this.#set(state, detail);
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
      await untilAborted(broken, signal);
    } catch (error) {
      // Sending goes on after the end of intake. What the operator has to mend keeps its own account of what is wrong.
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
    this.#set('down', text);
  }

  #set(state: ChannelHealth, said?: string): void {
    const detail = said === undefined ? undefined : this.#options.redact(said);
    if (this.#state === state && this.#detail === detail) return;
    if (this.#state !== state) this.#since = this.#options.clock.now();
    this.#state = state;
    this.#detail = detail;
    this.#tellState();
  }

  #tellState(): void {
    const { clock, emit } = this.#options;
    const detail = this.#detail;
    if (this.#onTrial) return;
    emit({
      ...{ type: 'channel', at: clock.now(), channel: this.#entry.name, state: this.#state },
      ...(detail === undefined ? {} : { detail }),
    });
  }
}

/** Whether starting again may help. What was not foreseen may pass; what has a code says so. */
function mayPass(error: unknown): boolean {
  return !(isGatehouseError(error) && OPERATORS_TO_MEND.test(error.code));
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(errorText(error));
}

/** Where an instance keeps what its platform gave it; names are the operator's and may hold anything. */
export function channelDir(dataDir: string, instance: string): string {
  return join(dataDir, 'channels', encodeURIComponent(instance).replaceAll('.', '%2E'));
}
