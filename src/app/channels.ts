import { join } from 'node:path';
import { untilAborted } from '../../channels/kit/linked.ts';
import { reconnect } from '../../channels/kit/reconnect.ts';
import type { AnyChannelDescriptor, Channel, ChannelHealth, ChannelHost, Terminal, Webhooks } from '../core/channel.ts';
import { errorText, GatehouseError, isGatehouseError } from '../core/errors.ts';
import type { Emit } from '../core/events.ts';
import type { Clock, Logger } from '../core/ports.ts';
import type { ChannelStatus } from '../core/turn.ts';
import { type ChannelEntry, type Instance, newInstance, tell } from './channel-instance.ts';
import { ownBehalf, ownWebhooks, startChannel, stopChannel } from './channel-life.ts';
import { type Origin, onBehalfOf } from './origin.ts';

export type Registry = Readonly<Record<string, () => Promise<AnyChannelDescriptor>>>;

export interface ChannelSetOptions {
  readonly registry: Registry;
  readonly secret: (variable: string) => string;
  readonly terminal?: Terminal;
  /** Each instance has a directory of its own below. */
  readonly dataDir: string;
  readonly webhooks: { for(instance: string): Webhooks };
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

type StartHost = (channel: Channel, report: Pick<ChannelHost, 'health' | 'ended'>) => ChannelHost;

/** One that broke sooner counts as one that could not be started: the wait goes on growing. */
const STEADY_MS = 60_000;
const RESTART_BASE_MS = 1_000;
const RESTART_CAP_MS = 300_000;
/** The config, a missing variable, a refused login, an unknown type: trying again changes nothing before somebody mends it. */
const OPERATORS_TO_MEND = /^GH(?:11\d\d|1501|1506)$/;

/**
 * The configured channels: created, started, watched and stopped, each in a loop of its own, so that none holds up another. One that
 * breaks is replaced by a new one after a wait that grows; one that only the operator can mend stays down.
 */
export class ChannelSet implements AsyncDisposable {
  readonly #options: ChannelSetOptions;
  readonly #instances = new Map<string, Instance>();
  readonly #channels = new Map<string, Channel>();
  readonly #stopping = new AbortController();

  private constructor(options: ChannelSetOptions) {
    this.#options = options;
  }

  static async create(entries: readonly ChannelEntry[], options: ChannelSetOptions): Promise<ChannelSet> {
    const set = new ChannelSet(options);
    for (const entry of entries) set.#instances.set(entry.name, newInstance(entry, options.clock.now()));
    await Promise.all(
      [...set.#instances.values()].map(async (instance) => {
        await set.#create(instance).catch((error: unknown) => {
          instance.unborn = error;
        });
      }),
    );
    return set;
  }

  /** Those that could be created, by instance name. To be read at each use: one that broke is replaced. */
  get channels(): ReadonlyMap<string, Channel> {
    return this.#channels;
  }

  /**
   * The channel, or while the one that broke is being replaced the next one; undefined where there is none to wait for. Rejects with
   * `signal.reason`.
   */
  async working(name: string, signal: AbortSignal): Promise<Channel | undefined> {
    const instance = this.#instances.get(name);
    while (instance && !instance.channel && instance.renewed) {
      await untilAborted(new Promise<void>((resolve) => instance.waiters.push(resolve)), signal);
    }
    return instance?.channel;
  }

  isLocal(name: string): boolean {
    return this.#instances.get(name)?.local ?? false;
  }

  state(name: string): ChannelHealth | undefined {
    return this.#instances.get(name)?.state;
  }

  /**
   * Sends wait while a channel has not yet connected, or was stopped; one that is merely in trouble answers for itself. So does one whose
   * login is refused: it may be that of receiving alone, and an SMTP login is known to be accepted again only by the next send.
   */
  canSend(name: string): boolean {
    const { channel, state } = this.#instances.get(name) ?? {};
    return channel !== undefined && state !== 'starting' && state !== 'stopped';
  }

  status(): readonly ChannelStatus[] {
    return [...this.#instances.values()].map(({ entry, state, since, detail, lastMessageAt, lastSentAt }) => {
      const { account = '', inboundClass = '?', sendClass = '?' } = this.#channels.get(entry.name) ?? {};
      return {
        name: entry.name,
        type: entry.type,
        account,
        state,
        since,
        ...(detail === undefined ? {} : { detail }),
        inboundClass,
        sendClass,
        ...(lastMessageAt === undefined ? {} : { lastMessageAt }),
        ...(lastSentAt === undefined ? {} : { lastSentAt }),
      };
    });
  }

  /**
   * Starts all at once; resolves when each is ready, is retrying by itself, or has failed for the first time. From then on each is kept
   * alive until `stopReceiving`.
   */
  async start(host: StartHost): Promise<void> {
    await Promise.all(
      [...this.#instances.values()].map(async (instance) => {
        const tried = Promise.withResolvers<void>();
        instance.living = this.#keepAlive(instance, host, tried.resolve);
        await Promise.race([tried.promise, instance.living]);
      }),
    );
  }

  received(name: string): void {
    const instance = this.#instances.get(name);
    if (instance) instance.lastMessageAt = this.#options.clock.now();
  }

  sent(name: string): void {
    const instance = this.#instances.get(name);
    if (instance) instance.lastSentAt = this.#options.clock.now();
  }

  /** Intake ends; sending goes on until disposed. */
  stopReceiving(): void {
    this.#stopping.abort(new Error('channels are stopping'));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.stopReceiving();
    await Promise.all(
      [...this.#instances.values()].map(async (instance) => {
        await instance.living;
        await this.#stop(instance);
        if (instance.state !== 'down') this.#set(instance, 'stopped');
      }),
    );
  }

  async #create(instance: Instance): Promise<Channel> {
    try {
      instance.life = { fail: () => undefined };
      const channel = await onBehalfOf(this.#origin(instance), () => this.#make(instance));
      instance.channel = channel;
      this.#channels.set(instance.entry.name, channel);
      tell(instance);
      return channel;
    } catch (error) {
      this.#down(instance, error);
      throw error;
    }
  }

  async #make(instance: Instance): Promise<Channel> {
    const { registry, secret, clock, random = Math.random, logger, terminal, dataDir, webhooks } = this.#options;
    const { name, type, settings } = instance.entry;
    const load = registry[type];
    if (!load) throw new GatehouseError('GH1506', `there is no channel type ${type}`);
    const descriptor = await load();
    instance.local = descriptor.local ?? false;
    return await descriptor.create(settings as never, {
      name,
      secret,
      clock,
      logger: logger.child({ channel: name }),
      random,
      dir: channelDir(dataDir, name),
      webhooks: ownWebhooks(webhooks.for(name), this.#origin(instance)),
      ...(terminal ? { terminal } : {}),
    });
  }

  /** Until intake ends, or only the operator can mend it. `tried` is called after the first attempt. Never rejects. */
  async #keepAlive(instance: Instance, host: StartHost, tried: () => void): Promise<void> {
    const { clock, random = Math.random } = this.#options;
    const { signal } = this.#stopping;
    await reconnect({
      run: async (steady) => {
        const { unborn } = instance;
        instance.unborn = undefined;
        if (unborn !== undefined) throw unborn;
        const channel = instance.channel ?? (await this.#create(instance));
        const since = clock.monotonic();
        try {
          await this.#live(instance, channel, host, tried);
        } finally {
          if (clock.monotonic() - since >= STEADY_MS) steady();
        }
      },
      onEnd: (error) => {
        tried();
        return mayPass(error);
      },
      clock,
      random,
      signal,
      baseMs: RESTART_BASE_MS,
      capMs: RESTART_CAP_MS,
    });
    // At the end of the process whoever waits is told to stop by its own signal, and goes on at the next start.
    if (signal.aborted) return;
    instance.renewed = false;
    tell(instance);
  }

  /** One start, and what follows it: rejects when the channel broke, or with the reason of the end of intake. */
  async #live(instance: Instance, channel: Channel, host: StartHost, started: () => void): Promise<void> {
    const { signal } = this.#stopping;
    const { promise: broken, reject } = Promise.withResolvers<never>();
    let over = false;
    const report: Parameters<StartHost>[1] = {
      health: (state, detail) => {
        if (!over) this.#set(instance, state, detail);
      },
      ended: (error) => {
        if (error !== undefined) reject(error);
        else this.#ended(instance);
      },
    };
    try {
      if (instance.life) instance.life.fail = reject;
      const shared = ownBehalf(host(channel, report));
      await Promise.race([
        onBehalfOf(this.#origin(instance), () => startChannel(channel, shared, signal, this.#options)),
        broken,
      ]);
      started();
      await untilAborted(broken, signal);
    } catch (error) {
      // Sending goes on after the end of intake. What the operator has to mend keeps its own account of what is wrong.
      if (signal.aborted) throw error;
      over = mayPass(error);
      this.#down(instance, error);
      if (over) await this.#stop(instance);
      throw error;
    }
  }

  /**
   * Of the present life. What a life that is over left behind, such as a timer of its SDK, can end no other
   * one.
   */
  #origin(instance: Instance): Origin {
    const life = instance.life ?? { fail: () => undefined };
    return { kind: 'channel', name: instance.entry.name, fail: (error) => life.fail(error) };
  }

  #ended(instance: Instance): void {
    instance.ended = true;
    const others = [...this.#instances.values()];
    if (others.every(({ ended, entry }) => ended || !this.#channels.has(entry.name))) this.#options.onAllEnded();
  }

  async #stop(instance: Instance): Promise<void> {
    const { channel } = instance;
    instance.channel = undefined;
    if (channel) await stopChannel(channel, this.#options);
  }

  #down(instance: Instance, error: unknown): void {
    const text = isGatehouseError(error) ? `${error.code}: ${error.message}; ${error.hint}` : errorText(error);
    this.#options.logger.error('channel.failed', { channel: instance.entry.name, detail: text, again: mayPass(error) });
    this.#set(instance, 'down', text);
  }

  #set(instance: Instance, state: ChannelHealth, said?: string): void {
    const { clock, emit, redact } = this.#options;
    const detail = said === undefined ? undefined : redact(said);
    if (instance.state === state && instance.detail === detail) return;
    if (instance.state !== state) instance.since = clock.now();
    instance.state = state;
    instance.detail = detail;
    emit({ type: 'channel', at: clock.now(), channel: instance.entry.name, state, ...(detail === undefined ? {} : { detail }) });
  }
}

/** Whether starting again may help. What nobody foresaw may pass; what has a code says so. */
function mayPass(error: unknown): boolean {
  return !(isGatehouseError(error) && OPERATORS_TO_MEND.test(error.code));
}

/** Where an instance keeps what its platform gave it; names are the operator's and may hold anything. */
export function channelDir(dataDir: string, instance: string): string {
  return join(dataDir, 'channels', encodeURIComponent(instance).replaceAll('.', '%2E'));
}
