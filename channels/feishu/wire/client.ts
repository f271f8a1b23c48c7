/** Wire calls to the Open Platform. The only file that loads the SDK. */
import { createReadStream } from 'node:fs';
import type { Readable } from 'node:stream';
import { Client, defaultHttpInstance, EventDispatcher, type HttpInstance, LoggerLevel, WSClient } from '@larksuiteoapi/node-sdk';
import { CallError, type CallFailure, networkFailure } from '../../kit/call-error.ts';
import { createHttpAgent } from '../../kit/http-agent.ts';
import { type JsonObject, obj } from '../../kit/json.ts';
import { callError, isRateLimit, isStaleToken } from './failure.ts';
import { type RawResponse, readResponse, type WireResponse } from './response.ts';

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

export interface UploadCall {
  /** `message` pictures, or the type of a file: opus, mp4, pdf, doc, xls, ppt, stream. */
  readonly kind: 'image' | 'opus' | 'mp4' | 'pdf' | 'doc' | 'xls' | 'ppt' | 'stream';
  readonly path: string;
  readonly name: string;
}

export interface Connection {
  /** Resolves once the connection is gone, for whatever reason. */
  readonly closed: Promise<void>;
  /** Twice is safe. */
  close(): void;
}

/** Resolved is answered with 200, rejected with 500. */
export type EventHandler = (payload: unknown) => Promise<void>;

/** Answers are small; a file is read as a stream and is capped by its reader. */
const MAX_ANSWER_BYTES = 4 * 1024 * 1024;
/** A quarter of the platform's own 120 s between pings; without an answer by then the connection is dead. */
const PONG_WAIT_SECS = 30;
const HANDSHAKE_MS = 15_000;

/** The SDK logs whole requests, tokens included. Whatever matters reaches us as an error. */
const SILENT = { error: nothing, warn: nothing, info: nothing, debug: nothing, trace: nothing };

interface Request {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly params?: Readonly<Record<string, string | number>>;
  readonly data?: Readonly<Record<string, unknown>> | (() => Readonly<Record<string, unknown>>);
}

/** One app's calls. Every method rejects with a `CallError`, or with the signal's reason once that aborted. */
export class FeishuClient {
  readonly #appId: string;
  readonly #pongWaitSecs: number;
  readonly #appSecret: string;
  readonly #apiRoot: string;
  readonly #agent: ReturnType<typeof createHttpAgent>;
  readonly #tokens = new TokenCache();
  readonly #sdk: Client;

  /** `apiRoot` has no trailing slash. */
  constructor(options: {
    readonly appId: string;
    readonly appSecret: string;
    readonly apiRoot: string;
    /** How long a ping of the long connection may stay unanswered. */
    readonly pongWaitSecs?: number;
  }) {
    this.#pongWaitSecs = options.pongWaitSecs ?? PONG_WAIT_SECS;
    this.#appId = options.appId;
    this.#appSecret = options.appSecret;
    this.#apiRoot = options.apiRoot;
    this.#agent = createHttpAgent({ tls: options.apiRoot.startsWith('https:') });
    this.#sdk = new Client({
      appId: options.appId,
      appSecret: options.appSecret,
      domain: options.apiRoot,
      logger: SILENT,
      loggerLevel: LoggerLevel.fatal,
      // The SDK's own cache is one for the whole process and cannot forget a token.
      cache: this.#tokens,
      httpInstance: this.#http(),
    });
  }

  async botInfo(signal: AbortSignal): Promise<BotIdentity> {
    const { body } = await this.#call({ method: 'GET', path: '/open-apis/bot/v3/info' }, signal);
    const bot = obj(obj(body)['bot']);
    const openId = bot['open_id'];
    if (typeof openId !== 'string' || openId === '') {
      throw callError('bot info', { kind: 'api', status: 200, code: 230006, detail: 'the app has no bot' });
    }
    return { openId, name: typeof bot['app_name'] === 'string' ? bot['app_name'] : 'bot' };
  }

  /** Resolves to the new message's id. */
  async send(call: SendCall, signal: AbortSignal): Promise<string> {
    const { to, type, content, uuid } = call;
    const message = { msg_type: type, content, uuid };
    const request: Request =
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
    const { body } = await this.#call(request, signal);
    const id = dataOf(body)['message_id'];
    if (typeof id !== 'string' || id === '') throw new CallError('send', { kind: 'lost', detail: 'the answer named no message' });
    return id;
  }

  /** Resolves to the key under which a message can name the file. Nobody sees it until then. */
  async upload(call: UploadCall, signal: AbortSignal): Promise<string> {
    const image = call.kind === 'image';
    const opened: Readable[] = [];
    const request: Request = {
      method: 'POST',
      path: image ? '/open-apis/im/v1/images' : '/open-apis/im/v1/files',
      // Opened anew for a second try: the first uses a stream up.
      data: () => {
        const file = createReadStream(call.path);
        opened.push(file);
        return image ? { image_type: 'message', image: file } : { file_type: call.kind, file_name: call.name, file };
      },
    };
    const { body } = await this.#call(request, signal, { 'Content-Type': 'multipart/form-data' }).finally(() => {
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
    await this.#call(
      type === 'interactive'
        ? { method: 'PATCH', path, data: { content } }
        : { method: 'PUT', path, data: { msg_type: type, content } },
      signal,
    );
  }

  /** As the platform stored it, undefined when it knows none. */
  async message(messageId: string, signal: AbortSignal): Promise<JsonObject | undefined> {
    const path = `/open-apis/im/v1/messages/${encodeURIComponent(messageId)}`;
    const { body } = await this.#call({ method: 'GET', path }, signal);
    const items = dataOf(body)['items'];
    return Array.isArray(items) && items.length > 0 ? obj(items[0]) : undefined;
  }

  /** `p2p`, `group` or `topic`. */
  async chatMode(chatId: string, signal: AbortSignal): Promise<unknown> {
    const { body } = await this.#call({ method: 'GET', path: `/open-apis/im/v1/chats/${encodeURIComponent(chatId)}` }, signal);
    return dataOf(body)['chat_mode'];
  }

  /** Resolves to the id by which the reaction can be taken back. */
  async addReaction(messageId: string, emojiType: string, signal: AbortSignal): Promise<string | undefined> {
    const path = `/open-apis/im/v1/messages/${encodeURIComponent(messageId)}/reactions`;
    const { body } = await this.#call({ method: 'POST', path, data: { reaction_type: { emoji_type: emojiType } } }, signal);
    const id = dataOf(body)['reaction_id'];
    return typeof id === 'string' ? id : undefined;
  }

  async removeReaction(messageId: string, reactionId: string, signal: AbortSignal): Promise<void> {
    const path = `/open-apis/im/v1/messages/${encodeURIComponent(messageId)}/reactions/${encodeURIComponent(reactionId)}`;
    await this.#call({ method: 'DELETE', path }, signal);
  }

  /** The bytes of a file in a message, unread. */
  async resource(
    file: { readonly messageId: string; readonly key: string; readonly type: 'image' | 'file' },
    signal: AbortSignal,
  ): Promise<{ readonly bytes: Readable; readonly size?: number }> {
    const path = `/open-apis/im/v1/messages/${encodeURIComponent(file.messageId)}/resources/${encodeURIComponent(file.key)}`;
    const { stream, size } = await this.#call({ method: 'GET', path, params: { type: file.type } }, signal, {}, true);
    if (!stream) throw new CallError('download', { kind: 'lost', detail: 'the answer held no file' });
    return { bytes: stream, ...(size !== undefined && { size }) };
  }

  /** One long connection; never reconnects by itself. Resolves once events can come. */
  async connect(onEvent: EventHandler, signal: AbortSignal): Promise<Connection> {
    signal.throwIfAborted();
    let failure: unknown;
    const { promise: closed, resolve: gone } = Promise.withResolvers<void>();
    // The SDK tells nobody that a connection ended unless it makes the next one itself, at its own pace; so its socket is watched.
    const agent = createHttpAgent({
      tls: this.#apiRoot.startsWith('https:'),
      onSocket: (socket) => void socket.once('close', () => gone()),
    });
    const { promise: ready, resolve, reject } = Promise.withResolvers<void>();
    const sdk = new WSClient({
      appId: this.#appId,
      appSecret: this.#appSecret,
      domain: this.#apiRoot,
      logger: SILENT,
      loggerLevel: LoggerLevel.fatal,
      httpInstance: this.#http((error) => {
        failure = error;
      }),
      agent,
      autoReconnect: false,
      handshakeTimeoutMs: HANDSHAKE_MS,
      wsConfig: { pingTimeout: this.#pongWaitSecs },
      onReady: resolve,
      onError: (error) => reject(failure ?? new CallError('connect', { kind: 'unreached', detail: error.message })),
    });
    const onAbort = (): void => reject(signal.reason);
    signal.addEventListener('abort', onAbort, { once: true });
    const close = (): void => {
      sdk.close({ force: true });
      agent.destroy();
      gone();
    };
    try {
      await sdk.start({ eventDispatcher: new Dispatcher(onEvent) });
      await ready;
      return { closed, close };
    } catch (error) {
      close();
      throw error;
    } finally {
      signal.removeEventListener('abort', onAbort);
    }
  }

  /** Closes idle connections and breaks those in use. Twice is safe. */
  close(): void {
    this.#agent.destroy();
  }

  async #call(
    request: Request,
    signal: AbortSignal,
    headers: Readonly<Record<string, string>> = {},
    stream = false,
  ): Promise<WireResponse> {
    for (let attempt = 1; ; attempt += 1) {
      signal.throwIfAborted();
      try {
        await this.#authenticate();
        signal.throwIfAborted();
        return await this.#sdk.request<WireResponse>({
          method: request.method,
          url: request.path,
          headers,
          signal,
          responseType: 'stream',
          ...(request.params && { params: request.params }),
          data: typeof request.data === 'function' ? request.data() : (request.data ?? {}),
          ...{ $stream: stream, $whole: true },
        });
      } catch (error) {
        signal.throwIfAborted();
        const failed = this.#toCallError(`${request.method} ${request.path}`, error);
        // A token that was taken back before its time. The call was refused as a whole, so it may be made again.
        if (attempt > 1 || !isStaleToken(failed.failure)) throw failed;
        this.#tokens.clear();
      }
    }
  }

  /** A failure here means that the call itself never left. */
  async #authenticate(): Promise<void> {
    try {
      await this.#sdk.tokenManager.getTenantAccessToken();
    } catch (error) {
      const { failure } = this.#toCallError('tenant token', error);
      throw callError('tenant token', ofToken(failure));
    }
  }

  #toCallError(what: string, error: unknown): CallError {
    if (error instanceof CallError) return error;
    return new CallError(what, networkFailure(error));
  }

  /** The SDK's HTTP client, with our connections, no redirects, no proxy from the environment, and failures as `CallError`. */
  #http(onFailure?: (error: unknown) => void): HttpInstance {
    const http = defaultHttpInstance.create({
      httpAgent: this.#agent,
      httpsAgent: this.#agent,
      proxy: false,
      maxRedirects: 0,
      maxContentLength: Number.POSITIVE_INFINITY,
      maxBodyLength: Number.POSITIVE_INFINITY,
      validateStatus: () => true,
      transformResponse: [(data: unknown) => data],
      responseType: 'stream',
    });
    const fail = (error: unknown): never => {
      const failed = this.#toCallError('request', error);
      onFailure?.(failed);
      throw failed;
    };
    const onAnswer = async (response: RawResponse & { readonly config: object }): Promise<unknown> => {
      const { $stream = false, $whole = false } = response.config as { $stream?: boolean; $whole?: boolean };
      const answer = await readResponse(response, { stream: $stream, maxBytes: MAX_ANSWER_BYTES }).catch(fail);
      // The SDK's own calls (tokens, where to connect) expect the body alone.
      return $whole ? answer : answer.body;
    };
    // Typed for whole responses, which the SDK does not want either.
    http.interceptors.response.use(onAnswer as never, fail);
    return http as unknown as HttpInstance;
  }
}

/** What the refusal of a token means for the call that needed it: it was not made, or must not be made with these credentials. */
function ofToken(failure: CallFailure): CallFailure {
  if (failure.kind !== 'api') return { kind: 'unreached', detail: failure.detail };
  if (isRateLimit(failure)) return failure;
  if ((failure.status ?? 0) >= 500) return { kind: 'unreached', detail: `${failure.status} ${failure.detail}` };
  return { ...failure, status: 401 };
}

/** Tokens of one app, until the SDK says they expire. */
class TokenCache {
  readonly #values = new Map<string, { readonly value: unknown; readonly expires: number }>();

  get(key: string | symbol | object): Promise<unknown> {
    const entry = this.#values.get(String(key));
    return Promise.resolve(entry && entry.expires > Date.now() ? entry.value : undefined);
  }

  set(key: string | symbol | object, value: unknown, expires = Number.POSITIVE_INFINITY): Promise<boolean> {
    this.#values.set(String(key), { value, expires });
    return Promise.resolve(true);
  }

  clear(): void {
    this.#values.clear();
  }
}

/** Hands events on as they came, with their ids: the SDK's own would flatten them. */
class Dispatcher extends EventDispatcher {
  readonly #onEvent: EventHandler;

  constructor(onEvent: EventHandler) {
    super({ logger: SILENT, loggerLevel: LoggerLevel.fatal });
    this.#onEvent = onEvent;
  }

  override async invoke(data: unknown): Promise<undefined> {
    await this.#onEvent(data);
  }
}

function nothing(): void {
  // Silent on purpose.
}

function dataOf(body: unknown): JsonObject {
  return obj(obj(body)['data']);
}
