/** Where a message was written: the platform's events name a channel only, and a thread looks like one. */
import { type JsonObject, num, obj, objects, str } from '../../kit/json.ts';
import { RecentMap } from '../../kit/recent.ts';
import { snowflake } from '../wire/ids.ts';

/** A channel, a private chat, or a thread in its channel. */
export interface Place {
  readonly id: string;
  /** Absent in private chats. */
  readonly guildId?: string;
  /** The channel a thread belongs to; absent for everything else. */
  readonly parentId?: string;
  /** As of the last event that told it. */
  readonly lastMessageId?: string;
  /** As people see it; private chats have none. */
  readonly name?: string;
  /** A forum or media channel: each post of it is a thread. */
  readonly isForum?: true;
  /** Who started the thread, or wrote the post. Absent for everything that is no thread. */
  readonly ownerId?: string;
  /** A text or announcement channel: threads can be started from its messages. */
  readonly canThread?: true;
}

/**
 * Announcement, public, private thread:
 * https://discord.com/developers/docs/resources/channel#channel-object-channel-types
 */
const THREADS: ReadonlySet<number> = new Set([10, 11, 12]);
/**
 * "When called on a `GUILD_TEXT` channel, creates a `PUBLIC_THREAD`", on a `GUILD_ANNOUNCEMENT` channel "a
 * `ANNOUNCEMENT_THREAD`" (https://docs.discord.com/developers/resources/channel#start-thread-from-message).
 */
const STARTS_THREADS: ReadonlySet<number> = new Set([0, 5]);
/** With one person, with several. */
const PRIVATE: ReadonlySet<number> = new Set([1, 3]);
/** Forum and media channels: what they name as their last message is a thread. */
const THREADS_ONLY: ReadonlySet<number> = new Set([15, 16]);
/** "1-100 character channel name" (https://discord.com/developers/docs/resources/channel). */
const MAX_NAME = 100;
/** As many as the channels of a few large servers; asking for one that was forgotten is one call. */
const MAX_PLACES = 20_000;

/** Chat and thread in the gateway's sense. */
export function chatOf(place: Place): { readonly chatId: string; readonly threadId?: string } {
  return place.parentId === undefined ? { chatId: place.id } : { chatId: place.parentId, threadId: place.id };
}

export class Places {
  readonly #places = new RecentMap<Place>(MAX_PLACES);
  readonly #lookUp: (route: string) => Promise<unknown>;

  /**
   * `lookUp` answers a GET, with undefined when the platform would not or could not say. It rejects only when
   * the adapter stops.
   */
  constructor(options: { readonly lookUp: (route: string) => Promise<unknown> }) {
    this.#lookUp = options.lookUp;
  }

  /** Channels and threads of a server, as GUILD_CREATE tells them. Returns those that hold messages. */
  learnGuild(guild: JsonObject): readonly Place[] {
    const guildId = snowflake(guild['id']);
    if (guildId === undefined) return [];
    const channels = [...objects(guild['channels']), ...objects(guild['threads'])];
    return channels.flatMap((channel) => {
      const place = this.learn(channel, guildId);
      return place && !place.isForum ? [place] : [];
    });
  }

  /** A channel object. Undefined when it has no id. */
  learn(channel: JsonObject, guild?: string): Place | undefined {
    const id = snowflake(channel['id']);
    if (id === undefined) return undefined;
    const guildId = snowflake(channel['guild_id']) ?? guild;
    const type = num(channel['type']) ?? -1;
    const parentId = THREADS.has(type) ? snowflake(channel['parent_id']) : undefined;
    const lastMessageId = snowflake(channel['last_message_id']);
    const name = str(channel['name'])?.slice(0, MAX_NAME);
    // "`owner_id` has been repurposed to store the id of the user that started the thread" (topics/threads).
    const ownerId = parentId === undefined ? undefined : snowflake(channel['owner_id']);
    const place: Place = {
      id,
      ...(guildId !== undefined && { guildId }),
      ...(parentId !== undefined && { parentId }),
      ...(lastMessageId !== undefined && { lastMessageId }),
      ...(name && { name }),
      ...(THREADS_ONLY.has(type) && { isForum: true }),
      ...(ownerId !== undefined && { ownerId }),
      ...(STARTS_THREADS.has(type) && { canThread: true }),
    };
    this.#places.set(place.id, place);
    return place;
  }

  forget(id: string): void {
    this.#places.delete(id);
  }

  known(id: string): Place | undefined {
    return this.#places.get(id);
  }

  /** Where an event took place: one of a server names it by `guildId`, one of a private chat does not. */
  async find(id: string, event: { readonly guildId?: string }): Promise<Place> {
    const known = this.#places.get(id);
    if (known && (known.guildId !== undefined || event.guildId === undefined)) return known;
    if (event.guildId === undefined) {
      const place: Place = { id };
      this.#places.set(place.id, place);
      return place;
    }
    // It is gone, not ours to see, or not to be had now. What the event says is taken, and it is asked for
    // again next time.
    return (await this.lookFor(id)) ?? { id, guildId: event.guildId };
  }

  /**
   * Asks the platform about an unknown place: messages fetched by REST name no server. Undefined when it did
   * not say.
   */
  async lookFor(id: string): Promise<Place | undefined> {
    const known = this.#places.get(id);
    if (known) return known;
    const channel = obj(await this.#lookUp(`/channels/${id}`));
    const isPlace = snowflake(channel['guild_id']) !== undefined || PRIVATE.has(num(channel['type']) ?? -1);
    return isPlace ? this.learn(channel) : undefined;
  }
}
