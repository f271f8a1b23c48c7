import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setImmediate as immediate } from 'node:timers/promises';
import { RefusedRequests } from '../../channels/kit/refused-requests.ts';
import type { Webhook, WebhookAnswer, WebhookHandler, WebhookRequest, Webhooks } from '../core/channel.ts';
import { errorText, GatehouseError } from '../core/errors.ts';
import type { Clock, Logger } from '../core/ports.ts';
import type { WebhookStatus } from '../core/status.ts';
import { systemClock } from '../lib/clock.ts';
import { WaitingConnections } from './waiting-connections.ts';

const MAX_BYTES = 1_000_000;
/**
 * Requests of one instance that are worked on at once. More are answered with 503, which platforms take
 * for "try again".
 */
const AT_ONCE = 64;
/**
 * Most that bodies under way hold in memory, over all instances. Beyond it the body that began first is given
 * up, not the newest: a platform sends one in one piece, so callers who hold theirs back push out each other.
 */
const MAX_READING = 16_000_000;
/**
 * Platforms send a request in one piece. A stranger who trickles is cut off before they give up repeating.
 */
const REQUEST_MS = 5_000;
/** How often Node looks for those. */
const CHECK_MS = 1_000;
/**
 * How long a call for an instance that is being replaced waits for the next one: less than any platform does.
 */
const HOLD_MS = 3_000;

interface Route {
  readonly handler: WebhookHandler;
  readonly maxBytes: number;
  readonly calls: { refused: number; refusedAt?: number; takenAt?: number };
  running: number;
}

/** A body that is under way: how many bytes came, and what answers its request with 503. */
interface Body {
  bytes: number;
  readonly giveUp: () => void;
}

/** By these an adapter says that it does not believe a request. */
const UNBELIEVED = [401, 403];

export interface WebhookServerOptions {
  /** May be any address: adapters verify the platform's signature and refuse without one (decision D8). */
  readonly host: string;
  /** 0 = any free port. */
  readonly port: number;
  readonly logger: Logger;
  /** Default: the system's. */
  readonly clock?: Clock;
}

/**
 * The server that platforms call, apart from the one with health and status, so that a proxy can
 * never publish those. It listens from the first `serve` on. Limits come before any parsing: method,
 * path, size, time.
 */
export class WebhookServer implements AsyncDisposable {
  readonly #options: WebhookServerOptions;
  readonly #routes = new Map<string, Route>();
  readonly #stopping = new AbortController();
  /** Instances that are being replaced, by path, with the calls that wait. */
  readonly #held = new Map<string, Set<() => void>>();
  readonly #dropped: RefusedRequests;
  #listening: Promise<Server> | undefined;
  /** In the order in which they began. */
  readonly #bodies = new Set<Body>();
  /** What they hold together. */
  #reading = 0;

  constructor(options: WebhookServerOptions) {
    this.#options = options;
    const { logger, clock = systemClock } = options;
    this.#dropped = new RefusedRequests({ event: 'webhook.connections-dropped', clock, logger });
  }

  /** What the adapter of one instance gets. */
  for(instance: string): Webhooks {
    const path = pathOfInstance(instance);
    return {
      serve: async (handler, { maxBytes = MAX_BYTES } = {}) =>
        await this.#serve(path, { handler, maxBytes, calls: { refused: 0 }, running: 0 }),
    };
  }

  /**
   * Until disposed, a call for this instance waits for its next `serve` instead of being told that there is
   * none; after a while it is answered with 503, which platforms take for "try again".
   */
  hold(instance: string): Disposable {
    const path = pathOfInstance(instance);
    const waiting = new Set<() => void>();
    this.#held.set(path, waiting);
    return {
      [Symbol.dispose]: () => {
        if (this.#held.get(path) === waiting) this.#held.delete(path);
        for (const resolve of waiting) resolve();
      },
    };
  }

  /** Instances that refused requests since they were begun. */
  refused(): readonly WebhookStatus[] {
    return [...this.#routes].flatMap(([path, { calls }]) => {
      const { refused, refusedAt, takenAt } = calls;
      return refusedAt === undefined ? [] : [{ path, refused, refusedAt, ...(takenAt === undefined ? {} : { takenAt }) }];
    });
  }

  /** Calls that wait for the next one of their instance. */
  get waiting(): number {
    return [...this.#held.values()].reduce((sum, calls) => sum + calls.size, 0);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    // Those that wait for the next one of their instance are told to call again before their connections end.
    for (const waiting of this.#held.values()) for (const resolve of waiting) resolve();
    await immediate();
    this.#stopping.abort(new Error('the server stops'));
    const server = await this.#listening?.catch(() => undefined);
    if (!server) return;
    await new Promise<void>((resolve) => {
      server.close(() => resolve());
      server.closeAllConnections();
    });
  }

  async #serve(path: string, route: Route): Promise<Webhook> {
    if (this.#routes.has(path)) throw new GatehouseError('GH1004', `${path} is served already`);
    this.#routes.set(path, route);
    for (const resolve of this.#held.get(path) ?? []) resolve();
    try {
      this.#listening ??= this.#listen();
      const server = await this.#listening;
      const { address, port, family } = server.address() as AddressInfo;
      const host = family === 'IPv6' ? `[${address}]` : address;
      return {
        path,
        localOrigin: `http://${host}:${port}`,
        [Symbol.asyncDispose]: async () => {
          if (this.#routes.get(path) === route) this.#routes.delete(path);
        },
      };
    } catch (error) {
      this.#routes.delete(path);
      this.#listening = undefined;
      throw error;
    }
  }

  async #listen(): Promise<Server> {
    const { host, port } = this.#options;
    const times = { requestTimeout: REQUEST_MS, headersTimeout: REQUEST_MS, connectionsCheckingInterval: CHECK_MS };
    const limits = { ...times, maxHeaderSize: 16_384 };
    const server = createServer(limits, (request, response) => {
      this.#answer(request, response)
        .catch((error: unknown) => {
          // Hung up in the middle of its body: whoever knows the address could fill the log with it.
          if (request.errored && !request.complete) throw error;
          this.#options.logger.error('webhook.failed', { path: pathOf(request), detail: errorText(error) });
          return { status: 500 };
        })
        .then((answer) => write(response, answer))
        .catch(() => response.destroy());
    });
    new WaitingConnections({ onDrop: () => this.#noteDropped() }).watch(server);
    await new Promise<void>((resolve, reject) => {
      server.once('error', (cause) => {
        reject(
          new GatehouseError('GH1004', `cannot listen on ${host}:${port} for webhooks: ${cause.message}`, {
            hint: 'choose another gateway.webhooks.port, or 0 for any free one',
            cause,
          }),
        );
      });
      server.listen(port, host, resolve);
    });
    return server;
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<WebhookAnswer> {
    const isHeld = this.#held.has(pathOf(request));
    const route = await this.#route(pathOf(request));
    if (!route) return isHeld ? BUSY : { status: 404 };
    // Platforms ask with HEAD for a file's type and size before they fetch it. Node leaves that body out.
    const method = request.method === 'HEAD' ? 'GET' : request.method;
    if (method !== 'GET' && method !== 'POST') return { status: 405 };
    const body = await this.#read(request, route.maxBytes);
    if (!Buffer.isBuffer(body)) return body;
    // Not before the body is here: who sends one slowly must not keep out the platform.
    if (route.running >= AT_ONCE) return BUSY;
    route.running += 1;
    try {
      const gone = new AbortController();
      response.once('close', () => gone.abort(new Error('the caller hung up')));
      const signal = AbortSignal.any([gone.signal, this.#stopping.signal]);
      const answer = await route.handler(toRequest(request, method, body), signal);
      this.#count(route, answer);
      return answer;
    } finally {
      route.running -= 1;
    }
  }

  #count({ calls }: Route, { status }: WebhookAnswer): void {
    const now = (this.#options.clock ?? systemClock).now();
    if (UNBELIEVED.includes(status)) Object.assign(calls, { refused: calls.refused + 1, refusedAt: now });
    else if (status < 300) calls.takenAt = now;
  }

  /** Of an instance that is being replaced, the next one; undefined when it does not come in time. */
  async #route(path: string): Promise<Route | undefined> {
    const waiting = this.#held.get(path);
    if (!this.#routes.has(path) && waiting && waiting.size < AT_ONCE) {
      const { promise, resolve } = Promise.withResolvers<void>();
      waiting.add(resolve);
      const late = setTimeout(resolve, HOLD_MS);
      await promise;
      clearTimeout(late);
      waiting.delete(resolve);
    }
    return this.#routes.get(path);
  }

  /** The body, or why there is none. */
  async #read(request: IncomingMessage, maxBytes: number): Promise<Buffer | WebhookAnswer> {
    if (Number(request.headers['content-length'] ?? 0) > maxBytes) return TOO_LARGE;
    const { promise: givenUp, resolve } = Promise.withResolvers<WebhookAnswer>();
    const body: Body = { bytes: 0, giveUp: () => resolve(GIVEN_UP) };
    this.#bodies.add(body);
    try {
      // One that is given up is waited for no more: its connection ends with the answer.
      return await Promise.race([givenUp, this.#collect(request, body, maxBytes)]);
    } finally {
      this.#forget(body);
    }
  }

  async #collect(request: IncomingMessage, body: Body, maxBytes: number): Promise<Buffer | WebhookAnswer> {
    const parts: Buffer[] = [];
    // Ended early it must not break the connection: the answer still has to leave by it.
    for await (const part of request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>) {
      if (!this.#bodies.has(body)) return GIVEN_UP;
      body.bytes += part.byteLength;
      this.#reading += part.byteLength;
      if (body.bytes > maxBytes) return TOO_LARGE;
      parts.push(part);
      this.#makeRoom();
    }
    return Buffer.concat(parts);
  }

  #makeRoom(): void {
    for (const body of this.#bodies) {
      if (this.#reading <= MAX_READING) return;
      this.#forget(body);
      body.giveUp();
      this.#noteDropped();
    }
  }

  #forget(body: Body): void {
    if (this.#bodies.delete(body)) this.#reading -= body.bytes;
  }

  #noteDropped(): void {
    this.#dropped.note('too many callers that do not complete their request, or do not read the answer');
  }
}

const BUSY: WebhookAnswer = { status: 503, headers: { 'retry-after': '1' } };
const GIVEN_UP: WebhookAnswer = { ...BUSY, headers: { ...BUSY.headers, connection: 'close' } };
const TOO_LARGE: WebhookAnswer = { status: 413, headers: { connection: 'close' } };

function pathOfInstance(name: string): string {
  return `/hooks/${encodeURIComponent(name)}`;
}

function pathOf(request: IncomingMessage): string {
  return (request.url ?? '/').split('?', 1)[0] ?? '/';
}

function toRequest(request: IncomingMessage, method: WebhookRequest['method'], body: Buffer): WebhookRequest {
  const target = request.url ?? '/';
  const headers = Object.fromEntries(Object.entries(request.headersDistinct).map(([name, values]) => [name, values?.[0]]));
  return { method, target, query: new URLSearchParams(target.split('?').slice(1).join('?')), headers, body };
}

function write(response: ServerResponse, { status, headers, body = '' }: WebhookAnswer): void {
  response.writeHead(status, { 'content-type': 'text/plain; charset=utf-8', 'cache-control': 'no-store', ...headers });
  response.end(body);
}
