/** Events, one by one -> `host.receive` with the cursor. What the platform pushed once must not get lost. */
import type { ChannelHost } from '../../../src/core/channel.ts';
import type { CommandEntry } from '../../../src/core/command-entry.ts';
import { errorText } from '../../../src/core/errors.ts';
import { type JsonObject, num, obj, objects } from '../../kit/json.ts';
import type { StoringOptions } from '../../kit/store-messages.ts';
import type { DiscordClient } from '../wire/client.ts';
import type { Packet, Session } from '../wire/gateway.ts';
import { requireId, snowflake } from '../wire/ids.ts';
import { THREAD_STARTER } from './called-in.ts';
import { Contexts } from './contexts.ts';
import { Handover } from './handover.ts';
import { toDelete, toEdit, toReaction, unreadable } from './inbound.ts';
import { type Acknowledgement, toInteraction } from './interaction.ts';
import { Missed, type Unread } from './missed.ts';
import type { Place } from './places.ts';

/** What a connection told. */
export interface Pushed extends Packet {
  /** Aborts when that connection is over. */
  readonly connection: AbortSignal;
}

export interface ReceiverOptions extends StoringOptions {
  readonly host: ChannelHost;
  readonly client: Pick<DiscordClient, 'call'>;
  readonly channel: string;
  readonly account: string;
  readonly mentionRoles: boolean;
  readonly mentionEveryone: boolean;
  readonly followThreads: boolean;
  readonly autoThreads: boolean;
  readonly catchUpMs: number;
  readonly callTimeoutMs: number;
  /** READY or RESUMED was worked off: what was missed is committed. The connection may be over by then. */
  readonly ready: (connection: AbortSignal) => void;
  /** So many chats lack messages that were written while nobody listened. */
  readonly notCaughtUp: (unread: Unread) => void;
  /** The gateway's own commands. */
  readonly commands: readonly CommandEntry[];
  /** A command or a button: acknowledge it once its message is committed. Must not throw. */
  readonly acknowledge: (acknowledgement: Acknowledgement, committed: Promise<void>) => void;
}

/**
 * An edit is told when it is made. The platform tells pins and previews like edits, with the time of the last
 * one: older than this it is an edit of old, which the journal may not know any more.
 */
const OLDEST_EDIT_MS = 7 * 86_400_000;
/** Events held in memory while the journal or the platform's history is slow. Beyond, the connection ends. */
export const MAX_QUEUED = 5_000;

export class Receiver {
  readonly #options: ReceiverOptions;
  readonly #contexts: Contexts;
  readonly #queue: Pushed[] = [];
  #wake = Promise.withResolvers<void>();
  readonly #handover: Handover;
  readonly #missed: Missed;
  #retryDue = false;

  constructor(options: ReceiverOptions) {
    this.#options = options;
    this.#handover = new Handover(options);
    const hasWritten = (thread: string): boolean => this.#handover.hasWritten(thread);
    this.#contexts = new Contexts({ ...options, hasWritten });
    const { asking, places } = this.#contexts;
    this.#missed = new Missed({
      places,
      catchUpMs: options.catchUpMs,
      get: (route, query) => asking.get(route, query),
      cursor: () => this.#handover.cursor(),
      keep: (change) => this.#handover.commit([], undefined, change),
      // A page works off no event: after a kill the one that made us read comes again, and with it the rest.
      offer: (messages, place) => this.#offer(messages, place, undefined),
      told: options.notCaughtUp,
      due: () => {
        this.#retryDue = true;
        this.#wake.resolve();
      },
      clock: options.clock,
      logger: options.logger,
      signal: options.signal,
    });
  }

  get queued(): number {
    return this.#queue.length;
  }

  push(packet: Pushed): void {
    this.#queue.push(packet);
    const privateChat = privateChatOf(packet);
    if (privateChat !== undefined) this.#handover.meet(privateChat);
    this.#wake.resolve();
  }

  /** The session of an earlier start, to go on with. */
  async session(): Promise<Session | undefined> {
    return (await this.#handover.cursor()).session;
  }

  /** Works until the signal aborts. Never rejects. */
  async run(): Promise<void> {
    const { signal } = this.#options;
    const onAbort = (): void => this.#wake.resolve();
    signal.addEventListener('abort', onAbort, { once: true });
    while (!signal.aborted) {
      if (this.#retryDue) {
        this.#retryDue = false;
        await this.#retry();
        continue;
      }
      const packet = this.#queue.shift();
      if (packet) {
        await this.#take(packet);
        continue;
      }
      await this.#wake.promise;
      this.#wake = Promise.withResolvers();
    }
    signal.removeEventListener('abort', onAbort);
  }

  async #retry(): Promise<void> {
    const { logger, signal } = this.#options;
    try {
      await this.#missed.retry();
    } catch (error) {
      if (!signal.aborted) logger.error('discord.history-unreadable', { error: errorText(error) });
    }
  }

  async #take(packet: Pushed): Promise<void> {
    const { channel, account, clock, logger, signal } = this.#options;
    try {
      await this.#handle(packet);
    } catch (error) {
      if (signal.aborted) return;
      // One event that cannot be read must not stop those behind it.
      logger.error('discord.event-unreadable', { type: packet.t, error: errorText(error) });
      try {
        await this.#handover.commit([unreadable(channel, account, sourceOf(packet), clock.now())], packet);
      } catch (failed) {
        if (!signal.aborted) logger.error('discord.event-lost', { type: packet.t, error: errorText(failed) });
      }
    }
  }

  async #handle(packet: Pushed): Promise<void> {
    const event = obj(packet.d);
    switch (packet.t) {
      case 'READY':
      case 'RESUMED':
        return this.#begin(packet);
      case 'GUILD_CREATE':
        this.#contexts.roles.learnAll(String(event['id']), event['roles']);
        return this.#missed.guild(event);
      case 'GUILD_ROLE_CREATE':
      case 'GUILD_ROLE_UPDATE':
        return this.#contexts.roles.learn(String(event['guild_id']), obj(event['role']));
      case 'GUILD_ROLE_DELETE':
        return this.#contexts.roles.forget(String(event['guild_id']), String(event['role_id']));
      case 'CHANNEL_CREATE':
      case 'CHANNEL_UPDATE':
      case 'THREAD_CREATE':
      case 'THREAD_UPDATE':
        this.#contexts.places.learn(event);
        return;
      case 'THREAD_LIST_SYNC':
        for (const thread of objects(event['threads'])) this.#contexts.places.learn(thread, snowflake(event['guild_id']));
        return;
      case 'CHANNEL_DELETE':
      case 'THREAD_DELETE':
        this.#contexts.places.forget(String(event['id']));
        return this.#missed.forget(String(event['id']));
      case 'MESSAGE_CREATE':
        return this.#message(event, packet);
      case 'INTERACTION_CREATE':
        return this.#interaction(event, packet);
      default:
        return this.#change(event, packet);
    }
  }

  async #begin(packet: Pushed): Promise<void> {
    await this.#handover.commit([], packet);
    const guilds = objects(obj(packet.d)['guilds']).flatMap(({ id }) => snowflake(id) ?? []);
    await this.#missed.begin(packet.t === 'RESUMED' ? 'resumed' : new Set(guilds));
    this.#options.ready(packet.connection);
  }

  async #message(event: JsonObject, packet: Packet): Promise<void> {
    const place = await this.#placeOf(event, packet);
    // Missed messages of this chat come before this one, and asking for them can take long. Once the chat is
    // known, a next start finds this message in the history.
    if (this.#handover.isStranger(place.id)) await this.#handover.commit([], undefined);
    await this.#missed.before(place.id);
    await this.#offer([event], place, packet);
  }

  async #offer(messages: readonly JsonObject[], place: Place, packet: Packet | undefined): Promise<void> {
    for (const message of messages) {
      if (num(message['type']) === THREAD_STARTER) this.#contexts.calledIn.learnStarter(place.id, message);
    }
    await this.#handover.offer(messages, place, (message) => this.#contexts.ofMessage(message, place), packet);
  }

  async #interaction(event: JsonObject, packet: Packet): Promise<void> {
    const place = await this.#placeOf(event, packet);
    const { commands, logger } = this.#options;
    const { message, acknowledgement } = toInteraction(event, await this.#contexts.of(place), commands);
    const committed = this.#handover.commit([message], packet);
    if (acknowledgement) this.#options.acknowledge(acknowledgement, committed);
    else logger.info('discord.interaction-not-ours', { place: place.id, type: num(event['type']) });
    await committed;
  }

  /** Edits, deletions and reactions; anything else is nothing to us. */
  async #change(event: JsonObject, packet: Packet): Promise<void> {
    const { account, clock } = this.#options;
    const kind = CHANGES.get(packet.t);
    if (kind === undefined) return;
    if (kind !== 'reaction') for (const id of [event['id'], event['ids']].flat()) this.#contexts.calledIn.forget(String(id));
    // Our own edits and reactions, and the previews the platform makes of our messages.
    if (kind === 'edit' && obj(event['author'])['id'] === account) return;
    if (kind === 'reaction' && event['user_id'] === account) return;
    const place = await this.#placeOf(event, packet);
    const context = await (kind === 'edit' ? this.#contexts.ofMessage(event, place) : this.#contexts.of(place));
    const now = clock.now();
    switch (kind) {
      case 'edit': {
        const edit = toEdit(event, context);
        if (edit && now - edit.timestamp < OLDEST_EDIT_MS) await this.#handover.commit([edit], packet);
        return;
      }
      case 'delete': {
        const ids = packet.t === 'MESSAGE_DELETE' ? [event['id']] : Array.isArray(event['ids']) ? event['ids'] : [];
        return this.#handover.commit(
          ids.map((id) => toDelete(id, context, now)),
          packet,
        );
      }
      case 'reaction': {
        const added = packet.t === 'MESSAGE_REACTION_ADD';
        const who = snowflake(event['user_id']);
        const user = event['member'] === undefined && who !== undefined ? await this.#contexts.names.person(who) : undefined;
        const reaction = toReaction(event, context, { added, now, source: sourceOf(packet), ...(user && { user }) });
        return this.#handover.commit([reaction], packet);
      }
    }
  }

  async #placeOf(event: JsonObject, packet: Packet): Promise<Place> {
    const id = requireId(event['channel_id'], 'channel id');
    const guildId = snowflake(event['guild_id']);
    const place = await this.#contexts.places.find(id, { ...(guildId !== undefined && { guildId }) });
    this.#options.logger.debug('discord.event', { type: packet.t, place: id });
    return place;
  }
}

const CHANGES: ReadonlyMap<string, 'edit' | 'delete' | 'reaction'> = new Map([
  ['MESSAGE_UPDATE', 'edit'],
  ['MESSAGE_DELETE', 'delete'],
  ['MESSAGE_DELETE_BULK', 'delete'],
  ['MESSAGE_REACTION_ADD', 'reaction'],
  ['MESSAGE_REACTION_REMOVE', 'reaction'],
]);

/** https://discord.com/developers/docs/interactions/receiving-and-responding#interaction-object-interaction-context-types */
const ELSEWHERE = 2;

/** The private chat with the bot that somebody wrote in, or gave a command or pressed a button in. */
function privateChatOf({ t, d }: Packet): string | undefined {
  const { guild_id: guild, channel_id: chat, context } = obj(d);
  const isOurs = t === 'MESSAGE_CREATE' || (t === 'INTERACTION_CREATE' && context !== ELSEWHERE);
  return isOurs && guild === undefined ? snowflake(chat) : undefined;
}

/** An event's place in its session: the same when it is replayed. */
function sourceOf(packet: Packet): string {
  return `${packet.session?.id ?? 'no session'}/${packet.s}`;
}
