/** The messages of the bot as people see them, each judged before it is kept as the real server would. */
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
    const text = field
      ? visible(words, params, 1_024, 'message caption is too long')
      : visible(words, params, 4_096, 'message is too long');
    if (!field && text.trim() === '') throw new Refusal(400, 'Bad Request: message text is empty');
    const threadId = str(params['message_thread_id']);
    if (threadId === '1') throw new Refusal(400, 'Bad Request: message thread not found');
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
      ...(lost && { replyLost: true }),
    };
    this.sends.push(send);
    this.#buttons.set(messageId, buttonsOf(params));
    this.#accepted(send);
    return { message_id: messageId, date: Math.floor(send.at / 1000), chat: { id: Number(chatId), type: 'private' }, text };
  }

  /** Changes the text of a message and returns the answer to the call. */
  edit(params: JsonObject): JsonObject {
    const text = visible(str(params['text']) ?? '', params, 4_096, 'message is too long');
    const messageId = num(params['message_id']);
    const at = this.sends.findIndex((send) => send.messageId === messageId && send.chatId === str(params['chat_id']));
    const old = this.sends[at];
    if (!old) throw new Refusal(400, 'Bad Request: message to edit not found');
    if (old.text === text) throw new Refusal(400, 'Bad Request: message is not modified');
    this.sends[at] = { ...old, text };
    this.#buttons.set(old.messageId, buttonsOf(params));
    this.edits.push({ at: Date.now(), messageId: old.messageId, text });
    return { message_id: num(params['message_id']), date: 0, chat: { id: num(params['chat_id']) }, text };
  }
}

function visible(words: string, params: JsonObject, limit: number, tooLong: string): string {
  const parsed = params['parse_mode'] === 'HTML' ? parseTelegramHtml(words) : { text: words };
  if ('error' in parsed) throw new Refusal(400, parsed.error);
  if (parsed.text.length > limit) throw new Refusal(400, `Bad Request: ${tooLong}`);
  return parsed.text;
}

function buttonsOf(params: JsonObject): readonly TelegramButton[] {
  const rows = obj(params['reply_markup'])['inline_keyboard'];
  return Array.isArray(rows) ? (rows.flat() as TelegramButton[]) : [];
}
