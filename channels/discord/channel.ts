/**
 * The adapter: one bot account. Connecting is `connect.ts`, receiving `receive.ts`, wire calls are
 * `client.ts`.
 */
import type {
  Channel,
  ChannelDeps,
  ChannelHealth,
  ChannelHost,
  ChannelLimits,
  MediaFile,
  SendOptions,
  SendResult,
} from '../../src/core/channel.ts';
import type { EarlierMessage } from '../../src/core/earlier-message.ts';
import type { InboundMessage, MediaRef, OutboundPart } from '../../src/core/message.ts';
import { apiFailureOf } from '../kit/call-error.ts';
import { CALL_TIMEOUT_MS } from '../kit/deadline.ts';
import { downloadLimits, MEGABYTE } from '../kit/download.ts';
import { HealthSum, inOrder } from '../kit/health-sum.ts';
import { obj, objects, str } from '../kit/json.ts';
import { Lifecycle } from '../kit/lifecycle.ts';
import { RecentMap } from '../kit/recent.ts';
import { sendTime } from '../kit/send-time.ts';
import { sentLength } from '../kit/sent-length.ts';
import { registerCommands } from './in/commands.ts';
import { keepConnected } from './in/connect.ts';
import { download } from './in/download.ts';
import { earlierMessages } from './in/earlier.ts';
import { Interactions } from './in/interactions.ts';
import { unreadWords } from './in/missed.ts';
import { Receiver } from './in/receive.ts';
import { OPTIONS as MENU_OPTIONS } from './out/choices.ts';
import { toDiscordMarkdown } from './out/format.ts';
import { placeOf } from './out/outbound.ts';
import { Sending } from './out/send.ts';
import { Threads } from './out/threads.ts';
import { PLATFORM_LIMITS } from './platform-limits.ts';
import type { DiscordSettings } from './settings.ts';
import type { CallOptions, DiscordClient } from './wire/client.ts';
import { snowflake } from './wire/ids.ts';

/** Below what the platform takes: room for a fence that a split closes and opens again. */
const TEXT = PLATFORM_LIMITS.text.value - 100;
const LIMITS: ChannelLimits = {
  text: TEXT,
  unit: 'codepoint',
  sentLength: sentLength(TEXT, (markdown) => [...toDiscordMarkdown(markdown)].length),
  caption: TEXT,
  // More than five are a menu.
  buttons: { choices: MENU_OPTIONS, text: TEXT },
  // Servers with boosts take more.
  uploadBytes: PLATFORM_LIMITS.upload.value,
  downloadBytes: 20 * MEGABYTE,
};

const MAX_REMEMBERED = 500;
/** https://discord.com/developers/docs/topics/opcodes-and-status-codes#json: it is gone already. */
const UNKNOWN_MESSAGE = 10_008;

/**
 * Five messages in five seconds for a chat is what the platform's own answers state, and burst plus refill
 * stay within it; 50 calls a second for a bot (topics/rate-limits).
 */
const RATES: NonNullable<ChannelLimits['rate']> = {
  perChat: { burst: 2, perSecond: 0.6 },
  perAccount: { burst: 10, perSecond: 30 },
};

export class DiscordChannel implements Channel {
  readonly name: string;
  readonly type = 'discord';
  readonly account: string;
  readonly limits: ChannelLimits;
  readonly inboundClass = 'C';
  readonly sendClass = 'idem';
  /** A nonce is checked "in the past few minutes" (API reference, create message): two are a few. */
  readonly idemWindowMs = 120_000;
  readonly buttons = true;

  readonly #client: DiscordClient;
  readonly #settings: DiscordSettings;
  readonly #deps: ChannelDeps;
  readonly #interactions: Interactions;
  readonly #life = new Lifecycle();
  readonly #threads: Threads;
  readonly #sending: Sending;
  /** The route of a message -> the reaction we put under it. */
  readonly #reactions = new RecentMap<string>(MAX_REMEMBERED);
  /** While the journal cannot take messages nothing arrives, whatever the connection does. */
  readonly #health = new HealthSum<'journal' | 'connection' | 'content' | 'history' | 'threads'>(
    (...health) => this.#life.host?.health(...health),
    inOrder('journal', 'connection', 'content', 'history', 'threads'),
    ['connection'],
  );

  constructor(options: { client: DiscordClient; account: string; settings: DiscordSettings; deps: ChannelDeps }) {
    this.#client = options.client;
    this.#settings = options.settings;
    this.#deps = options.deps;
    this.name = options.deps.name;
    this.account = options.account;
    this.limits = { ...LIMITS, ...sendTime(options.settings), ...(options.settings.rate_limits && { rate: RATES }) };
    this.#interactions = new Interactions({
      call: (method, route, body) => this.#call(method, route, { ...(body && { body }) }),
      clock: options.deps.clock,
      logger: options.deps.logger,
      signal: this.#life.stopping,
    });
    this.#threads = new Threads({
      isOn: options.settings.auto_threads,
      archiveMinutes: options.settings.auto_archive_duration,
      call: (route, body, signal) => this.#client.call('POST', route, { body, signal }),
      told: (trouble) => this.#health.set('threads', 'healthy', trouble),
      logger: options.deps.logger,
    });
    this.#sending = new Sending({
      ...{ client: options.client, clock: options.deps.clock },
      ...{ interactions: this.#interactions, threads: this.#threads },
      sendMs: options.settings.send_timeout_secs * 1_000,
      uploadMs: options.settings.upload_timeout_secs * 1_000,
    });
  }

  start(host: ChannelHost, signal: AbortSignal): Promise<void> {
    return this.#life.start(host, signal, (stop, settled) => this.#work(host, stop, settled));
  }

  stop(): Promise<void> {
    return this.#life.stop(async () => {
      await this.#interactions.done();
      this.#client.close();
    });
  }

  async send(part: OutboundPart, options: SendOptions): Promise<SendResult> {
    return this.#life.sends.run(options.signal, () => this.#sending.send(part, options));
  }

  async edit(platformId: string, part: OutboundPart, options: SendOptions): Promise<SendResult> {
    return this.#life.sends.run(options.signal, () => this.#sending.edit(platformId, part, options));
  }

  standsInChat(threadId: string): boolean {
    return this.#threads.isInChannel(threadId);
  }

  async withdraw(target: Pick<OutboundPart, 'chatId' | 'threadId'> & { platformId: string }, signal: AbortSignal): Promise<void> {
    const messageId = snowflake(target.platformId);
    if (messageId === undefined || placeOf(target) === undefined) throw new Error('this is no message that can be deleted');
    try {
      await this.#threads.inEither(target, (place) =>
        this.#call('DELETE', `/channels/${place}/messages/${messageId}`, { signal }),
      );
    } catch (error) {
      if (apiFailureOf(error)?.code !== UNKNOWN_MESSAGE) throw error;
    }
  }

  async react(
    target: Pick<OutboundPart, 'chatId' | 'threadId'> & { platformId: string },
    emoji: string | undefined,
    signal: AbortSignal,
  ): Promise<void> {
    const messageId = snowflake(target.platformId);
    if (messageId === undefined || placeOf(target) === undefined) {
      throw new Error('this is no message that can carry a reaction');
    }
    await this.#threads.inEither(target, (place) => this.#react(`/channels/${place}/messages/${messageId}`, emoji, signal));
  }

  async typing(part: Pick<OutboundPart, 'chatId' | 'threadId'>, signal: AbortSignal): Promise<void> {
    await this.#threads.inEither(part, (place) => this.#call('POST', `/channels/${place}/typing`, { signal }));
  }

  earlier(message: InboundMessage, limit: number, signal: AbortSignal): Promise<readonly EarlierMessage[]> {
    return earlierMessages(message, limit, (route, query) => this.#call('GET', route, { query, signal }));
  }

  download(media: MediaRef, signal: AbortSignal): Promise<MediaFile> {
    const limits = downloadLimits(this.limits, this.#settings, signal, this.#life.stopping);
    return download(media, { client: this.#client, origins: this.#settings.cdn_origins, ...limits });
  }

  async #work(host: ChannelHost, signal: AbortSignal, settled: () => void): Promise<void> {
    const { clock, random, logger, name, commands } = this.#deps;
    const { mention_roles, mention_everyone, follow_threads, auto_threads, message_content, catch_up_hours, slash_commands } =
      this.#settings;
    const health = (state: ChannelHealth, detail?: string): void => this.#health.set('connection', state, detail);
    let registering: Promise<void> | undefined;
    const receiver = new Receiver({
      client: this.#client,
      host,
      channel: name,
      account: this.account,
      mentionRoles: mention_roles,
      mentionEveryone: mention_everyone,
      followThreads: follow_threads,
      autoThreads: auto_threads,
      catchUpMs: catch_up_hours * 3_600_000,
      callTimeoutMs: CALL_TIMEOUT_MS,
      clock,
      random,
      logger,
      signal,
      onTrouble: (detail, state) => this.#health.set('journal', state, detail),
      ready: (connection) => {
        settled();
        // How it ended is told already, and is the newer word; a login that was refused has none after it.
        if (connection.aborted) return;
        health('healthy');
        if (!slash_commands || commands.length === 0) return;
        registering ??= registerCommands({
          call: (method, route, body) => this.#call(method, route, { ...(body && { body }), signal }),
          ...{ commands, logger, clock, signal },
        });
      },
      notCaughtUp: (unread) => this.#health.set('history', 'healthy', unreadWords(unread)),
      commands,
      acknowledge: (acknowledgement, committed) => this.#interactions.acknowledge(acknowledgement, committed),
    });
    const connected = async (): Promise<void> =>
      keepConnected({
        client: this.#client,
        session: await receiver.session(),
        messageContent: message_content,
        push: (packet) => receiver.push(packet),
        queued: () => receiver.queued,
        clock,
        random,
        logger,
        signal,
        health,
        failed: settled,
        contentRefused: (detail) => this.#health.set('content', 'degraded', detail),
      });
    await Promise.all([receiver.run(), connected()]);
    await registering;
  }

  /** `message` is the route of one. */
  async #react(message: string, emoji: string | undefined, signal: AbortSignal): Promise<void> {
    const own = (name: string): string => `${message}/reactions/${encodeURIComponent(name)}/@me`;
    if (emoji !== undefined) {
      await this.#call('PUT', own(emoji), { signal });
      // The platform keeps the one before beside it.
      const before = this.#reactions.get(message);
      this.#reactions.set(message, emoji);
      if (before !== undefined && before !== emoji) await this.#call('DELETE', own(before), { signal });
      return;
    }
    this.#reactions.delete(message);
    const reactions = objects(obj(await this.#call('GET', message, { signal }))['reactions']);
    for (const reaction of reactions.filter(({ me }) => me === true)) {
      const { name, id } = obj(reaction['emoji']);
      const custom = snowflake(id);
      await this.#call('DELETE', own(custom === undefined ? (str(name) ?? '') : `${str(name) ?? '_'}:${custom}`), { signal });
    }
  }

  async #call(
    method: Parameters<DiscordClient['call']>[0],
    route: string,
    options: Partial<Pick<CallOptions, 'body' | 'query' | 'signal'>>,
  ): Promise<unknown> {
    const { body, query, signal = this.#life.stopping } = options;
    return await this.#life.call({ clock: this.#deps.clock, ms: CALL_TIMEOUT_MS, signal }, (inner) =>
      this.#client.call(method, route, { ...(body && { body }), ...(query && { query }), signal: inner }),
    );
  }
}
