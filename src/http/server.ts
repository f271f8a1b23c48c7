import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { GatehouseError } from '../core/errors.ts';

export interface HttpAnswer {
  readonly status: number;
  readonly body: unknown;
}

export interface HttpServer extends AsyncDisposable {
  readonly host: string;
  readonly port: number;
}

const LOOPBACK = new Set(['127.0.0.1', '::1', 'localhost']);

/**
 * Answers GET on fixed paths with JSON. Local only for now: any other bind address is refused, because nothing here
 * authenticates (decision D8), and so is a Host header that is not local, which a page in a browser could be made to send
 * by DNS rebinding. Rejects with GH1101 for a bad address and GH1004 for a port in use.
 */
export async function startHttpServer(options: {
  readonly host: string;
  /** 0 = any free port. */
  readonly port: number;
  readonly routes: Readonly<Record<string, () => Promise<HttpAnswer>>>;
}): Promise<HttpServer> {
  if (!LOOPBACK.has(options.host)) {
    throw new GatehouseError('GH1101', `gateway.http.host ${options.host} is not a loopback address`, {
      hint: 'use 127.0.0.1 and put an authenticating proxy in front of it',
    });
  }
  const server = createServer({ requestTimeout: 10_000, headersTimeout: 5_000, maxHeaderSize: 8_192 }, (request, response) => {
    const route = options.routes[(request.url ?? '/').split('?')[0] ?? '/'];
    const answer: Promise<HttpAnswer> =
      request.method !== 'GET' || !isLocalHost(request.headers.host)
        ? Promise.resolve({ status: 403, body: { ok: false } })
        : (route?.() ?? Promise.resolve({ status: 404, body: { ok: false } }));
    answer
      .catch(() => ({ status: 500, body: { ok: false } }))
      .then(({ status, body }) => {
        response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' });
        response.end(`${JSON.stringify(body)}\n`);
      })
      .catch(() => response.destroy());
  });
  server.maxConnections = 64;
  await new Promise<void>((resolve, reject) => {
    server.once('error', (error) => {
      reject(
        new GatehouseError('GH1004', `cannot listen on ${options.host}:${options.port}: ${error.message}`, {
          hint: 'choose another gateway.http.port, or 0 for any free one',
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

function isLocalHost(header: string | undefined): boolean {
  const name = (header ?? '').replace(/:\d+$/, '').replace(/^\[|\]$/g, '');
  return LOOPBACK.has(name);
}
