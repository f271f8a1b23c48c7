/**
 * What is known of messages that events only name: who wrote them, where, and what kind they are. Asked from
 * the platform when forgotten.
 */
import { errorText } from '../../../src/core/errors.ts';
import type { InboundMessage, MediaRef } from '../../../src/core/message.ts';
import type { Clock, Logger } from '../../../src/core/ports.ts';
import { withDeadline } from '../../kit/deadline.ts';
import { type JsonObject, obj } from '../../kit/json.ts';
import { RecentMap, RecentSet } from '../../kit/recent.ts';
import type { FeishuClient } from '../wire/client.ts';
import { stringOf } from '../wire/fields.ts';
import { type Conversation, FORWARDED, forwardedWords, UNREAD_CONVERSATION } from './forwarded.ts';
import type { KnownMessage } from './inbound.ts';
import { readContent, readRef, shownIn } from './inbound-content.ts';

export interface KnownMessagesOptions {
  readonly client: Pick<FeishuClient, 'messages' | 'chatMode'>;
  /** Our app id: the author of our own messages, in the platform's records. */
  readonly account: string;
  /** Our open id, once it is known: older records name that. */
  readonly openId: () => string | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
}

const REMEMBERED = 2_000;
/** Of each message. What is longer, and a conversation, is asked for again. */
const REMEMBERED_CHARS = 2_000;
/** An event must be acknowledged within 3 s: without an answer by then it goes on without what was asked. */
const LOOKUP_MS = 1_000;

export class KnownMessages {
  readonly #options: KnownMessagesOptions;
  readonly #messages = new RecentMap<KnownMessage>(REMEMBERED);
  readonly #types = new RecentMap<string>(REMEMBERED);
  readonly #groups = new RecentMap<boolean>(REMEMBERED);
  readonly #conversations = new RecentSet(REMEMBERED);
  readonly #arrived = new RecentSet(REMEMBERED);

  constructor(options: KnownMessagesOptions) {
    this.#options = options;
  }

  /** A message that arrived. */
  received(message: InboundMessage): void {
    if (message.kind !== 'message' || message.platformId.startsWith('press:')) return;
    this.#groups.set(message.chatId, message.isGroup);
    this.#arrived.add(message.platformId);
    this.#messages.set(message.platformId, {
      chatId: message.chatId,
      isGroup: message.isGroup,
      ...(message.threadId !== undefined && { threadId: message.threadId }),
      senderId: message.senderId,
      fromBot: false,
      ...filesIn(message.platformId, message.media),
      ...(!this.#conversations.has(message.platformId) && remembered(message.text)),
    });
  }

  /** A message of ours that the platform accepted. */
  sent(messageId: string, message: Pick<KnownMessage, 'chatId' | 'threadId' | 'text'> & { readonly type: string }): void {
    const { type, text = '', ...rest } = message;
    this.#types.set(messageId, type);
    // After a restart we may write first in a chat: `find` then asks the platform whether it is a group.
    const isGroup = this.#groups.get(message.chatId) ?? true;
    // A file has no words: which one it is, the platform is asked.
    const known = { ...rest, ...(text !== '' && { text }) };
    this.#messages.set(messageId, { ...known, isGroup, senderId: this.#options.account, fromBot: true });
  }

  /** A message of ours shows these words now. */
  edited(messageId: string, text: string): void {
    const known = this.#messages.get(messageId);
    if (known) this.#messages.set(messageId, { ...known, text });
  }

  /** Whether the message arrived here: nothing of an earlier process is at it. */
  hasArrived(messageId: string): boolean {
    return this.#arrived.has(messageId);
  }

  /** Whether the chat is known to be a group. */
  isGroup(chatId: string): boolean | undefined {
    return this.#groups.get(chatId);
  }

  /**
   * Undefined when it is not known here and the platform did not say in time. A chat of which nothing is
   * known then counts as a group. Rejects only with the signal's reason.
   */
  async find(messageId: string, signal: AbortSignal): Promise<KnownMessage | undefined> {
    const known = this.#messages.get(messageId);
    const isWhole = known?.text !== undefined && !known.isCut;
    if (isWhole && (!known.fromBot || this.#groups.get(known.chatId) === known.isGroup)) return known;
    const { clock, logger } = this.#options;
    const ask = async (inner: AbortSignal): Promise<KnownMessage | undefined> =>
      isWhole ? { ...known, isGroup: await this.#askGroup(known.chatId, inner) } : this.#ask(messageId, inner);
    try {
      return await withDeadline({ clock, ms: LOOKUP_MS, signal }, ask);
    } catch (error) {
      signal.throwIfAborted();
      logger.warn('feishu.message-unknown', { messageId, error: errorText(error) });
      return known;
    }
  }

  /**
   * The words of a forwarded conversation that arrived; a note in their place when the platform did not tell
   * them in time. Rejects with the signal's reason alone.
   */
  async conversation(messageId: string, signal: AbortSignal): Promise<Conversation> {
    const { client, clock, logger } = this.#options;
    this.#conversations.add(messageId);
    try {
      return forwardedWords(await withDeadline({ clock, ms: LOOKUP_MS, signal }, (inner) => client.messages(messageId, inner)));
    } catch (error) {
      signal.throwIfAborted();
      logger.warn('feishu.conversation-unread', { messageId, error: errorText(error) });
      return UNREAD_CONVERSATION;
    }
  }

  /** The type of a message of ours, asked when forgotten. Rejects with a `CallError`. */
  async typeOf(messageId: string, signal: AbortSignal): Promise<string | undefined> {
    const known = this.#types.get(messageId);
    if (known !== undefined) return known;
    const [stored] = await this.#options.client.messages(messageId, signal);
    const type = stringOf(stored?.['msg_type']) || undefined;
    if (type !== undefined) this.#types.set(messageId, type);
    return type;
  }

  async #ask(messageId: string, signal: AbortSignal): Promise<KnownMessage | undefined> {
    const items = await this.#options.client.messages(messageId, signal);
    const [stored] = items;
    const chatId = stringOf(stored?.['chat_id']);
    if (!stored || chatId === '') return undefined;
    const known = this.#read(messageId, stored, await this.#askGroup(chatId, signal));
    this.#messages.set(messageId, { ...known, ...(known.text !== undefined && remembered(known.text)) });
    return known.text === undefined ? { ...known, text: forwardedWords(items).text } : known;
  }

  async #askGroup(chatId: string, signal: AbortSignal): Promise<boolean> {
    const known = this.#groups.get(chatId);
    if (known !== undefined) return known;
    const isGroup = (await this.#options.client.chatMode(chatId, signal)) !== 'p2p';
    this.#groups.set(chatId, isGroup);
    return isGroup;
  }

  #read(messageId: string, stored: JsonObject, isGroup: boolean): KnownMessage {
    const sender = obj(stored['sender']);
    const senderId = stringOf(sender['id']) || 'unknown';
    const type = stringOf(stored['msg_type']);
    const content = stringOf(obj(stored['body'])['content']);
    const said = readContent({ messageId, type, content, mentions: stored['mentions'] }, undefined);
    const text = shownIn(said);
    const threadId = stringOf(stored['thread_id']);
    const { account, openId } = this.#options;
    return {
      chatId: stringOf(stored['chat_id']),
      isGroup,
      ...(threadId !== '' && { threadId }),
      senderId,
      fromBot: sender['sender_type'] === 'app' && (senderId === account || senderId === openId()),
      ...filesIn(messageId, said.media),
      ...(type !== FORWARDED && { text }),
    };
  }
}

/** Not those that it brought along from a message it replies to. */
function filesIn(messageId: string, files: readonly MediaRef[]): Pick<KnownMessage, 'media'> {
  const media = files.filter(({ ref }) => readRef(ref)?.messageId === messageId);
  return media.length > 0 ? { media } : {};
}

function remembered(text: string): Pick<KnownMessage, 'text' | 'isCut'> {
  return text.length <= REMEMBERED_CHARS ? { text } : { text: text.slice(0, REMEMBERED_CHARS).toWellFormed(), isCut: true };
}
