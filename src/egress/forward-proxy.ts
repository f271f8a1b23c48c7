/**
 * An HTTP proxy for a program that has no network of its own: what `egress.ts` checks for a tool is checked
 * here for every connection of it. TLS is not opened: of such a connection, host and address are judged.
 */
import { createServer, request as httpRequest, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { type Duplex, pipeline, Transform } from 'node:stream';
import type { Clock } from '../core/ports.ts';
import { linkedSignal } from '../lib/linked-signal.ts';
import { type Connector, connectTo, RefusedAddress } from './connect.ts';
import { type Checked, checkDestination, type Destination, type EgressRules } from './destination.ts';
import { Patience } from './patience.ts';

const CONNECT_MS = 10_000;
/** From a request to the head of its answer. */
const HEAD_MS = 60_000;
const MAX_HEADER_BYTES = 64 * 1024;
/** For a person to be told; a page may try thousands. */
const MAX_REFUSALS = 5;
/** Of one connection alone (RFC 9110, 7.6.1); what the proxy is told is for the proxy alone. */
const HOP_BY_HOP = new Set([
  ...['connection', 'keep-alive', 'proxy-authenticate', 'proxy-authorization', 'proxy-connection', 'te', 'trailer', 'upgrade'],
  'transfer-encoding',
]);
/** Host and port alone: no path, no user, no blanks. */
const AUTHORITY = /^(?:\[[0-9a-f:.%]+\]|[^\s/?#@\\:[\]]+):\d{1,5}$/i;

export interface ForwardProxyOptions extends Connector {
  readonly clock: Clock;
  /** The operator's word, asked for each connection. */
  readonly rules: () => EgressRules;
  /** Of all connections together, in both directions, between two calls of `renew`; then all are closed. */
  readonly maxBytes: number;
}

export class ForwardProxy implements Disposable {
  readonly #options: ForwardProxyOptions;
  readonly #server: Server;
  readonly #over = new AbortController();
  /** With the address that each was opened for; undefined = one of the program. */
  readonly #open = new Map<Duplex, string | undefined>();
  #bytes = 0;
  #refusals: string[] = [];

  constructor(options: ForwardProxyOptions) {
    this.#options = options;
    this.#server = createServer({ maxHeaderSize: MAX_HEADER_BYTES, insecureHTTPParser: false, requestTimeout: 0 });
    this.#server.on('request', (request, response) => void this.#forward(request, response));
    this.#server.on('connect', (request, socket, head) => void this.#tunnel(request, socket, head));
    this.#server.on('clientError', (_error, socket) => socket.destroy());
  }

  /** A connection of the program. */
  accept(stream: Duplex): void {
    this.#keep(stream);
    this.#server.emit('connection', stream);
  }

  /**
   * Begins to count anew, and closes connections that the operator has come to forbid. Says what was refused
   * since the last time, as sentences.
   */
  renew(): readonly string[] {
    const refused = this.#refusals;
    const sum = this.#bytes > this.#options.maxBytes ? [`the page moved more than ${this.#options.maxBytes} bytes`] : [];
    this.#refusals = [];
    this.#bytes = 0;
    const rules = this.#options.rules();
    for (const [stream, url] of this.#open)
      if (url !== undefined && checkDestination(url, rules).kind === 'refused') stream.destroy();
    return [...refused, ...sum];
  }

  /** Closes every connection. */
  [Symbol.dispose](): void {
    this.#over.abort(new DOMException('the proxy is closed', 'AbortError'));
    this.#closeAll();
  }

  #closeAll(): void {
    for (const stream of this.#open.keys()) stream.destroy();
    this.#open.clear();
  }

  #keep<T extends Duplex>(stream: T, url?: string): T {
    this.#open.set(stream, url);
    stream.once('close', () => this.#open.delete(stream));
    stream.on('error', () => undefined);
    return stream;
  }

  async #tunnel(request: IncomingMessage, socket: Duplex, head: Buffer): Promise<void> {
    const authority = request.url ?? '';
    const checked = AUTHORITY.test(authority)
      ? checkDestination(`https://${authority}/`, this.#options.rules())
      : ({ kind: 'refused', reason: 'this is no host and port' } as const);
    const upstream = await this.#connect(authority, checked, false, socket);
    if ('status' in upstream) {
      socket.end(`HTTP/1.1 ${upstream.status}\r\ncontent-length: 0\r\nconnection: close\r\n\r\n`);
      return;
    }
    socket.write('HTTP/1.1 200 Connection established\r\n\r\n');
    if (head.length > 0) upstream.write(head);
    pipeline(socket, this.#counter(), upstream, () => undefined);
    pipeline(upstream, this.#counter(), socket, () => undefined);
  }

  async #forward(request: IncomingMessage, response: ServerResponse): Promise<void> {
    // A stream of the program costs less than one that is kept: Node closes idle ones by a timer of sockets.
    response.shouldKeepAlive = false;
    const url = request.url ?? '';
    const checked: Checked = url.startsWith('http://')
      ? checkDestination(url, this.#options.rules())
      : { kind: 'refused', reason: 'a proxy is asked for a whole address' };
    const upstream = await this.#connect(url, checked, true, response);
    if ('status' in upstream || checked.kind === 'refused') {
      const reason = 'reason' in upstream ? upstream.reason : '';
      response.writeHead('status' in upstream ? Number(upstream.status.slice(0, 3)) : 403, { 'content-type': 'text/plain' });
      response.end(`${reason}\n`);
      return;
    }
    using patience = new Patience(this.#options.clock, (error) => upstream.destroy(error));
    patience.stage(HEAD_MS, 'the server did not answer in time');
    await this.#exchange(request, response, { upstream, to: checked.to });
  }

  /** Settles once the head of the answer is there, or nothing will come. */
  #exchange(
    request: IncomingMessage,
    response: ServerResponse,
    { upstream, to }: { readonly upstream: Socket; readonly to: Destination },
  ): Promise<void> {
    const { pathname, search, host } = to.url;
    return new Promise((resolve) => {
      const asked = httpRequest({
        ...{ method: request.method, path: pathname + search, maxHeaderSize: MAX_HEADER_BYTES, insecureHTTPParser: false },
        headers: { ...endToEnd(request.headers), host, connection: 'close' },
        createConnection: () => upstream,
      });
      const failed = (): void => {
        resolve();
        if (response.headersSent) response.destroy();
        else response.writeHead(502, { 'content-type': 'text/plain' }).end('the server broke the connection\n');
      };
      asked.once('error', failed);
      asked.once('upgrade', (_answer, socket) => {
        socket.destroy();
        failed();
      });
      asked.once('response', (answer) => {
        const { statusCode = 0, rawHeaders } = answer;
        // Node reads a status below 100 and throws when it is to write one: here that would end the daemon.
        if (statusCode < 100) return failed();
        resolve();
        response.writeHead(statusCode, rawEndToEnd(rawHeaders));
        pipeline(answer, this.#counter(), response, () => upstream.destroy());
      });
      response.once('close', () => upstream.destroy());
      pipeline(request, this.#counter(), asked, (error) => (error ? failed() : undefined));
    });
  }

  async #connect(
    what: string,
    checked: Checked,
    isPlain: boolean,
    client: Duplex | ServerResponse,
  ): Promise<Socket | { readonly status: string; readonly reason: string }> {
    if (checked.kind === 'refused') return this.#refuse(what, checked.reason);
    using ended = linkedSignal(this.#over.signal);
    const gone = (): void => ended.abort(new DOMException('the program left', 'AbortError'));
    client.once('close', gone);
    using patience = new Patience(this.#options.clock, ended.abort);
    patience.stage(CONNECT_MS, 'the connection was not set up in time');
    try {
      // TLS is the program's own: it sees the certificate, and nothing between it and the server does.
      const to = isPlain ? checked.to : { ...checked.to, isTls: false };
      return this.#keep(await connectTo(to, this.#options, ended.signal), to.url.href);
    } catch (error) {
      if (error instanceof RefusedAddress) return this.#refuse(what, error.message);
      return { status: '502 Bad Gateway', reason: 'the server could not be reached' };
    } finally {
      client.off('close', gone);
    }
  }

  #refuse(what: string, reason: string): { readonly status: string; readonly reason: string } {
    const said = `${JSON.stringify(what.slice(0, 200))} was refused: ${reason}`;
    if (this.#refusals.length < MAX_REFUSALS && !this.#refusals.includes(said)) this.#refusals.push(said);
    return { status: '403 Forbidden', reason: said };
  }

  #counter(): Transform {
    return new Transform({
      transform: (chunk: Buffer, _encoding, done) => {
        this.#bytes += chunk.length;
        if (this.#bytes <= this.#options.maxBytes) return done(null, chunk);
        done(new Error('too many bytes'));
        this.#closeAll();
      },
    });
  }
}

/** What is meant for the proxy alone is left out (RFC 9110 section 7.6.1). */
export function endToEnd(headers: IncomingMessage['headers']): Record<string, string | readonly string[]> {
  const named = new Set(
    (headers.connection ?? '')
      .toLowerCase()
      .split(',')
      .map((name) => name.trim()),
  );
  return Object.fromEntries(
    Object.entries(headers).flatMap(([name, value]) =>
      value === undefined || HOP_BY_HOP.has(name) || named.has(name) ? [] : [[name, value]],
    ),
  );
}

/** As they came, names and order. */
function rawEndToEnd(raw: readonly string[]): string[] {
  const kept: string[] = [];
  for (let at = 0; at + 1 < raw.length; at += 2) {
    const [name = '', value = ''] = [raw[at], raw[at + 1]];
    if (!HOP_BY_HOP.has(name.toLowerCase())) kept.push(name, value);
  }
  return kept;
}
