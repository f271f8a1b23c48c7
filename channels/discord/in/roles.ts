/** Roles of servers: their names, and which of them are the bot itself. */
import { type JsonObject, obj, objects, str } from '../../kit/json.ts';
import { RecentMap } from '../../kit/recent.ts';
import { snowflake } from '../wire/ids.ts';
import type { Asking } from './asking.ts';

interface Known {
  readonly names: Map<string, string>;
  /** The platform makes one for each bot that was invited with permissions. */
  readonly own: Set<string>;
}

/** A bot over one connection is in 2,500 servers at most (gateway, sharding). */
const MAX_GUILDS = 2_500;

export class Roles {
  readonly #guilds = new RecentMap<Known>(MAX_GUILDS);
  readonly #account: string;
  readonly #asking: Pick<Asking, 'patiently' | 'once'>;

  constructor(options: { readonly account: string; readonly asking: Pick<Asking, 'patiently' | 'once'> }) {
    this.#account = options.account;
    this.#asking = options.asking;
  }

  /**
   * All roles of a server, as GUILD_CREATE and the list of its roles tell them. Anything but a list tells
   * nothing.
   */
  learnAll(guildId: string, roles: unknown): void {
    if (!Array.isArray(roles)) return;
    this.#guilds.set(guildId, { names: new Map(), own: new Set() });
    for (const role of objects(roles)) this.learn(guildId, role);
  }

  /**
   * One role, as GUILD_ROLE_CREATE and _UPDATE tell it. Of a server that is not known it waits for the whole
   * list.
   */
  learn(guildId: string, role: JsonObject): void {
    const known = this.#guilds.get(guildId);
    const id = snowflake(role['id']);
    if (!known || id === undefined) return;
    known.names.set(id, str(role['name']) ?? '');
    if (str(obj(role['tags'])['bot_id']) === this.#account) known.own.add(id);
  }

  /** GUILD_ROLE_DELETE. */
  forget(guildId: string, id: string): void {
    this.#guilds.get(guildId)?.names.delete(id);
    this.#guilds.get(guildId)?.own.delete(id);
  }

  /**
   * Roles whose mention is a mention of the bot. Asks with patience: they decide whether the agent is spoken
   * to.
   */
  async own(guildId: string): Promise<ReadonlySet<string>> {
    if (!this.#guilds.has(guildId)) this.learnAll(guildId, await this.#asking.patiently(listOf(guildId)));
    return this.#guilds.get(guildId)?.own ?? new Set();
  }

  /** By the roles' ids. `ask`: for those of a server that is not known. */
  async names(guildId: string, ask: boolean): Promise<ReadonlyMap<string, string>> {
    if (ask && !this.#guilds.has(guildId)) this.learnAll(guildId, await this.#asking.once(listOf(guildId)));
    return this.#guilds.get(guildId)?.names ?? new Map();
  }
}

function listOf(guildId: string): string {
  return `/guilds/${guildId}/roles`;
}
