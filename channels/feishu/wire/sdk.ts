/**
 * The platform's SDK as it is used here: silent, over connections of ours, with failures as `CallError`.
 * No other file loads it.
 */
import { Client, defaultHttpInstance, EventDispatcher, type HttpInstance, LoggerLevel, WSClient } from '@larksuiteoapi/node-sdk';
import { CallError, type CallFailure, networkFailure } from '../../kit/call-error.ts';
import { createHttpAgent } from '../../kit/http-agent.ts';
import { callError, isRateLimit, isStaleToken } from './failure.ts';
import { type RawResponse, readResponse, type WireResponse } from './response.ts';

export interface SdkOptions {
  readonly appId: string;
  readonly appSecret: string;
  /** Without a trailing slash. */
  readonly apiRoot: string;
  /** How long a ping of the long connection may stay unanswered. */
  readonly pongWaitSecs?: number;
}

/** A call of the HTTP API, without its token. */
export interface ApiRequest {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  readonly path: string;
  readonly params?: Readonly<Record<string, string | number>>;
  /** A function is called once for each try. */
  readonly data?: Readonly<Record<string, unknown>> | (() => Readonly<Record<string, unknown>>);
  /** Kept up to date while the call waits for its token and is made. */
  readonly progress?: Progress;
}

/** Whether a call may have reached the platform. An abort from then on takes nothing back. */
export interface Progress {
  left: boolean;
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

/** One app's identity towards the platform: its tokens, its HTTP connections, its long connection. */
export class FeishuSdk {
  readonly #appId: string;
  readonly #pongWaitSecs: number;
  readonly #appSecret: string;
  readonly #apiRoot: string;
  readonly #agent: ReturnType<typeof createHttpAgent>;
  readonly #tokens = new TokenCache();
  readonly #client: Client;

  constructor(options: SdkOptions) {
    this.#pongWaitSecs = options.pongWaitSecs ?? PONG_WAIT_SECS;
    this.#appId = options.appId;
    this.#appSecret = options.appSecret;
    this.#apiRoot = options.apiRoot;
    this.#agent = createHttpAgent({ tls: options.apiRoot.startsWith('https:') });
    this.#client = new Client({
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

  /**
   * One call with the token of the app, made a second time when the platform does not take that token any
   * more. With `stream` a file is left unread. Rejects with a `CallError`, or with the signal's reason once
   * that aborted.
   */
  async call(
    request: ApiRequest,
    signal: AbortSignal,
    headers: Readonly<Record<string, string>> = {},
    stream = false,
  ): Promise<WireResponse> {
    const { progress = { left: false } } = request;
    for (let attempt = 1; ; attempt += 1) {
      signal.throwIfAborted();
      try {
        await this.#authenticate();
        signal.throwIfAborted();
        progress.left = true;
        return await this.#client.request<WireResponse>({
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
        // A token that was taken back before its time. The call was refused as a whole: it may be repeated.
        if (attempt > 1 || !isStaleToken(failed.failure)) throw failed;
        progress.left = false;
        this.#tokens.clear();
      }
    }
  }

  /** One long connection; never reconnects by itself. Resolves once events can come. */
  async connect(onEvent: EventHandler, signal: AbortSignal): Promise<Connection> {
    signal.throwIfAborted();
    let failure: unknown;
    const { promise: closed, resolve: gone } = Promise.withResolvers<void>();
    // The SDK does not tell that a connection ended unless it makes the next one itself, at its own pace; so
    // its socket is watched.
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

  /** A failure here means that the call itself never left. */
  async #authenticate(): Promise<void> {
    try {
      await this.#client.tokenManager.getTenantAccessToken();
    } catch (error) {
      const { failure } = this.#toCallError('tenant token', error);
      throw callError('tenant token', ofToken(failure));
    }
  }

  #toCallError(what: string, error: unknown): CallError {
    if (error instanceof CallError) return error;
    return new CallError(what, networkFailure(error));
  }

  /**
   * The SDK's HTTP client, with our connections, no redirects, no proxy from the environment, and failures as
   * `CallError`.
   */
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

/**
 * What the refusal of a token means for the call that needed it: it was not made, or must not be made with
 * these credentials.
 */
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
