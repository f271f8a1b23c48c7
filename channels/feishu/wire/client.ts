/** Wire calls to the Open Platform. */
import { createReadStream } from 'node:fs';
import type { Readable } from 'node:stream';
import { CallError } from '../../kit/call-error.ts';
import { type JsonObject, obj, objects } from '../../kit/json.ts';
import { callError } from './failure.ts';
import { type ApiRequest, type Connection, type EventHandler, FeishuSdk, type Progress, type SdkOptions } from './sdk.ts';

/** Our own identity. `openId` is how people's mentions name us; it differs from app to app. */
export interface BotIdentity {
  readonly openId: string;
  readonly name: string;
}

/** What is posted: to a chat, or as an answer to a message. */
export interface SendCall {
  readonly to: { readonly chatId: string } | { readonly messageId: string; readonly inThread: boolean };
  readonly type: string;
  /** JSON of the form that `type` has. */
  readonly content: string;
  /** At most 50 characters. The platform posts one message per value within an hour. */
  readonly uuid: string;
}

/** The order of the calls that change a card: 1 to 2,147,483,647, and above that of every call before it. */
export interface CardStep {
  readonly sequence: number;
  /** At most 64 characters. */
  readonly uuid: string;
}

export interface UploadCall {
  /** `message` pictures, or the type of a file: opus, mp4, pdf, doc, xls, ppt, stream. */
  readonly kind: 'image' | 'opus' | 'mp4' | 'pdf' | 'doc' | 'xls' | 'ppt' | 'stream';
  readonly path: string;
  readonly name: string;
}

const CARDS = '/open-apis/cardkit/v1/cards';

/**
 * One app's calls. Every method rejects with a `CallError`, or with the signal's reason once that aborted.
 */
export class FeishuClient {
  readonly #sdk: FeishuSdk;

  constructor(options: SdkOptions) {
    this.#sdk = new FeishuSdk(options);
  }

  async botInfo(signal: AbortSignal): Promise<BotIdentity> {
    const { body } = await this.#sdk.call({ method: 'GET', path: '/open-apis/bot/v3/info' }, signal);
    const bot = obj(obj(body)['bot']);
    const openId = bot['open_id'];
    if (typeof openId !== 'string' || openId === '') {
      throw callError('bot info', { kind: 'api', status: 200, code: 230006, detail: 'the app has no bot' });
    }
    return { openId, name: typeof bot['app_name'] === 'string' ? bot['app_name'] : 'bot' };
  }

  /** Resolves to the new message's id. */
  async send(call: SendCall, progress: Progress, signal: AbortSignal): Promise<string> {
    const { to, type, content, uuid } = call;
    const message = { msg_type: type, content, uuid };
    const request: ApiRequest =
      'chatId' in to
        ? {
            method: 'POST',
            path: '/open-apis/im/v1/messages',
            params: { receive_id_type: 'chat_id' },
            data: { receive_id: to.chatId, ...message },
          }
        : {
            method: 'POST',
            path: `/open-apis/im/v1/messages/${encodeURIComponent(to.messageId)}/reply`,
            data: { ...message, ...(to.inThread && { reply_in_thread: true }) },
          };
    const { body } = await this.#sdk.call({ ...request, progress }, signal);
    const id = dataOf(body)['message_id'];
    if (typeof id !== 'string' || id === '') throw new CallError('send', { kind: 'lost', detail: 'the answer named no message' });
    return id;
  }

  /** Resolves to the id of a card that a message can show, once (cardkit/v1/card/create). */
  async createCard(card: object, signal: AbortSignal): Promise<string> {
    const data = { type: 'card_json', data: JSON.stringify(card) };
    const { body } = await this.#sdk.call({ method: 'POST', path: CARDS, data }, signal);
    return cardIdIn(body);
  }

  /** The card that a message of ours shows (cardkit/v1/card/id_convert). */
  async cardOf(messageId: string, signal: AbortSignal): Promise<string> {
    const request: ApiRequest = { method: 'POST', path: `${CARDS}/id_convert`, data: { message_id: messageId } };
    const { body } = await this.#sdk.call(request, signal);
    return cardIdIn(body);
  }

  /** Replaces the whole text of one element of a card in streaming mode (cardkit/v1/card-element/content). */
  async writeCard(cardId: string, text: { readonly element: string; readonly content: string } & CardStep, signal: AbortSignal) {
    const { element, ...data } = text;
    const path = `${CARDS}/${encodeURIComponent(cardId)}/elements/${element}/content`;
    await this.#sdk.call({ method: 'PUT', path, data }, signal);
  }

  /** Switches streaming mode on or off (cardkit/v1/card/settings). */
  async setStreaming(cardId: string, isOn: boolean, step: CardStep, signal: AbortSignal): Promise<void> {
    const settings = JSON.stringify({ config: { streaming_mode: isOn } });
    const path = `${CARDS}/${encodeURIComponent(cardId)}/settings`;
    await this.#sdk.call({ method: 'PATCH', path, data: { settings, ...step } }, signal);
  }

  /** Replaces a card as a whole, in streaming mode or not (cardkit/v1/card/update). */
  async replaceCard(cardId: string, card: object, step: CardStep, signal: AbortSignal): Promise<void> {
    const data = { card: { type: 'card_json', data: JSON.stringify(card) }, ...step };
    await this.#sdk.call({ method: 'PUT', path: `${CARDS}/${encodeURIComponent(cardId)}`, data }, signal);
  }

  /** Resolves to the key under which a message can name the file. Nobody sees it until then. */
  async upload(call: UploadCall, signal: AbortSignal): Promise<string> {
    const image = call.kind === 'image';
    const opened: Readable[] = [];
    const request: ApiRequest = {
      method: 'POST',
      path: image ? '/open-apis/im/v1/images' : '/open-apis/im/v1/files',
      // Opened anew for a second try: the first uses a stream up.
      data: () => {
        const file = createReadStream(call.path);
        opened.push(file);
        return image ? { image_type: 'message', image: file } : { file_type: call.kind, file_name: call.name, file };
      },
    };
    const { body } = await this.#sdk.call(request, signal, { 'Content-Type': 'multipart/form-data' }).finally(() => {
      for (const file of opened) file.destroy();
    });
    const key = dataOf(body)[image ? 'image_key' : 'file_key'];
    if (typeof key !== 'string' || key === '')
      throw new CallError('upload', { kind: 'lost', detail: 'the answer named no file' });
    return key;
  }

  async edit(
    messageId: string,
    message: { readonly type: string; readonly content: string },
    signal: AbortSignal,
  ): Promise<void> {
    const path = `/open-apis/im/v1/messages/${encodeURIComponent(messageId)}`;
    const { type, content } = message;
    await this.#sdk.call(
      type === 'interactive'
        ? { method: 'PATCH', path, data: { content } }
        : { method: 'PUT', path, data: { msg_type: type, content } },
      signal,
    );
  }

  /**
   * As the platform stored it; behind a forwarded conversation everything that is in it. Empty when the
   * platform knows none.
   */
  async messages(messageId: string, signal: AbortSignal): Promise<readonly JsonObject[]> {
    const path = `/open-apis/im/v1/messages/${encodeURIComponent(messageId)}`;
    const { body } = await this.#sdk.call({ method: 'GET', path }, signal);
    return objects(dataOf(body)['items']);
  }

  /**
   * A page of what stands in a chat or a topic, the newest first or the oldest first. `until`: seconds since
   * the epoch, of a chat alone.
   */
  async history(
    place: { readonly type: 'chat' | 'thread'; readonly id: string; readonly until?: number },
    page: { readonly size: number; readonly oldestFirst?: boolean },
    signal: AbortSignal,
  ): Promise<{ readonly items: readonly JsonObject[]; readonly hasMore: boolean }> {
    const params = {
      container_id_type: place.type,
      container_id: place.id,
      sort_type: page.oldestFirst ? 'ByCreateTimeAsc' : 'ByCreateTimeDesc',
      page_size: page.size,
      ...(place.until !== undefined && { end_time: place.until }),
    };
    const { body } = await this.#sdk.call({ method: 'GET', path: '/open-apis/im/v1/messages', params }, signal);
    const data = dataOf(body);
    return { items: objects(data['items']), hasMore: data['has_more'] === true };
  }

  /** Takes a message of ours back. */
  async withdraw(messageId: string, signal: AbortSignal): Promise<void> {
    await this.#sdk.call({ method: 'DELETE', path: `/open-apis/im/v1/messages/${encodeURIComponent(messageId)}` }, signal);
  }

  /** `p2p`, `group` or `topic`. */
  async chatMode(chatId: string, signal: AbortSignal): Promise<unknown> {
    const { body } = await this.#sdk.call(
      { method: 'GET', path: `/open-apis/im/v1/chats/${encodeURIComponent(chatId)}` },
      signal,
    );
    return dataOf(body)['chat_mode'];
  }

  /** Resolves to the id by which the reaction can be taken back. */
  async addReaction(messageId: string, emojiType: string, signal: AbortSignal): Promise<string | undefined> {
    const path = `/open-apis/im/v1/messages/${encodeURIComponent(messageId)}/reactions`;
    const { body } = await this.#sdk.call({ method: 'POST', path, data: { reaction_type: { emoji_type: emojiType } } }, signal);
    const id = dataOf(body)['reaction_id'];
    return typeof id === 'string' ? id : undefined;
  }

  /**
   * A page of the reactions to a message (im/v1/message.reaction/list; 50 is the largest page). `next`: the
   * token of the page behind it. The operator of a reaction of an app is its app id.
   */
  async reactions(
    messageId: string,
    from: string | undefined,
    signal: AbortSignal,
  ): Promise<{ readonly items: readonly JsonObject[]; readonly next?: string }> {
    const path = `/open-apis/im/v1/messages/${encodeURIComponent(messageId)}/reactions`;
    const params = { page_size: 50, ...(from !== undefined && { page_token: from }) };
    const { body } = await this.#sdk.call({ method: 'GET', path, params }, signal);
    const data = dataOf(body);
    const next = data['has_more'] === true ? data['page_token'] : undefined;
    return { items: objects(data['items']), ...(typeof next === 'string' && next !== '' && { next }) };
  }

  async removeReaction(messageId: string, reactionId: string, signal: AbortSignal): Promise<void> {
    const path = `/open-apis/im/v1/messages/${encodeURIComponent(messageId)}/reactions/${encodeURIComponent(reactionId)}`;
    await this.#sdk.call({ method: 'DELETE', path }, signal);
  }

  /** The bytes of a file in a message, unread. */
  async resource(
    file: { readonly messageId: string; readonly key: string; readonly type: 'image' | 'file' },
    signal: AbortSignal,
  ): Promise<{ readonly bytes: Readable; readonly size?: number }> {
    const path = `/open-apis/im/v1/messages/${encodeURIComponent(file.messageId)}/resources/${encodeURIComponent(file.key)}`;
    const { stream, size } = await this.#sdk.call({ method: 'GET', path, params: { type: file.type } }, signal, {}, true);
    if (!stream) throw new CallError('download', { kind: 'lost', detail: 'the answer held no file' });
    return { bytes: stream, ...(size !== undefined && { size }) };
  }

  /** One long connection; never reconnects by itself. Resolves once events can come. */
  connect(onEvent: EventHandler, signal: AbortSignal): Promise<Connection> {
    return this.#sdk.connect(onEvent, signal);
  }

  /** Closes idle connections and breaks those in use. Twice is safe. */
  close(): void {
    this.#sdk.close();
  }
}

function dataOf(body: unknown): JsonObject {
  return obj(obj(body)['data']);
}

function cardIdIn(body: unknown): string {
  const id = dataOf(body)['card_id'];
  if (typeof id !== 'string' || id === '') throw new CallError('card', { kind: 'lost', detail: 'the answer named no card' });
  return id;
}
