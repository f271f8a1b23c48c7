/**
 * Reactions to messages: https://open.feishu.cn/document/server-docs/im-v1/message-reaction/list (and
 * `create` and `delete` beside it). The scopes of each call:
 * https://open.feishu.cn/document/server-docs/im-v1/introduction
 */
import { ApiError } from './posts.ts';

export interface FeishuReaction {
  readonly messageId: string;
  readonly emoji: string;
  /** The open id of the person who put it. Absent: the app did. */
  readonly openId?: string;
}

/** "page_size: 分页大小", 20 where it is absent and at most 50. */
const PAGE = { fallback: 20, most: 50 };
const ID_TYPES: readonly string[] = ['open_id', 'union_id', 'user_id'];

export class Reactions extends Map<string, FeishuReaction> {
  #made = 0;

  /** Resolves to the id by which the app may take it away. */
  put(messageId: string, type: unknown): string {
    const emoji = (type as Record<string, unknown> | undefined)?.['emoji_type'];
    if (typeof emoji !== 'string' || emoji === '') throw new ApiError(231001, 'reaction type is invalid.');
    this.#made += 1;
    const id = `r_${this.#made}`;
    this.set(id, { messageId, emoji });
    return id;
  }

  /** An app may take away its own alone. */
  take(id: string): void {
    if (this.get(id)?.openId !== undefined || !this.delete(id)) throw new ApiError(231007, 'The reaction is not there.');
  }

  /** One page of those to a message, the oldest first. */
  list(messageId: string, query: URLSearchParams, appId: string): object {
    const size = Number(query.get('page_size') ?? PAGE.fallback);
    const type = query.get('reaction_type');
    if (!Number.isInteger(size) || size < 1 || size > PAGE.most)
      throw new ApiError(99992402, 'field validation failed: page_size');
    if (!ID_TYPES.includes(query.get('user_id_type') ?? 'open_id')) throw new ApiError(231014, 'user_id_type is invalid.');
    const token = query.get('page_token') ?? 'p_0';
    if (!/^p_\d+$/.test(token)) throw new ApiError(231012, 'The request has an invalid pageToken.');
    const from = Number(token.slice(2));
    const all = [...this].filter(([, one]) => one.messageId === messageId && (type === null || one.emoji === type));
    const items = all.slice(from, from + size).map(([id, { emoji, openId }]) => ({
      reaction_id: id,
      operator: { operator_id: openId ?? appId, operator_type: openId === undefined ? 'app' : 'user' },
      action_time: '1767225600000',
      reaction_type: { emoji_type: emoji },
    }));
    const more = all.length > from + size;
    return { items, has_more: more, page_token: more ? `p_${from + size}` : '' };
  }
}
