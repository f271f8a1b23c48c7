import { join } from 'node:path';
import type { AnyChannelDescriptor, Channel, ChannelHealth, ChannelHost, Terminal, Webhooks } from '../core/channel.ts';
import { errorText, GatehouseError, isGatehouseError } from '../core/errors.ts';
import type { Emit } from '../core/events.ts';
import type { Clock, Logger } from '../core/ports.ts';
import type { ChannelStatus } from '../core/turn.ts';

export type Registry = Readonly<Record<string, () => Promise<AnyChannelDescriptor>>>;

export interface ChannelEntry {
  readonly name: string;
  readonly type: string;
  readonly settings: unknown;
}

interface Instance {
  readonly entry: ChannelEntry;
  readonly local: boolean;
  readonly channel: Channel | undefined;
  state: ChannelHealth;
  since: number;
  detail: string | undefined;
  lastMessageAt: number | undefined;
  lastSentAt: number | undefined;
  ended: boolean;
}

export interface ChannelSetOptions {
  readonly registry: Registry;
  readonly secret: (variable: string) => string;
  readonly terminal?: Terminal;
  /** Each instance has a directory of its own below. */
  readonly dataDir: string;
  readonly webhooks: { for(instance: string): Webhooks };
  readonly clock: Clock;
  readonly logger: Logger;
  readonly emit: Emit;
  /** Takes secrets out of what platforms say of themselves. */
  readonly redact: (text: string) => string;
  /** The input of every channel there is has ended. */
  readonly onAllEnded: () => void;
}

/** The configured channels: created, started, watched and stopped. One that fails is reported and never takes another with it. */
export class ChannelSet implements AsyncDisposable {
  readonly #options: ChannelSetOptions;
  readonly #instances = new Map<string, Instance>();
  readonly #stopping = new AbortController();

  private constructor(options: ChannelSetOptions) {
    this.#options = options;
  }

  static async create(entries: readonly ChannelEntry[], options: ChannelSetOptions): Promise<ChannelSet> {
    const set = new ChannelSet(options);
    const created = await Promise.all(entries.map((entry) => set.#create(entry)));
    for (const instance of created) set.#instances.set(instance.entry.name, instance);
    return set;
  }

  /** Those that could be created, by instance name. */
  get channels(): ReadonlyMap<string, Channel> {
    const pairs = [...this.#instances.values()].flatMap(({ entry, channel }) =>
      channel ? [[entry.name, channel] as const] : [],
    );
    return new Map(pairs);
  }

  isLocal(name: string): boolean {
    return this.#instances.get(name)?.local ?? false;
  }

  state(name: string): ChannelHealth | undefined {
    return this.#instances.get(name)?.state;
  }

  /** Sends wait while a channel has not yet connected, or was stopped; one that is merely in trouble answers for itself. */
  canSend(name: string): boolean {
    const state = this.#instances.get(name)?.state;
    return state !== undefined && state !== 'starting' && state !== 'stopped';
  }

  status(): readonly ChannelStatus[] {
    return [...this.#instances.values()].map(({ entry, channel, state, since, detail, lastMessageAt, lastSentAt }) => ({
      name: entry.name,
      type: entry.type,
      account: channel?.account ?? '',
      state,
      since,
      ...(detail === undefined ? {} : { detail }),
      inboundClass: channel?.inboundClass ?? '?',
      sendClass: channel?.sendClass ?? '?',
      ...(lastMessageAt === undefined ? {} : { lastMessageAt }),
      ...(lastSentAt === undefined ? {} : { lastSentAt }),
    }));
  }

  /** Starts all at once; resolves when each is ready, is retrying by itself, or has failed. */
  async start(host: (channel: Channel, report: Pick<ChannelHost, 'health' | 'ended'>) => ChannelHost): Promise<void> {
    await Promise.all([...this.#instances.values()].map((instance) => this.#start(instance, host)));
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
        try {
          await instance.channel?.stop();
        } catch (error) {
          this.#options.logger.warn('channel.stop-failed', { channel: instance.entry.name, detail: errorText(error) });
        }
        if (instance.state !== 'down') this.#set(instance, 'stopped');
      }),
    );
  }

  async #create(entry: ChannelEntry): Promise<Instance> {
    const { registry, secret, clock, logger, terminal, dataDir, webhooks } = this.#options;
    const instance: Instance = {
      entry,
      local: false,
      channel: undefined,
      state: 'starting',
      since: clock.now(),
      detail: undefined,
      lastMessageAt: undefined,
      lastSentAt: undefined,
      ended: false,
    };
    try {
      const load = registry[entry.type];
      if (!load) throw new GatehouseError('GH1506', `there is no channel type ${entry.type}`);
      const descriptor = await load();
      const channel = await descriptor.create(entry.settings as never, {
        name: entry.name,
        secret,
        clock,
        logger: logger.child({ channel: entry.name }),
        random: Math.random,
        dir: channelDir(dataDir, entry.name),
        webhooks: webhooks.for(entry.name),
        ...(terminal ? { terminal } : {}),
      });
      return { ...instance, local: descriptor.local ?? false, channel };
    } catch (error) {
      this.#set(instance, 'down', this.#failure(entry, error));
      return instance;
    }
  }

  async #start(instance: Instance, host: Parameters<ChannelSet['start']>[0]): Promise<void> {
    const { channel } = instance;
    if (!channel) return;
    const report = {
      health: (state: ChannelHealth, detail?: string) => this.#set(instance, state, detail),
      ended: () => {
        instance.ended = true;
        if ([...this.#instances.values()].every((other) => other.ended || !other.channel)) this.#options.onAllEnded();
      },
    };
    try {
      await channel.start(host(channel, report), this.#stopping.signal);
    } catch (error) {
      if (this.#stopping.signal.aborted) return; // it was told to give up
      this.#set(instance, 'down', this.#failure(instance.entry, error));
    }
  }

  #failure(entry: ChannelEntry, error: unknown): string {
    const text = isGatehouseError(error) ? `${error.code}: ${error.message}; ${error.hint}` : errorText(error);
    this.#options.logger.error('channel.failed', { channel: entry.name, detail: text });
    return text;
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

/** Where an instance keeps what its platform gave it; names are the operator's and may hold anything. */
export function channelDir(dataDir: string, instance: string): string {
  return join(dataDir, 'channels', encodeURIComponent(instance).replaceAll('.', '%2E'));
}
