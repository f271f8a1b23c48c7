/** Our reactions to messages: at most one to each, which takes the place of the one before. */
import type { Logger } from '../../../src/core/ports.ts';
import { CallError } from '../../kit/call-error.ts';
import { type JsonObject, obj } from '../../kit/json.ts';
import { RecentMap } from '../../kit/recent.ts';
import type { FeishuClient } from '../wire/client.ts';
import { isMissingScope } from '../wire/failure.ts';
import { stringOf } from '../wire/fields.ts';

export interface ReactionsOptions {
  readonly client: Pick<FeishuClient, 'addReaction' | 'removeReaction' | 'reactions'>;
  /** Whether a reaction of an app with this operator is ours. */
  readonly isOurs: (operatorId: string) => boolean;
  /** Whether the message arrived in this process: then no reaction of an earlier one is under it. */
  readonly hasArrived: (messageId: string) => boolean;
  readonly logger: Logger;
}

/** Older ones are forgotten, and asked for. */
const REMEMBERED = 2_000;
/** Of 50 reactions each. A sign that is not found among the first 500 costs no person an answer. */
const MOST_PAGES = 10;

interface Reaction {
  readonly id: string;
  readonly type: string;
}

export class Reactions {
  readonly #options: ReactionsOptions;
  /** Message -> our reaction to it. In memory: of what an earlier process put the platform is asked. */
  readonly #known = new RecentMap<Reaction>(REMEMBERED);
  #isClosed = false;

  constructor(options: ReactionsOptions) {
    this.#options = options;
  }

  /**
   * Puts a reaction in the place of ours, or takes ours away with undefined; `type` as the platform calls it.
   * Rejects with a `CallError`, or with the reason of `signal`.
   */
  async put(messageId: string, type: string | undefined, signal: AbortSignal): Promise<void> {
    const { client } = this.#options;
    const known = this.#known.get(messageId);
    this.#known.delete(messageId);
    const ours = known ? [known] : await this.#ask(messageId, type, signal);
    const stays = known ? undefined : ours.find((one) => one.type === type);
    for (const one of ours) if (one !== stays) await client.removeReaction(messageId, one.id, signal);
    if (stays) this.#known.set(messageId, stays);
    if (stays || type === undefined) return;
    const id = await client.addReaction(messageId, type, signal);
    if (id !== undefined) this.#known.set(messageId, { id, type });
  }

  /** An app that may not read reactions can put them all the same. */
  async #ask(messageId: string, type: string | undefined, signal: AbortSignal): Promise<readonly Reaction[]> {
    if (type !== undefined && this.#options.hasArrived(messageId)) return [];
    try {
      const found = await this.#list(messageId, signal);
      this.#isClosed = false;
      return found;
    } catch (error) {
      if (!(error instanceof CallError) || !isMissingScope(error.failure)) throw error;
      const hint = 'add the scope im:message.reactions:read and release a version of the app; until then they stay';
      if (!this.#isClosed) this.#options.logger.warn('feishu.reactions-closed', { detail: error.message, hint });
      this.#isClosed = true;
      if (type === undefined) throw error;
      return [];
    }
  }

  async #list(messageId: string, signal: AbortSignal): Promise<readonly Reaction[]> {
    const ours: Reaction[] = [];
    let from: string | undefined;
    for (let page = 0; page < MOST_PAGES; page += 1) {
      const { items, next } = await this.#options.client.reactions(messageId, from, signal);
      ours.push(...items.flatMap((item) => this.#oursIn(item)));
      if (next === undefined) break;
      from = next;
    }
    return ours;
  }

  #oursIn(item: JsonObject): readonly Reaction[] {
    const operator = obj(item['operator']);
    const id = stringOf(item['reaction_id']);
    const isOurs = operator['operator_type'] === 'app' && this.#options.isOurs(stringOf(operator['operator_id']));
    return isOurs && id !== '' ? [{ id, type: stringOf(obj(item['reaction_type'])['emoji_type']) }] : [];
  }
}
