/** Wire calls to the Bot API. The only file that loads grammY. */
import { createReadStream } from 'node:fs';
import { Api, type ApiClientOptions, GrammyError, HttpError, InputFile } from 'grammy';
import type { BotCommand, File, WebhookInfo as FullWebhookInfo, Message, Update, UserFromGetMe } from 'grammy/types';
import { readAtMost } from '../../../src/lib/read-at-most.ts';
import { CallError, type CallFailure, guardCall, networkFailure } from '../../kit/call-error.ts';
import { createHttpAgent } from '../../kit/http-agent.ts';
import { type HttpRequest, sendRequest } from '../../kit/http-request.ts';

/** A file to upload, named by the field that carries it. */
export interface Upload {
  readonly field: 'photo' | 'voice' | 'audio' | 'video' | 'document';
  readonly path: string;
  readonly name: string;
}

export interface SendCall {
  readonly method: 'sendMessage' | 'sendPhoto' | 'sendVoice' | 'sendAudio' | 'sendVideo' | 'sendDocument';
  readonly payload: Readonly<Record<string, unknown>>;
  readonly upload?: Upload;
}

/** Of the file in a send. */
export interface UploadProgress {
  /** All of it was read. Until then the form has no end, so that the platform cannot have taken it. */
  whole: boolean;
}

/** The methods used, with the runtime's own `AbortSignal`: the SDK's types name a polyfill that differs. */
interface WireMethods extends Record<SendCall['method'], (payload: object, signal: AbortSignal) => Promise<Message>> {
  getMe(signal: AbortSignal): Promise<UserFromGetMe>;
  deleteWebhook(payload: { drop_pending_updates: boolean }, signal: AbortSignal): Promise<true>;
  setWebhook(payload: object, signal: AbortSignal): Promise<true>;
  getWebhookInfo(signal: AbortSignal): Promise<WebhookInfo>;
  getUpdates(payload: { offset?: number; timeout: number; allowed_updates: string[] }, signal: AbortSignal): Promise<Update[]>;
  sendChatAction(payload: { chat_id: string; action: 'typing'; message_thread_id?: number }, signal: AbortSignal): Promise<true>;
  getFile(payload: { file_id: string }, signal: AbortSignal): Promise<File>;
  editMessageText(payload: object, signal: AbortSignal): Promise<Message | true>;
  deleteMessage(payload: { chat_id: string; message_id: number }, signal: AbortSignal): Promise<true>;
  setMessageReaction(payload: object, signal: AbortSignal): Promise<true>;
  getMyCommands(signal: AbortSignal): Promise<BotCommand[]>;
  setMyCommands(payload: { commands: readonly BotCommand[] }, signal: AbortSignal): Promise<true>;
  answerCallbackQuery(payload: { callback_query_id: string }, signal: AbortSignal): Promise<true>;
}

/** https://core.telegram.org/bots/api#webhookinfo */
export type WebhookInfo = Pick<FullWebhookInfo, 'url' | 'pending_update_count' | 'last_error_date' | 'last_error_message'>;

/** `message_reaction` comes only when it is asked for by name. */
const UPDATES = ['message', 'edited_message', 'channel_post', 'edited_channel_post', 'callback_query', 'message_reaction'];

/** One bot's calls. All reject with a `CallError`, or with the signal's reason once that aborted. */
export class TelegramClient {
  readonly #api: WireMethods;
  readonly #agent: ReturnType<typeof createHttpAgent>;
  readonly #fileRoot: string;
  readonly #token: string;

  /** `apiRoot` has no trailing slash. */
  constructor(options: { readonly token: string; readonly apiRoot: string }) {
    this.#agent = createHttpAgent({ tls: options.apiRoot.startsWith('https:') });
    this.#token = options.token;
    this.#fileRoot = `${options.apiRoot}/file/bot${options.token}`;
    const api = new Api(options.token, {
      apiRoot: options.apiRoot,
      fetch: ((url: string, request: Omit<HttpRequest, 'agent'>) =>
        answerTo(url, { ...request, agent: this.#agent })) as unknown as NonNullable<ApiClientOptions['fetch']>,
      // Every call of ours has a shorter limit of its own; this one only must never win.
      timeoutSeconds: 600,
    });
    this.#api = api.raw as unknown as WireMethods;
  }

  getMe(signal: AbortSignal): Promise<UserFromGetMe> {
    return this.#call('getMe', signal, async () => checked(await this.#api.getMe(signal), 'id'));
  }

  /** Pending updates stay: they are what the poll that follows is for. */
  async deleteWebhook(signal: AbortSignal): Promise<void> {
    await this.#call('deleteWebhook', signal, () => this.#api.deleteWebhook({ drop_pending_updates: false }, signal));
  }

  getUpdates(
    options: { readonly offset?: number; readonly timeoutSecs: number },
    signal: AbortSignal,
  ): Promise<readonly Update[]> {
    const asked = {
      ...(options.offset !== undefined && { offset: options.offset }),
      timeout: options.timeoutSecs,
      allowed_updates: [...UPDATES],
    };
    return this.#call('getUpdates', signal, async () => {
      const updates: unknown = await this.#api.getUpdates(asked, signal);
      if (!Array.isArray(updates)) throw new OddAnswer();
      return updates.map((update: Update) => checked(update, 'update_id'));
    });
  }

  /** `progress` is that of the file, where the call has one. */
  send(call: SendCall, signal: AbortSignal, progress: UploadProgress = { whole: false }): Promise<Message> {
    const { method, upload } = call;
    const file = upload && { [upload.field]: new InputFile(contentOf(upload.path, progress), upload.name) };
    const sent = { ...call.payload, ...file };
    return this.#call(method, signal, async () => checked(await this.#api[method](sent, signal), 'message_id'));
  }

  async edit(payload: Readonly<Record<string, unknown>>, signal: AbortSignal): Promise<void> {
    await this.#call('editMessageText', signal, async () => {
      const edited: unknown = await this.#api.editMessageText(payload, signal);
      if (edited !== true) checked(edited as Message, 'message_id');
    });
  }

  /** A message of ours that is less than 48 hours old. */
  async remove(payload: { readonly chat_id: string; readonly message_id: number }, signal: AbortSignal): Promise<void> {
    await this.#call('deleteMessage', signal, () => this.#api.deleteMessage(payload, signal));
  }

  async react(payload: Readonly<Record<string, unknown>>, signal: AbortSignal): Promise<void> {
    await this.#call('setMessageReaction', signal, () => this.#api.setMessageReaction(payload, signal));
  }

  /** From now on the platform posts updates to `url`, with `secret` in a header; what waits is kept. */
  async setWebhook({ url, secret }: { readonly url: string; readonly secret: string }, signal: AbortSignal): Promise<void> {
    const payload = { url, secret_token: secret, allowed_updates: UPDATES, drop_pending_updates: false };
    await this.#call('setWebhook', signal, () => this.#api.setWebhook(payload, signal));
  }

  webhookInfo(signal: AbortSignal): Promise<WebhookInfo> {
    return this.#call('getWebhookInfo', signal, async () =>
      checked(await this.#api.getWebhookInfo(signal), 'pending_update_count'),
    );
  }

  /** The commands of the bot's menu in every chat that has no menu of its own. */
  menu(signal: AbortSignal): Promise<BotCommand[]> {
    return this.#call('getMyCommands', signal, () => this.#api.getMyCommands(signal));
  }

  async setMenu(commands: readonly BotCommand[], signal: AbortSignal): Promise<void> {
    await this.#call('setMyCommands', signal, () => this.#api.setMyCommands({ commands }, signal));
  }

  /** Ends the waiting mark on a pressed button. */
  async answerPress(id: string, signal: AbortSignal): Promise<void> {
    await this.#call('answerCallbackQuery', signal, () => this.#api.answerCallbackQuery({ callback_query_id: id }, signal));
  }

  async sendTyping(chatId: string, threadId: string | undefined, signal: AbortSignal): Promise<void> {
    const thread = threadId === undefined ? {} : { message_thread_id: Number(threadId) };
    const payload = { chat_id: chatId, action: 'typing', ...thread } as const;
    await this.#call('sendChatAction', signal, () => this.#api.sendChatAction(payload, signal));
  }

  getFile(fileId: string, signal: AbortSignal): Promise<File> {
    return this.#call('getFile', signal, async () => {
      const file: unknown = await this.#api.getFile({ file_id: fileId }, signal);
      if (typeof file !== 'object' || file === null) throw new OddAnswer();
      return file as File;
    });
  }

  /** `path` as `getFile` gave it. The response is unread. A redirect is refused: the URL holds the token. */
  fetchFile(path: string, signal: AbortSignal): Promise<Response> {
    return this.#call('file download', signal, async () => {
      const steps = path.split('/');
      // A Bot API server in --local mode answers with a path on its own disk; no path may leave the file
      // root.
      if (steps.some((step) => step === '' || step === '.' || step === '..')) {
        throw new CallError('file download', { kind: 'api', status: 400, detail: 'the server named no relative file path' });
      }
      const url = `${this.#fileRoot}/${steps.map(encodeURIComponent).join('/')}`;
      return fetch(url, { signal, redirect: 'error', headers: { connection: 'close' } });
    });
  }

  /** Closes idle connections and breaks those in use. Twice is safe. */
  close(): void {
    this.#agent.destroy();
  }

  /** A proxy before the platform may describe a failure by the path of the request, which holds the token. */
  #withoutToken(failure: CallFailure): CallFailure {
    if (failure.kind !== 'api') return failure;
    return { ...failure, detail: failure.detail.replaceAll(this.#token, '[token]') };
  }

  #call<T>(method: string, signal: AbortSignal, run: () => Promise<T>): Promise<T> {
    return guardCall(signal, run, (error) => new CallError(method, this.#withoutToken(toFailure(error))));
  }
}

async function* contentOf(path: string, progress: UploadProgress): AsyncGenerator<Uint8Array> {
  yield* createReadStream(path);
  progress.whole = true;
}

/** A hundred updates are far below it. */
const MAX_ANSWER_BYTES = 32_000_000;

/** The part of a `Response` that grammY reads. */
async function answerTo(url: string, request: HttpRequest): Promise<Pick<Response, 'json'>> {
  const answer = await sendRequest(url, request);
  return {
    async json() {
      const { bytes, complete } = await readAtMost(answer, MAX_ANSWER_BYTES);
      if (!complete) throw new Error(`the answer is longer than ${MAX_ANSWER_BYTES} bytes`);
      return envelope(bytes.toString('utf8'));
    },
  };
}

/** Of a proxy, or of a server that is none of the platform: whether it did what was asked is not known. */
class OddAnswer extends Error {
  constructor() {
    super('the answer is none of the Bot API');
  }
}

/** What grammY takes for granted. https://core.telegram.org/bots/api#making-requests */
function envelope(text: string): unknown {
  let answer: { ok?: unknown; result?: unknown; error_code?: unknown; description?: unknown; parameters?: unknown } | null;
  try {
    answer = JSON.parse(text);
  } catch {
    throw new OddAnswer();
  }
  const { ok, result, error_code, description, parameters = {} } = answer ?? {};
  if (ok === true && result !== undefined) return answer;
  if (ok !== false || !Number.isInteger(error_code) || typeof description !== 'string') throw new OddAnswer();
  if (typeof parameters !== 'object' || parameters === null) throw new OddAnswer();
  return answer;
}

/** The answer, whose number of that name is needed. */
function checked<T extends object>(answer: T, field: keyof T & string): T {
  const found: unknown = (answer as T | null)?.[field];
  if (!Number.isSafeInteger(found)) throw new OddAnswer();
  return answer;
}

function toFailure(thrown: unknown): CallFailure {
  const error = thrown instanceof HttpError ? thrown.error : thrown;
  if (error instanceof OddAnswer) return { kind: 'lost', detail: error.message };
  if (error instanceof GrammyError) {
    const { retry_after, migrate_to_chat_id } = error.parameters;
    return {
      kind: 'api',
      status: error.error_code,
      detail: error.description,
      ...(retry_after !== undefined && { retryAfterMs: retry_after * 1_000 }),
      ...(migrate_to_chat_id !== undefined && { data: { migrateToChatId: String(migrate_to_chat_id) } }),
    };
  }
  return networkFailure(error);
}
