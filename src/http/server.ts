import { createServer, type IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { GatehouseError } from '../core/errors.ts';
import { equalSecrets } from '../lib/equal-secrets.ts';
import { WaitingConnections } from './waiting-connections.ts';

export interface HttpAnswer {
  readonly status: number;
  readonly body: unknown;
}

export interface HttpServer extends AsyncDisposable {
  readonly host: string;
  readonly port: number;
}

/**
 * Long, because a machine that stands still must not cut off a caller who did nothing wrong: what bounds
 * callers that trickle is how many of them may wait.
 */
const TIMES = { headersTimeout: 30_000, requestTimeout: 30_000, connectionsCheckingInterval: 5_000 };
/** Of those that trickle the longest-waiting one is dropped: all come from one address. */
const MOST_WAITING = 64;

type Route = () => Promise<HttpAnswer>;

const LOOPBACK = new Set(['127.0.0.1', '::1', 'localhost']);

export interface HttpServerOptions {
  readonly host: string;
  /** 0 = any free port. */
  readonly port: number;
  /** What every user of this machine may read. */
  readonly routes: Readonly<Record<string, Route>>;
  /** What only callers with the token may read, as `Authorization: Bearer …`; others get 401. */
  readonly guarded: { readonly token: string; readonly routes: Readonly<Record<string, Route>> };
}

/**
 * Answers GET and HEAD on fixed paths with JSON. Local only for now: any other bind address is refused
 * (decision D8), and so is a Host header that is not local, which a page in a browser could be made to send
 * by DNS rebinding. Rejects with GH1101 for a bad address and GH1004 for a port in use.
 */
export async function startHttpServer(options: HttpServerOptions): Promise<HttpServer> {
  if (!LOOPBACK.has(options.host)) {
    throw new GatehouseError('GH1101', `gateway.http.host ${options.host} is not a loopback address`, {
      hint: 'use 127.0.0.1 and put an authenticating proxy in front of it, which asks with `Host: 127.0.0.1`',
    });
  }
  const server = createServer({ ...TIMES, maxHeaderSize: 8_192 }, (request, response) => {
    const answer = answerTo(request, options);
    answer
      .catch(() => ({ status: 500, body: { ok: false } }))
      .then(({ status, body }) => {
        response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' });
        response.end(`${JSON.stringify(body)}\n`);
      })
      .catch(() => response.destroy());
  });
  new WaitingConnections({ most: MOST_WAITING, ofOneAddress: MOST_WAITING }).watch(server);
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => {
      reject(
        new GatehouseError('GH1004', `cannot listen on ${options.host}:${options.port}: ${error.message}`, {
          hint: 'stop what listens there, or choose another gateway.http.port; 0 takes any free one',
          cause: error,
        }),
      );
    });
    server.listen(options.port, options.host, resolve);
  });
  const { port } = server.address() as AddressInfo;
  return {
    host: options.host,
    port,
    [Symbol.asyncDispose]: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

async function answerTo(request: IncomingMessage, { routes, guarded }: HttpServerOptions): Promise<HttpAnswer> {
  const { method, headers } = request;
  // Node leaves the body out of what answers HEAD.
  const isRead = method === 'GET' || method === 'HEAD';
  if (!isRead || !isLocalHost(headers.host)) return { status: 403, body: { ok: false } };
  const path = (request.url ?? '/').split('?')[0] ?? '/';
  const open = routes[path];
  if (open) return await open();
  const route = guarded.routes[path];
  if (!route) return { status: 404, body: { ok: false } };
  if (!equalSecrets(headers.authorization ?? '', `Bearer ${guarded.token}`)) return { status: 401, body: { ok: false } };
  return await route();
}

/** Only HTTP/1.0 goes without this header, which no browser speaks: Node refuses HTTP/1.1 without it. */
function isLocalHost(header: string | undefined): boolean {
  if (header === undefined) return true;
  const name = header.replace(/:\d+$/, '').replace(/^\[|\]$/g, '');
  return LOOPBACK.has(name);
}
