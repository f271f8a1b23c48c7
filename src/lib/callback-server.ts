import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { errorText, GatehouseError } from '../core/errors.ts';
import { equalSecrets } from './equal-secrets.ts';
import { settledOrAborted } from './time-limit.ts';

export interface CallbackServerOptions {
  /** 0 = any free one. */
  readonly port: number;
  readonly path: string;
  /** Only a request that carries it is the answer to our question (RFC 6749 10.12). */
  readonly state: string;
}

/** The issuer's answer as the browser brought it. */
export interface Callback {
  /** Holds the authorization code: not for logs. */
  readonly url: URL;
  /** Shows the person how it ended. */
  answer(ok: boolean): void;
}

export interface CallbackServer extends AsyncDisposable {
  readonly redirectUri: string;
  /** Resolves with the first request that has the right state; rejects with `signal.reason`. Call it once. */
  callback(signal: AbortSignal): Promise<Callback>;
}

/** Nothing may load or run on the page, and its address (it holds the code) is not passed on or kept. */
const HEADERS = {
  'content-type': 'text/html; charset=utf-8',
  'content-security-policy': "default-src 'none'",
  'cache-control': 'no-store',
  'referrer-policy': 'no-referrer',
  connection: 'close',
};

/**
 * Listens on 127.0.0.1 (RFC 8252 7.3; the address and not the name, 8.3) for the browser to come back from
 * the issuer. Rejects with GH2201 when the port is taken.
 */
export async function openCallbackServer({ port, path, state }: CallbackServerOptions): Promise<CallbackServer> {
  const arrived = Promise.withResolvers<Callback>();
  let taken = false;
  const server = createServer({ requestTimeout: 10_000 }, (request, response) => {
    const url = requestedUrl(request);
    if (!url || url.pathname !== path) return respond(response, url ? 404 : 403, 'There is nothing here.');
    if (request.method !== 'GET') return respond(response, 405, 'There is nothing here.');
    if (!equalSecrets(url.searchParams.get('state') ?? '', state)) {
      return respond(response, 400, 'This is not the answer to the login that was started.');
    }
    if (taken) return respond(response, 410, 'This login was answered before.');
    taken = true;
    arrived.resolve({ url, answer: (ok) => respond(response, ok ? 200 : 400, ok ? DONE : FAILED) });
  });
  await listen(server, port);
  return {
    redirectUri: `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`,
    callback: (signal) => settledOrAborted(arrived.promise, signal),
    [Symbol.asyncDispose]: () => close(server),
  };
}

const DONE = 'You are logged in. You can close this page and go back to the terminal.';
const FAILED = 'The login failed. The terminal says why.';

async function listen(server: Server, port: number): Promise<void> {
  try {
    server.listen(port, '127.0.0.1');
    await once(server, 'listening');
  } catch (error) {
    throw new GatehouseError('GH2201', `port ${port} for the answer of the browser cannot be used: ${errorText(error)}`, {
      hint: 'end what uses it, choose another port, or log in with a code',
    });
  }
}

/** Undefined unless the request names this machine: a page that uses DNS rebinding names its own host. */
function requestedUrl(request: IncomingMessage): URL | undefined {
  const host = request.headers.host ?? '';
  if (!/^(127\.0\.0\.1|localhost|\[::1\])(:\d{1,5})?$/.test(host)) return undefined;
  const url = URL.parse(request.url ?? '', `http://${host}`);
  // An absolute request target would bring its own host.
  return url?.host === new URL(`http://${host}`).host ? url : undefined;
}

function respond(response: ServerResponse, status: number, text: string): void {
  response.writeHead(status, HEADERS).end(`<!doctype html><title>Gatehouse</title><p>${text}</p>\n`);
}

async function close(server: Server): Promise<void> {
  if (!server.listening) return;
  const closed = once(server, 'close');
  server.close();
  // The last answer may still be on its way; `connection: close` makes the browser leave after it.
  const lingering = setTimeout(() => server.closeAllConnections(), 250);
  await closed;
  clearTimeout(lingering);
}
