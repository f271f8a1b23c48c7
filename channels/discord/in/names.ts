/** Names of people, roles and channels that events tell by id alone. */
import { type JsonObject, obj, str } from '../../kit/json.ts';
import { RecentMap, RecentSet } from '../../kit/recent.ts';
import { snowflake } from '../wire/ids.ts';
import type { Asking } from './asking.ts';
import { displayName, idsIn, type NameOf } from './inbound-text.ts';
import type { Place, Places } from './places.ts';
import type { Roles } from './roles.ts';

export interface NamesOptions {
  readonly asking: Pick<Asking, 'once'>;
  readonly places: Places;
  readonly roles: Roles;
}

/** People of whom a name is kept. */
const MAX_PEOPLE = 2_000;
/** Channels that the platform would not show. */
const MAX_HIDDEN = 1_000;
/**
 * Channels of one message that are asked for: a sender who writes a thousand ids must not have us ask a
 * thousand times.
 */
const MAX_ASKED = 3;

export class Names {
  readonly #options: NamesOptions;
  readonly #people = new RecentMap<JsonObject>(MAX_PEOPLE);
  readonly #hidden = new RecentSet(MAX_HIDDEN);

  constructor(options: NamesOptions) {
    this.#options = options;
  }

  /** A user object that some event bore. */
  meet(user: JsonObject): void {
    const id = snowflake(user['id']);
    if (id !== undefined && displayName(user) !== id) this.#people.set(id, user);
  }

  /**
   * The person who wrote, reacted or pressed; asked once where no event has told. Undefined when the platform
   * does not say.
   */
  async person(id: string): Promise<JsonObject | undefined> {
    const known = this.#people.get(id);
    if (known) return known;
    const user = obj(await this.#options.asking.once(`/users/${id}`));
    if (user['id'] !== id) return undefined;
    this.meet(user);
    return user;
  }

  /**
   * Names for the ids in messages: those that they bear themselves, then those of the server. Names of other
   * servers are told to nobody. `ask`: what is not known is asked for, which is worth a call only when the
   * agent will read it.
   */
  async of(messages: readonly JsonObject[], { guildId }: Place, ask: boolean): Promise<NameOf> {
    const { places, roles } = this.#options;
    const { channels, roles: roleIds } = idsIn(messages);
    const roleNames = guildId !== undefined && roleIds.length > 0 ? await roles.names(guildId, ask) : new Map<string, string>();
    if (ask && guildId !== undefined) await this.#askFor(channels);
    const borne = messages.map((message) => obj(message['resolved']));
    const entry = (kind: string, id: string): JsonObject =>
      borne.map((resolved) => obj(obj(resolved[kind])[id])).find((found) => Object.keys(found).length > 0) ?? {};
    const channelHere = (id: string): string | undefined => {
      const place = places.known(id);
      return place?.guildId !== undefined && place.guildId === guildId ? place.name : undefined;
    };
    return {
      user: (id) => {
        const user = entry('users', id);
        return user['id'] === id ? displayName(user, entry('members', id)) : undefined;
      },
      role: (id) => str(entry('roles', id)['name']) ?? roleNames.get(id),
      channel: (id) => str(entry('channels', id)['name']) ?? channelHere(id),
    };
  }

  async #askFor(channels: readonly string[]): Promise<void> {
    const { asking, places } = this.#options;
    const unknown = channels.filter((id) => !places.known(id) && !this.#hidden.has(id));
    for (const id of unknown.slice(0, MAX_ASKED)) {
      const answer = await asking.once(`/channels/${id}`);
      const channel = obj(answer);
      if (snowflake(channel['guild_id']) !== undefined && channel['id'] === id) places.learn(channel);
      else if (answer !== undefined) this.#hidden.add(id);
    }
  }
}
