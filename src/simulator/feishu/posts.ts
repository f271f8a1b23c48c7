/** What the platform makes of the messages it is sent. */
import { PLATFORM_LIMITS } from '../../../channels/feishu/platform-limits.ts';

export interface FeishuPost {
  readonly id: string;
  readonly chatId: string;
  type: string;
  content: Record<string, unknown>;
  /** Of the card entity that it shows; `content` is then the card's JSON as it is now. */
  readonly cardId?: string;
  readonly parentId?: string;
  readonly threadId?: string;
  readonly inThread: boolean;
  readonly uuid?: string;
  /** Epoch ms; an edit does not change it. */
  readonly at: number;
  edits: number;
  /** Epoch ms of the last five edits. */
  editedAt?: readonly number[];
}

const CARD_EDITABLE_MS = PLATFORM_LIMITS.cardEditable.value;
const CARD_EDITS_A_SECOND = PLATFORM_LIMITS.cardEditRate.value;
const RECALLABLE_MS = PLATFORM_LIMITS.recallable.value;

/** An error answer. */
export class ApiError extends Error {
  readonly status: number;
  readonly code: number;

  constructor(code: number, msg: string, status = 400) {
    super(msg);
    this.status = status;
    this.code = code;
  }
}

/** PUT changes text and rich text, PATCH changes cards that were made to be changed, for 14 days. */
export function editPost(post: FeishuPost, method: string, data: Record<string, unknown>, now: number): void {
  // Whether this call takes a card entity is not documented; its own calls do.
  if (post.cardId !== undefined) throw new ApiError(230099, 'the message shows a card entity');
  const card = post.type === 'interactive';
  if (card !== (method === 'PATCH')) throw new ApiError(230001, 'NOT a card, or a card');
  if (card && (post.content['config'] as Record<string, unknown> | undefined)?.['update_multi'] !== true) {
    throw new ApiError(230099, 'the card is not shared');
  }
  if (card) keepCardLimits(post, now);
  if (!card && !['text', 'post'].includes(String(data['msg_type']))) throw new ApiError(230054, 'this type cannot be edited');
  if (!card && post.edits >= PLATFORM_LIMITS.edits.value)
    throw new ApiError(230072, 'The message has reached the number of edits limit.');
  // A text may become rich text, and the other way round.
  const type = card ? 'interactive' : String(data['msg_type']);
  post.content = readPostContent(type, data['content']);
  post.type = type;
  post.edits += 1;
}

/** The numbers of these two errors are not documented. */
function keepCardLimits(post: FeishuPost, now: number): void {
  if (now - post.at > CARD_EDITABLE_MS) throw new ApiError(230031, 'The card was sent more than 14 days ago.');
  const last = (post.editedAt ?? []).slice(1 - CARD_EDITS_A_SECOND);
  const first = post.editedAt?.at(-CARD_EDITS_A_SECOND) ?? 0;
  if (now - first < 1_000) throw new ApiError(230020, 'This operation triggers the frequency limit.');
  post.editedAt = [...last, now];
}

/** Throws where a message is too old to be taken back. */
export function checkRecall(post: FeishuPost, now: number): void {
  if (now - post.at > RECALLABLE_MS) throw new ApiError(230009, 'Message can only be recalled within one days.');
}

/** The limits of "Send message": size by type, tables in a card, empty lines and text. */
export function readPostContent(type: string, raw: unknown): Record<string, unknown> {
  if (typeof raw !== 'string') throw new ApiError(230001, 'content is not a string, ext=invalid message content');
  if (Buffer.byteLength(JSON.stringify(raw)) > (type === 'text' ? PLATFORM_LIMITS.text.value : PLATFORM_LIMITS.rich.value))
    throw new ApiError(230025, 'The length of the message content reaches its limit.');
  const content = JSON.parse(raw) as Record<string, unknown>;
  if (type === 'interactive') {
    const elements = content['elements'];
    if (!Array.isArray(elements)) throw new ApiError(230099, 'Failed to create card content');
    if (elements.filter((element: { tag: string }) => element.tag === 'table').length > PLATFORM_LIMITS.tables.value) {
      throw new ApiError(230099, 'Failed to create card content, ext=ErrCode: 11310; ErrMsg: card table number over limit');
    }
  } else if (type === 'post') {
    const [post] = Object.values(content) as { content?: unknown[][] }[];
    if (!post?.content?.every((line) => line.length > 0)) throw new ApiError(230001, 'ext=invalid message content');
  } else if (type === 'text' && (typeof content['text'] !== 'string' || content['text'] === '')) {
    throw new ApiError(230001, 'ext=invalid message content');
  }
  return content;
}

/** The card entity that a message is to show. */
export function cardIdOf(type: string, raw: unknown): string | undefined {
  if (type !== 'interactive' || typeof raw !== 'string') return undefined;
  const content = JSON.parse(raw) as { type?: unknown; data?: { card_id?: unknown } };
  return content.type === 'card' ? String(content.data?.card_id) : undefined;
}

/** The words people see of a message. */
export function visibleText(post: Pick<FeishuPost, 'type' | 'content'>): string {
  if (post.type === 'text') return String(post.content['text']);
  if (post.type === 'post') {
    const [body] = Object.values(post.content) as { content: { text?: string }[][] }[];
    return body?.content.map((line) => line.map(({ text }) => text ?? '').join('')).join('\n') ?? '';
  }
  if (post.type !== 'interactive') return '';
  const body = post.content['body'] as { elements: unknown } | undefined;
  const elements = (body?.elements ?? post.content['elements']) as { content?: string; text?: { content: string } }[];
  if (body) return elements.map(({ content, text }) => withoutMarks(content ?? text?.content ?? '')).join('\n');
  return elements.map((element) => element.content ?? element.text?.content ?? '').join('\n');
}

/** Of the Markdown of JSON 2.0: line breaks are tags, signs are numbered entities. */
function withoutMarks(markdown: string): string {
  return markdown
    .replaceAll(/<br>\n?/g, '\n')
    .replace(/\*{1,3}|~~/g, '')
    .replace(/&#(\d+);/g, (_, code: string) => String.fromCodePoint(Number(code)));
}
