/** The messages of the bot as people see them, each judged before it is kept as the real server would. */

import { PLATFORM_LIMITS } from '../../../channels/telegram/platform-limits.ts';
import { parseTelegramHtml } from './html.ts';
import type { TelegramButton, TelegramEdit, TelegramSend } from './records.ts';
import { Refusal } from './refusal.ts';
import { type JsonObject, num, obj, str, type Uploaded } from './wire.ts';

/** The calls that send a message, with the field that holds the file of each. */
const SENDS: Readonly<Record<string, string | undefined>> = {
  sendMessage: undefined,
  sendPhoto: 'photo',
  sendVoice: 'voice',
  sendAudio: 'audio',
  sendVideo: 'video',
  sendDocument: 'document',
};

/** What the bot sent, over all chats, and the ids of messages. */
export class ChatHistory {
  /** Accepted sends, oldest first, with their text as it is now. */
  readonly sends: TelegramSend[] = [];
  readonly edits: TelegramEdit[] = [];
  readonly #buttons = new Map<number, readonly TelegramButton[]>();
  readonly #accepted: (send: TelegramSend) => void;
  /** Ids of chats that are the direct messages of a channel. */
  readonly #direct = new Set<string>();
  #lastMessageId = 0;

  /** `accepted` is called with every send once it is kept. */
  constructor(accepted: (send: TelegramSend) => void) {
    this.#accepted = accepted;
  }

  /** People and the bot share the ids. */
  nextMessageId(): number {
    this.#lastMessageId += 1;
    return this.#lastMessageId;
  }

  /** From now on a message to this chat must name the topic of a person. */
  makeDirect(chatId: number): void {
    this.#direct.add(String(chatId));
  }

  /**
   * "Channel chats and channel direct messages chats aren't supported" (Bot API, sendChatAction); the words
   * are unverified.
   */
  typing(params: JsonObject): void {
    if (this.#direct.has(str(params['chat_id']) ?? '')) throw new Refusal(400, 'Bad Request: chat action is not supported here');
  }

  /** The buttons under a message of the bot. */
  buttonsUnder(messageId: number): readonly TelegramButton[] {
    return this.#buttons.get(messageId) ?? [];
  }

  /**
   * Keeps a message and returns the answer to its call; a call that sends none is refused as unknown. `lost`:
   * the answer will be withheld.
   */
  send(method: string, params: JsonObject, files: ReadonlyMap<string, Uploaded>, lost: boolean): JsonObject {
    if (!(method in SENDS)) throw new Refusal(404, 'Not Found');
    const chatId = str(params['chat_id']) ?? '';
    if (!/^-?\d+$/.test(chatId)) throw new Refusal(400, 'Bad Request: chat not found');
    const field = SENDS[method];
    const file = field === undefined ? undefined : files.get(field);
    if (field !== undefined && !file) throw new Refusal(400, `Bad Request: there is no ${field} in the request`);
    const words = str(params[field === undefined ? 'text' : 'caption']) ?? '';
    const { text, ignored } = field
      ? visible(words, params, PLATFORM_LIMITS.caption.value, 'message caption is too long')
      : visibleText(words, params);
    const threadId = this.#topicOf(chatId, params);
    const buttons = buttonsOf(params);
    const messageId = this.nextMessageId();
    const replyTo = num(obj(params['reply_parameters'])['message_id']);
    const parseMode = str(params['parse_mode']);
    const send: TelegramSend = {
      seq: this.sends.length,
      at: Date.now(),
      method,
      chatId,
      messageId,
      text,
      ...(threadId !== undefined && { threadId }),
      ...(parseMode !== undefined && { parseMode }),
      ...(replyTo !== undefined && { replyTo }),
      ...(file && { file }),
      ...(ignored > 0 && { ignoredEntities: ignored }),
      ...(lost && { replyLost: true }),
    };
    this.sends.push(send);
    this.#buttons.set(messageId, buttons);
    this.#accepted(send);
    return { message_id: messageId, date: Math.floor(send.at / 1000), chat: { id: Number(chatId), type: 'private' }, text };
  }

  /**
   * The topic that the message goes to. General goes unnamed; a direct messages chat has no other place than
   * topics (Bot API, sendMessage).
   */
  #topicOf(chatId: string, params: JsonObject): string | undefined {
    const threadId = str(params['message_thread_id']);
    const direct = str(params['direct_messages_topic_id']);
    if (threadId === '1') throw new Refusal(400, 'Bad Request: message thread not found');
    // The words of the platform are unverified.
    if (this.#direct.has(chatId) !== (direct !== undefined))
      throw new Refusal(400, 'Bad Request: direct messages topic not found');
    return direct === undefined ? threadId : `dm:${direct}`;
  }

  /** Changes the text of a message and returns the answer to the call. */
  edit(params: JsonObject): JsonObject {
    const { text, ignored } = visibleText(str(params['text']) ?? '', params);
    const at = this.#placeOf(params);
    const old = this.sends[at];
    if (!old) throw new Refusal(400, 'Bad Request: message to edit not found');
    if (old.text === text) throw new Refusal(400, 'Bad Request: message is not modified');
    const { ignoredEntities: _, ...message } = old;
    this.sends[at] = { ...message, text, ...(ignored > 0 && { ignoredEntities: ignored }) };
    this.#buttons.set(old.messageId, buttonsOf(params));
    this.edits.push({ at: Date.now(), messageId: old.messageId, text });
    return { message_id: num(params['message_id']), date: 0, chat: { id: num(params['chat_id']) }, text };
  }

  /**
   * "A message can only be deleted if it was sent less than 48 hours ago. [...] Bots can delete outgoing
   * messages in private chats, groups, and supergroups." (Bot API, deleteMessage)
   */
  remove(params: JsonObject): true {
    const at = this.#placeOf(params);
    const old = this.sends[at];
    if (!old) throw new Refusal(400, 'Bad Request: message to delete not found');
    if (Date.now() - old.at > DELETABLE_MS) throw new Refusal(400, "Bad Request: message can't be deleted");
    this.sends.splice(at, 1);
    return true;
  }

  #placeOf(params: JsonObject): number {
    const messageId = num(params['message_id']);
    return this.sends.findIndex((send) => send.messageId === messageId && send.chatId === str(params['chat_id']));
  }
}

/**
 * The entities of one message that count; those behind are ignored in silence
 * (https://github.com/tdlib/telegram-bot-api/issues/820).
 */
const MAX_ENTITIES = PLATFORM_LIMITS.entities.value;
const DELETABLE_MS = PLATFORM_LIMITS.deletable.value;

interface Visible {
  readonly text: string;
  /** Entities that people do not see. */
  readonly ignored: number;
}

/**
 * The text of a message, which may not be empty (Bot API, sendMessage and editMessageText: "1-4096
 * characters").
 */
function visibleText(words: string, params: JsonObject): Visible {
  const shown = visible(words, params, PLATFORM_LIMITS.text.value, 'message is too long');
  if (shown.text.trim() === '') throw new Refusal(400, 'Bad Request: message text is empty');
  return shown;
}

function visible(words: string, params: JsonObject, limit: number, tooLong: string): Visible {
  const parsed = params['parse_mode'] === 'HTML' ? parseTelegramHtml(words) : { text: words, entities: 0 };
  if ('error' in parsed) throw new Refusal(400, parsed.error);
  if (parsed.text.length > limit) throw new Refusal(400, `Bad Request: ${tooLong}`);
  return { text: parsed.text, ignored: Math.max(0, parsed.entities - MAX_ENTITIES) };
}

/**
 * "Data to be sent in a callback query to the bot when the button is pressed, 1-64 bytes" (Bot API,
 * InlineKeyboardButton).
 */
function buttonsOf(params: JsonObject): readonly TelegramButton[] {
  const rows = obj(params['reply_markup'])['inline_keyboard'];
  const buttons = Array.isArray(rows) ? (rows.flat() as TelegramButton[]) : [];
  for (const { text, callback_data } of buttons) {
    if (text.trim() === '') throw new Refusal(400, 'Bad Request: BUTTON_TEXT_INVALID');
    const bytes = Buffer.byteLength(callback_data);
    if (bytes < 1 || bytes > PLATFORM_LIMITS.buttonData.value) throw new Refusal(400, 'Bad Request: BUTTON_DATA_INVALID');
  }
  return buttons;
}
