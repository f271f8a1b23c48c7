/** Wire calls to the platform. The only file that loads the SDK. */
import { AsyncLocalStorage } from 'node:async_hooks';
import type { IncomingMessage } from 'node:http';
import type { Readable } from 'node:stream';
import { SocketModeReceiver, webApi } from '@slack/bolt';
import type { Clock } from '../../../src/core/ports.ts';
import { apiFailureOf, CallError, type CallFailure, guardCall, networkFailure } from '../../kit/call-error.ts';
import { CALL_TIMEOUT_MS, withDeadline } from '../../kit/deadline.ts';
import { HttpTransport } from '../../kit/http-transport.ts';
import { type JsonObject, num, obj, parseObject, str } from '../../kit/json.ts';
import { readText } from '../../kit/read-text.ts';
import { LOGIN_REFUSED, refusal } from './failure.ts';

/** What the platform pushed over a socket. `ack` tells it that we have it; unacknowledged ones come again. */
export interface Envelope {
  readonly type: string;
  readonly body: JsonObject;
  readonly retry?: { readonly count: number; readonly reason: string };
  ack(): Promise<void>;
}

export interface SocketHandlers {
  readonly onEnvelope: (envelope: Envelope) => void;
  /** How many sockets of this app are open, ours included. */
  readonly onHello: (connections: number) => void;
}

export interface Socket {
  /** Resolves when the socket is gone, with the platform's reason where it stated one. */
  readonly closed: Promise<string | undefined>;
  /** Twice is safe. */
  close(): Promise<void>;
}

export interface SlackClientOptions {
  readonly botToken: string;
  /** Without a trailing slash. */
  readonly apiRoot: string;
  readonly clock: Clock;
}

/** Answers of the Web API are far smaller; a page of 200 messages at their limit is about this. */
const MAX_ANSWER_BYTES = 32 * 1024 * 1024;
const CLOSE_DEADLINE_MS = 1_000;
/** Answers come late and in whole seconds: our own clock is finer unless it is off by more than this. */
const CLOCK_AGREES_MS = 10_000;
/** The SDK writes requests, answers and the socket's address, which is a credential, to its logger. */
const SILENT = {
  debug: () => undefined,
  info: () => undefined,
  warn: () => undefined,
  error: () => undefined,
  setLevel: () => undefined,
  getLevel: () => 'error' as never,
  setName: () => undefined,
};

/** One app's calls. All reject with a `CallError`, or with the signal's reason once that aborted. */
export class SlackClient {
  readonly #http = new HttpTransport();
  readonly #options: SlackClientOptions;
  readonly #web: webApi.WebClient;
  /** The SDK takes no signal with a call; its requests run in the context they were asked for in. */
  readonly #signal = new AsyncLocalStorage<AbortSignal>();
  /** The platform's word for it while the bot token is refused. */
  #refused: string | undefined;
  #onLogin: (refused: string | undefined) => void = () => undefined;
  /** The date of the last answer, epoch ms, and our monotonic time then. */
  #heard: { readonly date: number; readonly at: number } | undefined;

  constructor(options: SlackClientOptions) {
    this.#options = options;
    this.#web = new webApi.WebClient(options.botToken, { ...this.#webOptions(), maxRequestConcurrency: Number.MAX_SAFE_INTEGER });
  }

  /** Host names that files may be fetched from with the token, besides the platform's own. */
  get apiHost(): string {
    return new URL(this.#options.apiRoot).host;
  }

  /**
   * The platform's time, epoch ms: our own clock, unless the last answer proves it wrong. What is compared
   * with a message's ts, or kept beside one, must not come from a clock that is hours off.
   */
  now(): number {
    const { clock } = this.#options;
    const own = clock.now();
    if (!this.#heard) return own;
    const theirs = this.#heard.date + (clock.monotonic() - this.#heard.at);
    return Math.abs(own - theirs) <= CLOCK_AGREES_MS ? own : theirs;
  }

  /**
   * `listener` gets the platform's word once a call is refused for its bot token, and undefined once one is
   * taken again. A revoked token closes no socket: else it would not show until the next one is opened.
   */
  watchLogin(listener: (refused: string | undefined) => void): void {
    this.#onLogin = listener;
  }

  /** One POST to a method of the Web API; the answer's fields, `ok` among them. */
  async call(method: string, args: JsonObject, signal: AbortSignal): Promise<JsonObject> {
    try {
      const answer = await this.#guard(method, signal, async () =>
        obj(await this.#signal.run(signal, () => this.#web.apiCall(method, args))),
      );
      this.#login(undefined);
      return answer;
    } catch (error) {
      const word = apiFailureOf(error)?.code;
      if (LOGIN_REFUSED.has(word)) this.#login(String(word));
      throw error;
    }
  }

  /** Sends a file to the address that `files.getUploadURLExternal` gave out, which is the credential. */
  upload(url: string, file: { readonly bytes: Readable; readonly size: number }, signal: AbortSignal): Promise<void> {
    return this.#guard('file upload', signal, async () => {
      const headers = { 'content-type': 'application/octet-stream', 'content-length': String(file.size) };
      const response = await this.#http.request({ method: 'POST', url: new URL(url), headers, body: file.bytes, signal });
      await readText(response, MAX_ANSWER_BYTES);
      const status = response.statusCode ?? 0;
      if (status !== 200) throw new CallError('file upload', { kind: 'http', status, detail: `HTTP status ${status}` });
    });
  }

  /** The head of the answer, unread; the caller has checked that the token may go to this address. */
  fetchFile(url: URL, signal: AbortSignal): Promise<IncomingMessage> {
    const headers = { authorization: `Bearer ${this.#options.botToken}` };
    return this.#guard('file download', signal, () => this.#http.request({ method: 'GET', url, headers, signal }));
  }

  /** Opens a socket and resolves once the platform greeted on it. It never reconnects by itself. */
  async openSocket(appToken: string, handlers: SocketHandlers, signal: AbortSignal): Promise<Socket> {
    const receiver = new SocketModeReceiver({
      appToken,
      logger: SILENT,
      autoReconnectEnabled: false,
      installerOptions: { clientOptions: this.#webOptions() },
    });
    const { client } = receiver;
    const closed = Promise.withResolvers<string | undefined>();
    let reason: string | undefined;
    client.once('disconnected', () => closed.resolve(reason));
    guardFrames(client, (frame) => {
      if (frame['type'] === 'hello') handlers.onHello(Math.max(1, num(frame['num_connections']) ?? 1));
      if (frame['type'] === 'disconnect') reason = str(frame['reason']);
    });
    client.on('slack_event', (event: SlackEvent) => handlers.onEnvelope(toEnvelope(event)));
    const close = async (): Promise<void> => {
      await this.#closeSocket(client, closed.promise);
    };
    try {
      await this.#guard('apps.connections.open', signal, () =>
        withDeadline({ clock: this.#options.clock, ms: CALL_TIMEOUT_MS, signal }, (inner) =>
          this.#signal.run(inner, () => receiver.start()),
        ),
      );
    } catch (error) {
      await close();
      throw error;
    }
    return { closed: closed.promise, close };
  }

  /** Closes idle connections and breaks those in use. Twice is safe. */
  close(): void {
    this.#http.close();
  }

  #login(refused: string | undefined): void {
    if (refused === this.#refused) return;
    this.#refused = refused;
    this.#onLogin(refused);
  }

  async #closeSocket(client: SocketModeReceiver['client'], closed: Promise<unknown>): Promise<void> {
    // The second call does not wait for the peer's part of the closing handshake.
    for (let attempt = 0; attempt < 2; attempt += 1) {
      void client.disconnect();
      const timer = new AbortController();
      const waited = this.#options.clock.sleep(CLOSE_DEADLINE_MS, timer.signal).then(
        () => false,
        () => true,
      );
      const done = await Promise.race([closed.then(() => true), waited]);
      timer.abort();
      if (done) return;
    }
  }

  #webOptions(): webApi.WebClientOptions {
    return {
      slackApiUrl: `${this.#options.apiRoot}/`,
      logger: SILENT,
      // Trying again is delivery's, which knows what may be sent twice.
      retryConfig: { retries: 0 },
      rejectRateLimitedCalls: true,
      allowAbsoluteUrls: false,
      fetch: (url, init) => this.#fetch(url, init),
    };
  }

  async #fetch(url: string | URL, init: FetchInit = {}): ReturnType<Fetch> {
    if (typeof init.body !== 'string') throw new Error('only form bodies are sent this way');
    const response = await this.#http.request({
      method: 'POST',
      url: new URL(url),
      body: init.body,
      signal: this.#signal.getStore() ?? AbortSignal.abort(new Error('a call without a signal')),
      ...(init.headers && { headers: { ...init.headers, 'content-length': String(Buffer.byteLength(init.body)) } }),
    });
    const text = await readText(response, MAX_ANSWER_BYTES);
    const status = response.statusCode ?? 0;
    const headers = new Headers();
    for (const [name, value] of Object.entries(response.headers)) if (typeof value === 'string') headers.set(name, value);
    // The SDK takes a limit without a wait for a failure of another kind.
    if (status === 429 && !/^\d+$/.test(headers.get('retry-after') ?? '')) headers.set('retry-after', '1');
    // What is no JSON would come back as a refusal; a proxy's page tells nothing of the request's fate.
    if (status === 200 && !parseObject(text)) throw new Error('the answer is no JSON object');
    const date = Date.parse(headers.get('date') ?? '');
    if (status === 200 && Number.isFinite(date)) this.#heard = { date, at: this.#options.clock.monotonic() };
    return {
      ok: status === 200,
      status,
      statusText: response.statusMessage ?? '',
      url: String(url),
      headers,
      text: async () => text,
      json: async () => JSON.parse(text),
      arrayBuffer: async () => new TextEncoder().encode(text).buffer,
    };
  }

  #guard<T>(method: string, signal: AbortSignal, run: () => Promise<T>): Promise<T> {
    return guardCall(signal, run, (error) => toCallError(method, toFailure(error)));
  }
}

type Fetch = NonNullable<webApi.WebClientOptions['fetch']>;
type FetchInit = NonNullable<Parameters<Fetch>[1]>;

interface SlackEvent {
  readonly type?: string;
  readonly body?: unknown;
  readonly retry_num?: number;
  readonly retry_reason?: string;
  readonly ack: () => Promise<void>;
}

function toEnvelope({ type = '', body, retry_num: count, retry_reason: reason, ack }: SlackEvent): Envelope {
  const retry = typeof count === 'number' && count > 0 ? { retry: { count, reason: String(reason ?? '') } } : {};
  return { type, body: obj(body), ack, ...retry };
}

/** Stops frames that are no object, types untyped events: the SDK's unhandled rejection ends the process. */
function guardFrames(client: SocketModeReceiver['client'], see: (frame: JsonObject) => void): void {
  const listeners = client.listeners('ws_message');
  client.removeAllListeners('ws_message');
  client.on('ws_message', (data: unknown, isBinary: boolean) => {
    const frame = isBinary || typeof data !== 'string' ? undefined : parseObject(data);
    if (!frame) return;
    const typed = withEventType(frame);
    if (!typed) return;
    see(frame);
    const whole = typed === frame ? data : JSON.stringify(typed);
    for (const listener of listeners) listener(whole, false);
  });
}

/**
 * An event without an inner one, such as `app_rate_limited`, gets one by that name, so that it is
 * acknowledged like any other. Undefined where there is nothing to acknowledge.
 */
function withEventType(frame: JsonObject): JsonObject | undefined {
  const payload = obj(frame['payload']);
  if (frame['type'] !== 'events_api' || str(obj(payload['event'])['type']) !== undefined) return frame;
  if (str(frame['envelope_id']) === undefined) return undefined;
  const type = payload['type'] === 'app_rate_limited' ? payload['type'] : 'untyped';
  return { ...frame, payload: { ...payload, event: { type } } };
}

function toFailure(error: unknown): CallFailure {
  if (error instanceof webApi.WebAPIPlatformError) {
    return refusal(String(error.data.error).slice(0, 200), str(obj(error.data)['needed']));
  }
  if (error instanceof webApi.WebAPIRateLimitedError) {
    return { kind: 'limited', retryAfterMs: error.retryAfter * 1_000, scope: 'chat', detail: 'too many requests' };
  }
  if (error instanceof webApi.WebAPIHTTPError) {
    return { kind: 'http', status: error.statusCode, detail: `HTTP status ${error.statusCode}` };
  }
  return networkFailure(error instanceof webApi.WebAPIRequestError ? error.original : error);
}

function toCallError(method: string, failure: CallFailure): CallError {
  const wait = failure.kind === 'limited' ? `, wait ${failure.retryAfterMs} ms` : '';
  return new CallError(method, failure, `${failure.detail}${wait}`);
}
