import type { Channel, ChannelHealth } from '../core/channel.ts';
import type { ChannelStatus } from '../core/turn.ts';
import { settledOrAborted } from '../lib/time-limit.ts';
import type { ChannelEntry, ChannelListener, ChannelRules, ChannelSetOptions, StartHost } from './channel-options.ts';
import { ConfiguredChannel } from './configured-channel.ts';
import { refuseSharedTokens } from './shared-token.ts';

export { type ChannelEntry, type ChannelRules, channelDir, type Registry } from './channel-options.ts';

/**
 * The configured channels: created, started, watched and stopped, each in a loop of its own, so that none
 * holds up another. One that breaks is replaced by a new one after a wait that grows; one that only the
 * operator can mend stays down. A changed config adds, replaces and removes them while the others go on:
 * `reload-channels.ts`.
 */
export class ChannelSet implements AsyncDisposable {
  readonly #options: ChannelSetOptions;
  readonly #instances = new Map<string, ConfiguredChannel>();
  readonly #channels = new Map<string, Channel>();
  readonly #removed = new Map<string, ChannelRules>();
  readonly #stopping = new AbortController();
  #host: StartHost | undefined;

  private constructor(options: ChannelSetOptions) {
    this.#options = options;
  }

  /** Rejects as `refuseShared` throws; a channel that cannot be created is `down`. */
  static async create(entries: readonly ChannelEntry[], options: ChannelSetOptions): Promise<ChannelSet> {
    const set = new ChannelSet(options);
    set.refuseShared(entries);
    await Promise.all(
      entries.map(async (entry) => {
        const instance = new ConfiguredChannel(entry, options);
        set.#instances.set(entry.name, instance);
        await instance.create();
        if (instance.channel) set.#channels.set(entry.name, instance.channel);
      }),
    );
    return set;
  }

  /** What is to be configured, as a whole. Throws as `refuseSharedTokens`. */
  refuseShared(entries: Iterable<ChannelEntry>): void {
    refuseSharedTokens(entries, this.#options.secret);
  }

  /** Those that could be created, by instance name. To be read at each use: one that broke is replaced. */
  get channels(): ReadonlyMap<string, Channel> {
    return this.#channels;
  }

  /** How many are configured. */
  get size(): number {
    return this.#instances.size;
  }

  /**
   * The channel, or while the one that broke is being replaced the next one; undefined where there is none to
   * wait for. Rejects with `signal.reason`.
   */
  async working(name: string, signal: AbortSignal): Promise<Channel | undefined> {
    for (;;) {
      const instance = this.#instances.get(name);
      if (!instance || instance.channel || !instance.willRestart) return instance?.channel;
      await settledOrAborted(instance.changed(), signal);
    }
  }

  isLocal(name: string): boolean {
    return this.#instances.get(name)?.local ?? false;
  }

  state(name: string): ChannelHealth | undefined {
    return this.#instances.get(name)?.state;
  }

  /** Of a channel that is configured. */
  rules(name: string): ChannelRules | undefined {
    return this.#instances.get(name)?.entry.rules;
  }

  /**
   * Of a channel that is configured, or was while this process runs. What it forbids stays forbidden to the
   * runs that it began: the rules of a channel only narrow, and without them a run would be given more.
   */
  lastRules(name: string): ChannelRules | undefined {
    return this.rules(name) ?? this.#removed.get(name);
  }

  setRules(entry: ChannelEntry): void {
    this.#instances.get(entry.name)?.setRules(entry);
  }

  /**
   * Sends wait while a channel has not yet connected, is about to be replaced, or was stopped; one that is
   * merely in trouble answers for itself. So does one whose login is refused: it may be that of receiving
   * alone, and an SMTP login is known to be accepted again only by the next send.
   */
  canSend(name: string): boolean {
    return this.#instances.get(name)?.canSend ?? false;
  }

  /** Whether a message can come in. A terminal whose input is over is well, and receives none. */
  get isReceiving(): boolean {
    if (this.#stopping.signal.aborted) return false;
    return [...this.#instances.values()].some(({ state, inputEnded }) => state === 'healthy' && !inputEnded);
  }

  status(): readonly ChannelStatus[] {
    return [...this.#instances.values()].map((instance) => instance.status());
  }

  /**
   * Starts all at once; resolves when each is ready, is retrying by itself, or has failed for the first time.
   * From then on each is kept alive until `stopReceiving`.
   */
  async start(host: StartHost): Promise<void> {
    this.#host = host;
    await Promise.all([...this.#instances.values()].map((instance) => instance.start(host, this.#listener(instance))));
  }

  received(name: string): void {
    const instance = this.#instances.get(name);
    if (instance) instance.lastMessageAt = this.#options.clock.now();
  }

  sent(name: string): void {
    const instance = this.#instances.get(name);
    if (instance) instance.lastSentAt = this.#options.clock.now();
  }

  /**
   * A channel beside those there are. It is created and not started, so it disturbs none of them. Never
   * rejects: see `refusal`.
   */
  async make(entry: ChannelEntry): Promise<ConfiguredChannel> {
    const instance = new ConfiguredChannel(entry, this.#options);
    await instance.create();
    return instance;
  }

  /** Sends of this channel wait until the result is disposed, or for its successor. */
  hold(name: string): Disposable {
    const instance = this.#instances.get(name);
    instance?.holdSends();
    return { [Symbol.dispose]: () => instance?.releaseSends() };
  }

  /** Ends intake of a channel and closes it; another may take its place. Never rejects. */
  async retire(name: string): Promise<void> {
    await this.#instances.get(name)?.stop();
  }

  /**
   * Takes a channel that was retired, or cannot work, out. What waits for it stays in the journal.
   * `wasRefused`: its config was; the rules of a channel of this name that was removed before go on holding.
   */
  remove(name: string, { wasRefused = false } = {}): void {
    const instance = this.#instances.get(name);
    if (instance?.entry.rules && !(wasRefused && this.#removed.has(name))) this.#removed.set(name, instance.entry.rules);
    this.#instances.delete(name);
    this.#channels.delete(name);
    instance?.wakeWaiters();
  }

  /**
   * Puts a channel in the place of the one of its name, which was retired, and starts it. Resolves after its
   * first attempt; nothing is told of it before it is `accepted`.
   */
  async adopt(instance: ConfiguredChannel): Promise<void> {
    const host = this.#host;
    if (!host || this.#stopping.signal.aborted) return;
    const { name } = instance.entry;
    const before = this.#instances.get(name);
    instance.lastMessageAt = before?.lastMessageAt;
    instance.lastSentAt = before?.lastSentAt;
    this.#instances.set(name, instance);
    const started = instance.start(host, this.#listener(instance), true);
    before?.wakeWaiters();
    await started;
  }

  /** While one is being replaced, what its platform calls us with waits. */
  holdWebhook(name: string): Disposable {
    return this.#options.webhooks.hold?.(name) ?? { [Symbol.dispose]: () => undefined };
  }

  /** Intake ends; sending goes on until disposed. */
  stopReceiving(): void {
    // Never released: until the server closes, a platform that calls is to call again.
    if (!this.#stopping.signal.aborted) for (const name of this.#instances.keys()) this.holdWebhook(name);
    this.#stopping.abort(new Error('channels are stopping'));
    for (const instance of this.#instances.values()) instance.stopReceiving();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.stopReceiving();
    await Promise.all([...this.#instances.values()].map((instance) => instance.stop()));
  }

  #listener(instance: ConfiguredChannel): ChannelListener {
    const { name } = instance.entry;
    return {
      onCreated: (channel) => {
        if (this.#instances.get(name) === instance) this.#channels.set(name, channel);
      },
      onInputEnded: () => {
        if ([...this.#instances.values()].every(({ inputEnded }) => inputEnded)) this.#options.onAllEnded();
      },
    };
  }
}
