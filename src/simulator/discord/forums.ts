/**
 * Forums, which the emulator lacks: channels that hold threads alone. "Only threads can be created in that
 * channel; messages cannot be sent directly in that channel" (change log of the documentation, 2022-04-06).
 */
import type { RuleRefusal } from './rules.ts';
import type { JsonObject } from './wire.ts';

/** https://docs.discord.com/developers/resources/channel#channel-object-channel-types */
const GUILD_FORUM = 15;
const PUBLIC_THREAD = 11;
/** Under these ids the emulator keeps posts: it chooses the id of a message, so that none is known before. */
const FIRST_KEPT = 951_000_000_000_000_000n;
const CHANNEL = /^\/channels\/(\d+)/;

export interface PostOptions {
  readonly forum: string;
  readonly title: string;
  readonly senderId: string;
  readonly senderName: string;
  readonly content: string;
}

/** Where they stand. */
export interface ForumsAt {
  write(message: JsonObject): Promise<string>;
  readonly gateway: { dispatch(type: string, data: JsonObject): void };
}

interface Post {
  /** The channel of the emulator. */
  readonly kept: string;
  /** What the emulator does not know of the thread. */
  readonly fields: JsonObject;
}

export class SimulatedForums {
  /** Id of the forum -> of its server. */
  readonly #forums = new Map<string, string>();
  /** By the id of the post, which is that of its first message. */
  readonly #posts = new Map<string, Post>();
  readonly #kept = new Map<string, string | undefined>();
  readonly #at: ForumsAt;

  constructor(at: ForumsAt) {
    this.#at = at;
  }

  open(id: string, guildId: string): void {
    this.#forums.set(id, guildId);
  }

  /**
   * A person opens a post; resolves to its id. The bot is told of the thread, and of what is written there by
   * `push` alone: "Fires a Thread Create and a Message Create Gateway event"
   * (https://docs.discord.com/developers/resources/channel#start-thread-in-forum-or-media-channel).
   */
  async post({ forum, title, ...message }: PostOptions): Promise<string> {
    const guildId = this.#forums.get(forum) ?? '';
    const kept = String(FIRST_KEPT + BigInt(this.#kept.size));
    this.#kept.set(kept, undefined);
    const id = await this.#at.write({ ...message, guildId, channelId: kept, parentChannelId: forum });
    const fields = { id, type: PUBLIC_THREAD, guild_id: guildId, parent_id: forum, name: title, owner_id: message.senderId };
    this.#kept.set(kept, id);
    this.#posts.set(id, { kept, fields });
    this.#at.gateway.dispatch('THREAD_CREATE', { ...fields, newly_created: true });
    return id;
  }

  /** What the platform says of the forum itself; undefined: the call is about something else. */
  answer(method: string, route: string): RuleRefusal | undefined {
    const id = CHANNEL.exec(route)?.[1] ?? '';
    const guildId = this.#forums.get(id);
    if (guildId === undefined) return undefined;
    const isForum = method === 'GET' && route === `/channels/${id}`;
    if (isForum) return { status: 200, body: forumObject(id, guildId) };
    // https://docs.discord.com/developers/topics/opcodes-and-status-codes#json; of reads unverified.
    return { status: 400, body: { message: 'Cannot send messages in a non-text channel', code: 50_008 } };
  }

  /** The same route at the emulator. */
  upstream(route: string): string {
    return route.replace(CHANNEL, (_whole, id: string) => `/channels/${this.#posts.get(id)?.kept ?? id}`);
  }

  /** What the emulator says, with the ids and the names of posts that people see. */
  shown<T>(told: T): T {
    if (told === undefined || this.#posts.size === 0) return told;
    const text = JSON.stringify(told).replaceAll(/"(951\d{15})"/g, (whole, kept) => {
      const id = this.#kept.get(kept);
      return id === undefined ? whole : `"${id}"`;
    });
    const shown = JSON.parse(text) as T & JsonObject;
    const post = this.#posts.get(String(shown['id']));
    return post && shown['type'] === PUBLIC_THREAD ? { ...shown, ...post.fields } : shown;
  }

  /** An event of the emulator; undefined: people's posts are told otherwise. */
  event(type: string, data: JsonObject, isOwn: boolean): JsonObject | undefined {
    if (type === 'CHANNEL_CREATE' && this.#kept.has(String(data['id']))) return undefined;
    if (type === 'MESSAGE_CREATE' && !isOwn && this.#kept.has(String(data['channel_id']))) return undefined;
    return type === 'GUILD_CREATE' ? this.#guild(data) : this.shown(data);
  }

  /**
   * "threads: All active threads in the guild"
   * (https://docs.discord.com/developers/events/gateway-events#guild-create).
   */
  #guild(guild: JsonObject): JsonObject {
    const all = (guild['channels'] ?? []) as readonly JsonObject[];
    const channels = all.filter(({ id }) => !this.#kept.has(String(id)));
    const kept = all.filter(({ id }) => this.#kept.get(String(id)) !== undefined);
    const forums = [...this.#forums].filter(([, id]) => id === guild['id']).map(([id, guildId]) => forumObject(id, guildId));
    return { ...guild, channels: [...channels, ...forums], threads: kept.map((thread) => this.shown(thread)) };
  }
}

function forumObject(id: string, guildId: string): JsonObject {
  return { id, guild_id: guildId, type: GUILD_FORUM, name: 'help', last_message_id: null };
}
