/** Wire calls to Discord: REST, and one gateway connection at a time. The only file that loads discord.js. */
import { AsyncLocalStorage } from 'node:async_hooks';
import {
  DefaultWebSocketManagerOptions,
  DiscordAPIError,
  HTTPError,
  RateLimitError,
  REST,
  RequestMethod,
  SimpleShardingStrategy,
  WebSocketShardStatus,
} from 'discord.js';
import { errorText } from '../../../src/core/errors.ts';
import type { Clock } from '../../../src/core/ports.ts';
import { CallError, type CallFailure, networkFailure } from '../../kit/call-error.ts';
import { withDeadline } from '../../kit/deadline.ts';
import { type JsonObject, num, obj, str } from '../../kit/json.ts';
import type { GatewayEnd, GatewayOptions, Session, SessionInfo } from './gateway.ts';
import { isGatewayUrl, publicRoute } from './ids.ts';
import { guardShard } from './shard.ts';
import { HttpPool } from './transport.ts';

export interface CallOptions {
  readonly body?: JsonObject;
  readonly query?: Readonly<Record<string, string>>;
  readonly file?: { readonly bytes: Buffer; readonly name: string; readonly mime: string };
  readonly signal: AbortSignal;
}

/** Two sessions begun within this time are refused (gateway docs, max_concurrency). */
const IDENTIFY_GAP_MS = 5_000;
/** A daemon's start must not hang on a platform that is silent. */
const GATEWAY_TIMEOUT_MS = 20_000;
/** The SDK waits for the close frame of a peer that may be gone. */
const CLOSE_TIMEOUT_MS = 2_000;
/** The SDK keeps one for each chat, thread and slash command; only a call or a limit in it is of use. */
const MOST_QUEUES = 500;

/**
 * One bot's calls. They reject with a `CallError`, or with the reason of a signal that aborted a request
 * under way; `gateway` also with a `DeadlineError`, and `fetchFile` as `fetch` does.
 */
export class DiscordClient {
  readonly #rest: REST;
  readonly #pool = new HttpPool();
  readonly #token: string;
  readonly #clock: Clock;
  /** Whether the request of the call under way has left; the SDK hides that. */
  readonly #departure = new AsyncLocalStorage<{ left: boolean }>();
  #identifyAt = Number.NEGATIVE_INFINITY;

  /** `apiRoot` has no trailing slash and no version. */
  constructor(options: { readonly token: string; readonly apiRoot: string; readonly clock: Clock }) {
    this.#token = options.token;
    this.#clock = options.clock;
    this.#rest = new REST({
      version: '10',
      api: options.apiRoot,
      // Retry is delivery's; waiting for a bucket is too.
      retries: 0,
      rejectOnRateLimit: () => true,
      offset: 0,
      // Every call of ours has a shorter limit of its own; this one only must never win.
      timeout: 600_000,
      // Their timers would keep this client. `call` sweeps; of hashes there is one for each kind of route.
      hashSweepInterval: 0,
      handlerSweepInterval: 0,
      makeRequest: (url, init) => {
        const departure = this.#departure.getStore();
        return this.#pool.fetch(url, init as unknown as RequestInit, () => {
          if (departure) departure.left = true;
        });
      },
    });
  }

  /** Queues of the SDK. */
  get queues(): number {
    return this.#rest.handlers.size;
  }

  /** The answer's JSON, `{}` where there is none. `route` begins with a slash and holds only checked ids. */
  async call(method: keyof typeof METHODS, route: string, options: CallOptions): Promise<unknown> {
    const { body, file, query, signal } = options;
    signal.throwIfAborted();
    if (this.queues > MOST_QUEUES) this.#rest.handlers.sweep(({ inactive }) => inactive);
    const departure = { left: false };
    try {
      // The SDK forgets the token for good once it was refused; it may have been mended at the portal since.
      this.#rest.setToken(this.#token);
      const request = {
        method: METHODS[method],
        fullRoute: route as `/${string}`,
        ...(body !== undefined && { body }),
        ...(query && { query: new URLSearchParams(query) }),
        ...(file && { files: [{ data: file.bytes, name: file.name, contentType: file.mime }] }),
        signal,
      };
      // Reading the answer is part of the call: a body that breaks off is an answer that was lost.
      return await this.#departure.run(departure, async () => {
        const response = await this.#rest.queueRequest(request);
        return response.status === 204 ? {} : await response.json();
      });
    } catch (error) {
      if (signal.aborted && departure.left) throw signal.reason;
      throw new CallError(`${method} ${publicRoute(route)}`, this.#toFailure(error, departure.left));
    }
  }

  /** Connects once, to a new session or an old one. Resolves when that connection ended, however it did. */
  async gateway(options: GatewayOptions): Promise<GatewayEnd> {
    const { signal } = options;
    const information = obj(
      await withDeadline({ clock: this.#clock, ms: GATEWAY_TIMEOUT_MS, signal }, (inner) =>
        this.call('GET', '/gateway/bot', { signal: inner }),
      ),
    );
    if (!isGatewayUrl(information['url'])) {
      throw new CallError('GET /gateway/bot', { kind: 'lost', detail: 'the platform names no address of its gateway' });
    }
    const limit = obj(information['session_start_limit']);
    if (!options.session && num(limit['remaining']) === 0) {
      const retryAfterMs = num(limit['reset_after']) ?? 60_000;
      throw new CallError('identify', {
        kind: 'limited',
        retryAfterMs,
        scope: 'account',
        detail: 'no sessions left for today',
      });
    }
    const connection = new GatewayConnection(options, information, {
      token: this.#token,
      waitForIdentify: (until) => this.#waitForIdentify(until),
    });
    return await connection.run();
  }

  /** Opens a file at the CDN, without the token. A redirect is refused. */
  async fetchFile(url: string, signal: AbortSignal): Promise<Response> {
    return fetch(url, { signal, redirect: 'error', headers: { connection: 'close' } });
  }

  close(): void {
    this.#pool.close();
  }

  async #waitForIdentify(signal: AbortSignal): Promise<void> {
    const waitMs = this.#identifyAt + IDENTIFY_GAP_MS - this.#clock.monotonic();
    if (waitMs > 0) await this.#clock.sleep(waitMs, signal);
    this.#identifyAt = this.#clock.monotonic();
  }

  #toFailure(error: unknown, left: boolean): CallFailure {
    if (error instanceof RateLimitError) {
      const retryAfterMs = Math.max(0, Math.ceil(error.retryAfter));
      const scope = error.global || error.scope === 'global' ? 'account' : 'chat';
      return { kind: 'limited', retryAfterMs, scope, detail: `too many requests (${error.scope})` };
    }
    if (error instanceof DiscordAPIError) {
      const code = Number(error.code);
      const detail = error.message.replaceAll(this.#token, '[token]').slice(0, 500);
      return { kind: 'api', status: error.status, detail, ...(Number.isInteger(code) && { code }) };
    }
    if (error instanceof HTTPError) return { kind: 'api', status: error.status, detail: `HTTP ${error.status}` };
    return networkFailure(error, left);
  }
}

/** One connection to the gateway. Use it once. */
class GatewayConnection {
  readonly #options: GatewayOptions;
  readonly #ended = Promise.withResolvers<GatewayEnd>();
  readonly #strategy: SimpleShardingStrategy;
  #session: Session | undefined;
  /**
   * The SDK counts every frame of one read before it tells of the first; what we did not take any more must
   * come again.
   */
  #taken: Session | undefined;
  #started = false;
  #over = false;

  constructor(
    options: GatewayOptions,
    information: JsonObject,
    bot: { readonly token: string; readonly waitForIdentify: (until: AbortSignal) => Promise<void> },
  ) {
    this.#options = options;
    this.#session = options.session;
    this.#taken = options.session;
    const manager = {
      options: {
        ...DefaultWebSocketManagerOptions,
        token: bot.token,
        intents: options.intents,
        version: '10',
        handshakeTimeout: GATEWAY_TIMEOUT_MS,
        helloTimeout: GATEWAY_TIMEOUT_MS,
        buildIdentifyThrottler: async () => ({
          waitForIdentify: (_: number, until: AbortSignal) => bot.waitForIdentify(until),
        }),
        retrieveSessionInfo: (id: number) => this.#sessionInfo(id),
        updateSessionInfo: (_: number, info: SessionInfo | null) => {
          // Closing on our own wish ends the session for the SDK, yet not for the platform.
          if (options.signal.aborted) return;
          this.#session = info ? { id: info.sessionId, url: info.resumeURL, seq: info.sequence } : undefined;
        },
      },
      fetchGatewayInformation: async () => information,
      getShardCount: async () => 1,
      emit: (event: string, payload: unknown) => this.#onEvent(event, payload),
    };
    // The SDK's own manager reconnects without a back-off and its client keeps caches of everything; the
    // shard does neither.
    this.#strategy = new SimpleShardingStrategy(manager as unknown as ConstructorParameters<typeof SimpleShardingStrategy>[0]);
  }

  /** Resolves when the connection ended, however it did. */
  async run(): Promise<GatewayEnd> {
    const { signal } = this.#options;
    await this.#strategy.spawn([0]);
    guardShard(shardOf(this.#strategy), (error) => this.#end(undefined, `the connection failed: ${errorText(error)}`));
    signal.throwIfAborted();
    // What it rejects with is told as an event too.
    this.#strategy.connect().catch(() => undefined);
    const onAbort = (): void => {
      this.#over = true;
      this.#ended.resolve({ code: undefined, detail: errorText(signal.reason), session: this.#resumable() });
    };
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      return await this.#ended.promise;
    } finally {
      signal.removeEventListener('abort', onAbort);
      this.#over = true;
      // Any code but 1000 and 1001 leaves the session resumable (gateway docs, disconnecting).
      await Promise.race([this.#strategy.destroy({ code: 4_200, reason: 'closing' }), closeTimeout()]);
    }
  }

  #resumable(): Session | undefined {
    return this.#session?.id === this.#taken?.id ? this.#taken : undefined;
  }

  #end(code: number | undefined, detail: string): void {
    if (this.#over) return;
    this.#over = true;
    // The SDK decides what becomes of the session right after it tells about the end.
    setImmediate(() => this.#ended.resolve({ code, detail, session: this.#resumable() }));
  }

  async #sessionInfo(id: number) {
    // The SDK connects again at once and for ever. This one is over: how long to wait before another is
    // `reconnect`'s. A shard that was destroyed is not listed any more, and yet wakes up half a second later.
    const idle = this.#over || (await this.#strategy.fetchStatus()).get(id) === WebSocketShardStatus.Idle;
    if (idle && (this.#started || this.#over || this.#options.signal.aborted)) {
      this.#end(undefined, 'the connection was lost');
      return new Promise<never>(() => undefined);
    }
    if (idle) this.#started = true;
    const session = this.#session;
    return session && { sessionId: session.id, resumeURL: session.url, sequence: session.seq, shardCount: 1, shardId: 0 };
  }

  #onEvent(event: string, payload: unknown): true {
    if (event === 'dispatch' && !this.#over) {
      const packet = obj(obj(payload)['data']);
      const s = num(packet['s']) ?? 0;
      const session = this.#session;
      const before = session?.id === this.#taken?.id ? (this.#taken?.seq ?? 0) : 0;
      this.#taken = session && { ...session, seq: Math.max(before, s) };
      this.#options.onPacket({ t: str(packet['t']) ?? '', s, d: packet['d'], session });
    } else if (event === 'closed') {
      const code = num(obj(payload)['code']);
      this.#end(code, `the connection was closed${code === undefined ? '' : ` with code ${code}`}`);
    } else if (event === 'error') {
      this.#end(undefined, `the connection failed: ${errorText(obj(payload)['error'])}`);
    }
    return true;
  }
}

const METHODS = {
  GET: RequestMethod.Get,
  POST: RequestMethod.Post,
  PUT: RequestMethod.Put,
  PATCH: RequestMethod.Patch,
  DELETE: RequestMethod.Delete,
} as const;

function shardOf(strategy: SimpleShardingStrategy): unknown {
  return (strategy as unknown as { readonly shards: ReadonlyMap<number, unknown> }).shards.get(0);
}

function closeTimeout(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, CLOSE_TIMEOUT_MS).unref());
}
