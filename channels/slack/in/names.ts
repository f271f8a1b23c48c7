/** Names for ids: events carry the id of their author alone. Only shown; nothing is decided by them. */
import type { InboundMessage } from '../../../src/core/message.ts';
import type { Clock } from '../../../src/core/ports.ts';
import { apiFailureOf } from '../../kit/call-error.ts';
import { withDeadline } from '../../kit/deadline.ts';
import { obj, str } from '../../kit/json.ts';
import { RecentMap } from '../../kit/recent.ts';
import { label } from '../../kit/senders-words.ts';
import type { SlackClient } from '../wire/client.ts';
import { NOT_ALLOWED } from '../wire/failure.ts';

/**
 * A message waits this long for its author's name, once per person; the platform wants its acknowledgement
 * within three seconds.
 */
const LOOKUP_MS = 1_000;
const MAX_KNOWN = 2_000;

export class UserNames {
  readonly #client: Pick<SlackClient, 'call'>;
  readonly #clock: Clock;
  /** Id -> name, or the id where there is none to be had. */
  readonly #known = new RecentMap<string>(MAX_KNOWN);
  #allowed = true;

  constructor(options: { readonly client: Pick<SlackClient, 'call'>; readonly clock: Clock }) {
    this.#client = options.client;
    this.#clock = options.clock;
  }

  /** The messages, with names where they had ids. Rejects with `signal.reason` alone. */
  async named(messages: readonly InboundMessage[], signal: AbortSignal): Promise<readonly InboundMessage[]> {
    const nameless = messages.filter(({ senderName, senderId, refusal }) => senderName === senderId && refusal === undefined);
    await Promise.all([...new Set(nameless.map(({ senderId }) => senderId))].map((id) => this.#learn(id, signal)));
    return messages.map((message) => {
      const name = message.senderName === message.senderId ? this.#known.get(message.senderId) : undefined;
      return name === undefined ? message : { ...message, senderName: name };
    });
  }

  /** The name of one person, or the id. Rejects with `signal.reason` alone. */
  async nameOf(senderId: string, signal: AbortSignal): Promise<string> {
    await this.#learn(senderId, signal);
    return this.#known.get(senderId) ?? senderId;
  }

  async #learn(senderId: string, signal: AbortSignal): Promise<void> {
    if (this.#known.has(senderId) || !this.#allowed) return;
    // `T2:U1`: a person of another workspace.
    const user = senderId.slice(senderId.indexOf(':') + 1);
    try {
      const answer = await withDeadline({ clock: this.#clock, ms: LOOKUP_MS, signal }, (inner) =>
        this.#client.call('users.info', { user }, inner),
      );
      const found = obj(answer['user']);
      const profile = obj(found['profile']);
      const name = str(profile['display_name']) || str(profile['real_name']) || str(found['name']) || senderId;
      this.#known.set(senderId, label(name));
    } catch (error) {
      signal.throwIfAborted();
      const refused = apiFailureOf(error);
      if (NOT_ALLOWED.has(refused?.code)) this.#allowed = false;
      else if (refused) this.#known.set(senderId, senderId);
    }
  }
}
