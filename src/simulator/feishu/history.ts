/** "List messages": https://open.feishu.cn/document/server-docs/im-v1/message/list. */
import { ApiError, type FeishuPost } from './posts.ts';

type Stored = Readonly<Record<string, unknown>>;

/** A message of the bot as the platform tells it. */
export function asStored(post: FeishuPost, appId: string): Stored {
  return {
    message_id: post.id,
    chat_id: post.chatId,
    msg_type: post.type,
    sender: { id: appId, id_type: 'app_id', sender_type: 'app' },
    body: { content: JSON.stringify(post.content) },
    create_time: String(post.at),
    ...(post.threadId !== undefined && { thread_id: post.threadId }),
  };
}

/** One page. Of a topic in a chat, the chat lists the first message alone. Throws `ApiError`. */
export function listMessages(all: readonly Stored[], query: URLSearchParams): object {
  const type = query.get('container_id_type');
  const id = query.get('container_id');
  const size = Number(query.get('page_size') ?? 20);
  if (type !== 'chat' && type !== 'thread') throw new ApiError(230001, 'invalid container_id_type');
  if (!(size >= 1 && size <= 50)) throw new ApiError(230001, 'invalid page_size');
  if (type === 'thread' && (query.has('start_time') || query.has('end_time'))) {
    throw new ApiError(230001, 'a thread takes no start_time and no end_time');
  }
  const until = query.has('end_time') ? (Number(query.get('end_time')) + 1) * 1_000 : Number.POSITIVE_INFINITY;
  const seen = new Set<unknown>();
  const isShown = ({ chat_id, thread_id }: Stored): boolean => {
    if (type === 'thread') return thread_id === id;
    const isReply = thread_id !== undefined && seen.has(thread_id);
    seen.add(thread_id);
    return chat_id === id && !isReply;
  };
  const oldestFirst = all.toSorted((a, b) => timeOf(a) - timeOf(b)).filter((one) => isShown(one) && timeOf(one) < until);
  const sorted = query.get('sort_type') === 'ByCreateTimeDesc' ? oldestFirst.toReversed() : oldestFirst;
  const from = Number(query.get('page_token') ?? 0);
  const more = sorted.length > from + size;
  return { has_more: more, ...(more && { page_token: String(from + size) }), items: sorted.slice(from, from + size) };
}

function timeOf({ create_time }: Stored): number {
  return Number(create_time);
}
