/**
 * What the agent is shown beside a message that calls it in: the message replied to, and how the thread
 * began.
 */
import { type JsonObject, num, obj } from '../../kit/json.ts';
import { RecentMap } from '../../kit/recent.ts';
import { snowflake } from '../wire/ids.ts';
import type { Asking } from './asking.ts';
import { isForward } from './inbound-content.ts';
import type { Place, Places } from './places.ts';

/** https://discord.com/developers/docs/resources/message#message-object-message-types */
const REPLY = 19;
/**
 * "*Only* contains a message reference field that points to the message from which the thread was started"
 * (topics/threads).
 */
export const THREAD_STARTER = 21;

export interface Surroundings {
  /** The message replied to, where the platform did not send it along. */
  readonly referenced?: JsonObject;
  /** The message that the thread began with, when the agent is called in there for the first time. */
  readonly starter?: JsonObject;
  /** The post, with its first message and when the agent is called in for the first time. */
  readonly post?: Post;
}

/** A post of a forum: its title is words of the person who opened it. */
export interface Post {
  readonly title: string;
  readonly ownerId: string;
}

export interface CalledInOptions {
  readonly asking: Pick<Asking, 'once'>;
  readonly places: Places;
  /** Whether the agent wrote in a thread before: it has seen how that began. */
  readonly hasWritten: (thread: string) => boolean;
}

/** Threads whose first message is kept. */
const MAX_STARTERS = 200;

/** Every method rejects only when the adapter stops. */
export class CalledIn {
  readonly #options: CalledInOptions;
  /** Empty for one that is gone. */
  readonly #starters = new RecentMap<JsonObject>(MAX_STARTERS);

  constructor(options: CalledInOptions) {
    this.#options = options;
  }

  /** A thread's row that points to its first message, which it may bear. */
  learnStarter(thread: string, row: JsonObject): void {
    const starter = obj(row['referenced_message']);
    if (snowflake(starter['id']) !== undefined) this.#starters.set(thread, starter);
  }

  /** The message was edited or deleted: where a thread began with it, it is asked for anew. */
  forget(message: string): void {
    // A thread has the id of that message.
    this.#starters.delete(message);
  }

  /**
   * `isCalled`: the message speaks to the agent. What no person will read is not fetched. `isBare`: it says
   * no more than its name, which points at how the thread began.
   */
  async surroundings(
    message: JsonObject,
    place: Place,
    { isCalled, isBare }: { readonly isCalled: boolean; readonly isBare: boolean },
  ): Promise<Surroundings> {
    const { id: thread, parentId, name: title } = place;
    // The first message of a post has the thread's own id (topics/threads); that of other threads lies
    // outside.
    const isPost = parentId !== undefined && message['id'] === thread;
    const isFirst = isCalled && parentId !== undefined && (isBare || !this.#options.hasWritten(thread));
    const referenced = isCalled ? await this.#referenced(message) : undefined;
    const inForum = isPost || (isFirst && (await this.#isForum(parentId)));
    const starter = isFirst && !isPost ? await this.#starter(place, inForum ? thread : parentId) : undefined;
    const ownerId = place.ownerId ?? (isPost ? snowflake(obj(message['author'])['id']) : undefined);
    return {
      ...(referenced && { referenced }),
      ...(starter && { starter }),
      ...(inForum && title !== undefined && ownerId !== undefined && { post: { title, ownerId } }),
    };
  }

  /** "If … not present, the backend did not attempt to fetch the message"; null is one that was deleted. */
  async #referenced(message: JsonObject): Promise<JsonObject | undefined> {
    if (num(message['type']) !== REPLY || isForward(message) || message['referenced_message'] !== undefined) return undefined;
    const reference = obj(message['message_reference']);
    const channel = snowflake(reference['channel_id']);
    const id = snowflake(reference['message_id']);
    if (channel === undefined || id === undefined) return undefined;
    const found = obj(await this.#options.asking.once(`/channels/${channel}/messages/${id}`));
    return found['id'] === id ? found : undefined;
  }

  async #isForum(parent: string): Promise<boolean> {
    const { asking, places } = this.#options;
    const known = places.known(parent);
    if (known) return known.isForum === true;
    const channel = obj(await asking.once(`/channels/${parent}`));
    return channel['id'] === parent && places.learn(channel)?.isForum === true;
  }

  async #starter({ id: thread }: Place, channel: string): Promise<JsonObject | undefined> {
    const known = this.#starters.get(thread);
    const answer = known ?? (await this.#options.asking.once(`/channels/${channel}/messages/${thread}`));
    const starter = obj(answer);
    // No answer is not the end of it; that there is no such message is.
    if (answer !== undefined) this.#starters.set(thread, starter);
    return starter['id'] === thread ? starter : undefined;
  }
}
