/** What an event is read with: its place, the names in it, and for a message what stands around it. */

import { type JsonObject, obj } from '../../kit/json.ts';
import { composed } from '../../kit/senders-words.ts';
import type { StoringOptions } from '../../kit/store-messages.ts';
import type { DiscordClient } from '../wire/client.ts';
import { Asking } from './asking.ts';
import { CalledIn } from './called-in.ts';
import type { InboundContext } from './inbound.ts';
import { snapshotsOf } from './inbound-content.ts';
import { filesOf, namesNobodyElse, piecesOf } from './inbound-reply.ts';
import { type Addressing, readText } from './inbound-text.ts';
import { Names } from './names.ts';
import { type Place, Places } from './places.ts';
import { Roles } from './roles.ts';

export interface ContextsOptions extends Pick<StoringOptions, 'clock' | 'logger' | 'signal'> {
  readonly client: Pick<DiscordClient, 'call'>;
  readonly callTimeoutMs: number;
  readonly channel: string;
  readonly account: string;
  readonly mentionRoles: boolean;
  readonly mentionEveryone: boolean;
  readonly followThreads: boolean;
  readonly autoThreads: boolean;
  /** Whether the agent wrote in a thread before. */
  readonly hasWritten: (thread: string) => boolean;
}

const NO_ROLES: ReadonlySet<string> = new Set();

/** Every method that waits rejects only when the adapter stops. */
export class Contexts {
  readonly asking: Asking;
  readonly places: Places;
  readonly roles: Roles;
  readonly names: Names;
  readonly calledIn: CalledIn;
  readonly #options: ContextsOptions;

  constructor(options: ContextsOptions) {
    const { account, hasWritten } = options;
    this.#options = options;
    this.asking = new Asking(options);
    const { asking } = this;
    this.places = new Places({ lookUp: (route) => asking.patiently(route) });
    this.roles = new Roles({ account, asking });
    const { places, roles } = this;
    this.names = new Names({ asking, places, roles });
    this.calledIn = new CalledIn({ asking, places, hasWritten });
  }

  /** Of an event that is no message. */
  async of(place: Place): Promise<InboundContext> {
    const { channel, account, mentionRoles, mentionEveryone, followThreads, autoThreads, hasWritten } = this.#options;
    const roles = mentionRoles && place.guildId !== undefined ? await this.roles.own(place.guildId) : NO_ROLES;
    const to: Addressing = { account, roles, everyone: mentionEveryone };
    const isFollowed = followThreads && place.parentId !== undefined && (place.ownerId === account || hasWritten(place.id));
    const opensThreads = autoThreads && place.canThread === true;
    return { channel, to, place, ...(isFollowed && { isFollowed }), ...(opensThreads && { opensThreads }) };
  }

  /** Of a message, new or edited, or of the history. */
  async ofMessage(message: JsonObject, place: Place): Promise<InboundContext> {
    const context = await this.of(place);
    const { account } = context.to;
    const author = obj(message['author']);
    if (author['id'] === account) return context;
    this.names.meet(author);
    const isPrivate = place.guildId === undefined;
    const isFollowing = context.isFollowed === true && namesNobodyElse(message, account);
    const said = readText(message, context.to);
    const isCalled = isPrivate || isFollowing || said.mentioned;
    const hasFiles = filesOf(message, { channelId: place.id, id: String(message['id']) }).length > 0;
    const isBare = said.mentioned && !hasFiles && composed(...piecesOf(message, said.text, undefined)).text === '';
    const around = await this.calledIn.surroundings(message, place, { isCalled, isBare });
    const beside = [obj(message['referenced_message']), around.referenced, around.starter].filter((other) => other !== undefined);
    const read = [message, ...beside].flatMap((body) => [body, ...snapshotsOf(body)]);
    return { ...context, ...around, nameOf: await this.names.of(read, place, isCalled) };
  }
}
