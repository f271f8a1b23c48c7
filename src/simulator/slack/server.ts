/** A small workspace with Web API, files, Socket Mode, scripted faults. In process: `startSlackServer()`. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createLocalServer, isTaken } from '../local-server.ts';
import { ApiError } from './api-error.ts';
import { type SlackSocketOptions, SlackSocketServer } from './socket-server.ts';
import { type SlackSend, SlackWebApi } from './web-api.ts';
import {
  BOT_USER,
  DIRECT,
  eventPayload,
  type Json,
  PERSON,
  type PersonMessage,
  SlackWorkspace,
  type StoredFile,
  type StoredMessage,
  TEAM_ID,
} from './workspace.ts';

/** What happens to the next `times` calls (default 1) of `method`. */
export interface SlackFault {
  readonly method: string;
  readonly times?: number;
  /**
   * `error` answers `ok: false`; `limit` 429; `status` another HTTP status; `drop` accepts and breaks the
   * connection; `hang` accepts and never answers; `cut` breaks it before accepting; `delay` waits, then
   * goes on as usual.
   */
  readonly kind: 'error' | 'limit' | 'status' | 'drop' | 'hang' | 'cut' | 'delay';
  readonly error?: string;
  readonly needed?: string;
  readonly status?: number;
  readonly retryAfter?: number;
  readonly delayMs?: number;
}

export type SlackTransport = Pick<SlackSocketServer, 'deliver'>;

export class SlackServer implements AsyncDisposable {
  readonly botToken = 'xoxb-111111111111-222222222222-testtoken';
  readonly appToken = 'xapp-1-A0TEST-333-testtoken';
  readonly workspace = new SlackWorkspace();
  readonly sockets: SlackSocketServer;
  readonly sends: SlackSend[] = [];
  /** Every call, refused ones too. */
  readonly calls: { readonly method: string; readonly args: Json }[] = [];
  /** `Authorization` headers that came with requests for files. */
  readonly fileAuthorizations: (string | undefined)[] = [];
  /** How events travel; the sockets unless something else is put here. */
  transport: SlackTransport;
  /** User id -> name, for `users.info`. */
  readonly names = new Map([[PERSON, 'Ada']]);
  /** The organisation that the workspace belongs to. */
  organisation: string | undefined;
  /** Of people of organisations: user id -> their workspaces. */
  readonly members = new Map<string, readonly string[]>();
  /** User id -> the organisation, where it is another than that of the workspace. */
  readonly foreign = new Map<string, string>();
  /** False: every token is refused from now on. */
  loggedIn = true;
  /** True: what the bot posts is pushed to it too, as the real platform does. */
  echoes = false;
  readonly #webApi = new SlackWebApi(this);
  #faults: (SlackFault & { left: number })[] = [];
  readonly #server = createLocalServer((request, response) => void this.#serve(request, response));
  #closed: Promise<void> | undefined;

  constructor(options: SlackSocketOptions = {}) {
    this.sockets = new SlackSocketServer(options);
    this.transport = this.sockets;
    this.#server.on('upgrade', (request, socket, head) => {
      if (isTaken(request, socket)) this.sockets.upgrade(request, socket, head);
    });
  }

  async listen(): Promise<this> {
    await new Promise<void>((resolve, reject) => {
      this.#server.once('error', reject);
      this.#server.listen(0, '127.0.0.1', resolve);
    });
    return this;
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  /** What goes into `api_root`. */
  get apiRoot(): string {
    return `${this.origin}/api`;
  }

  /** Open connections, idle ones too. */
  connections(): Promise<number> {
    return new Promise((resolve, reject) => {
      this.#server.getConnections((error, count) => (error ? reject(error) : resolve(count)));
    });
  }

  /** A person writes: stored, and delivered as the events the platform would make of it. */
  say(message: PersonMessage = {}): StoredMessage {
    const stored = this.store(message);
    const { channel, text } = stored;
    const direct = channel.startsWith('D');
    const event = { ...stored, channel_type: direct ? 'im' : 'channel', event_ts: stored.ts };
    this.event(event);
    // Two events for one message, in either order; each with an id of its own.
    if (!direct && text.includes(`<@${BOT_USER}>`)) this.event({ ...event, type: 'app_mention', channel_type: undefined });
    return stored;
  }

  /** A person writes while nothing is delivered. */
  store({ files = [], ...message }: PersonMessage = {}): StoredMessage {
    for (const file of files) this.workspace.files.set(file.id, file);
    return this.workspace.add({
      user: PERSON,
      team: TEAM_ID,
      client_msg_id: this.workspace.nextId('c'),
      channel: DIRECT,
      ...message,
      text: message.text ?? 'hello',
      ...(files.length > 0 && {
        subtype: 'file_share',
        files: files.map((file) => this.workspace.fileObject(file, this.origin)),
      }),
    });
  }

  event(event: Json): Json {
    const payload = eventPayload(event, this.workspace.nextId('Ev'));
    this.transport.deliver('events_api', payload);
    return payload;
  }

  file(file: Partial<StoredFile> & { readonly name: string; readonly bytes: Buffer }): StoredFile {
    return { id: this.workspace.nextId('F'), mime: 'application/octet-stream', ...file };
  }

  fault(fault: SlackFault): void {
    this.#faults.push({ ...fault, left: fault.times ?? 1 });
  }

  clearFaults(): void {
    this.#faults = [];
  }

  /** Breaks every connection of clients, sockets and calls, without a word. */
  breakConnections(): void {
    this.sockets.cut();
    this.#server.closeAllConnections();
  }

  close(): Promise<void> {
    this.#closed ??= new Promise((resolve) => {
      this.sockets.close();
      this.#server.close(() => resolve());
      this.#server.closeAllConnections();
    });
    return this.#closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const { pathname } = new URL(request.url ?? '/', 'http://localhost');
    const parts: Buffer[] = [];
    try {
      for await (const part of request as AsyncIterable<Buffer>) parts.push(part);
    } catch {
      return;
    }
    const body = Buffer.concat(parts);
    const [, kind, name = ''] = pathname.split('/');
    if (kind === 'api') return await this.#call(request, response, name, body);
    if (kind === 'upload') return this.#upload(response, name, body);
    if (kind === 'files') return this.#download(request, response, name);
    response.writeHead(404).end();
  }

  #download(request: IncomingMessage, response: ServerResponse, id: string): void {
    this.fileAuthorizations.push(request.headers.authorization);
    const file = this.workspace.files.get(id);
    if (!file) return void response.writeHead(404).end();
    if (request.headers.authorization !== `Bearer ${this.botToken}`) {
      return void response.writeHead(200, { 'content-type': 'text/html' }).end('<html>Sign in</html>');
    }
    if (file.redirect !== undefined) return void response.writeHead(302, { location: file.redirect }).end();
    response.writeHead(200, { 'content-type': file.servedAs ?? file.mime }).end(file.bytes);
  }

  #upload(response: ServerResponse, id: string, bytes: Buffer): void {
    const upload = this.#webApi.uploads.get(id);
    const fault = this.#takeFault('upload');
    if (fault?.kind === 'cut') return void response.destroy();
    if (!upload || upload.length !== bytes.length || fault) return void response.writeHead(fault?.status ?? 400).end();
    upload.bytes = bytes;
    response.writeHead(200).end(`OK - ${bytes.length}`);
  }

  #takeFault(method: string): SlackFault | undefined {
    const fault = this.#faults.find((entry) => entry.method === method && entry.left > 0);
    if (fault) fault.left -= 1;
    return fault;
  }

  async #call(request: IncomingMessage, response: ServerResponse, method: string, body: Buffer): Promise<void> {
    const args = Object.fromEntries(new URLSearchParams(body.toString()));
    this.calls.push({ method, args });
    const fault = this.#takeFault(method);
    if (fault?.kind === 'cut') return void response.destroy();
    if (fault?.kind === 'delay') await new Promise((resolve) => setTimeout(resolve, fault.delayMs ?? 0));
    if (fault?.kind === 'status') return void response.writeHead(fault.status ?? 500).end('upstream trouble');
    if (fault?.kind === 'limit') {
      const after = fault.retryAfter === undefined ? {} : { 'retry-after': String(fault.retryAfter) };
      return answer(response, 429, { ok: false, error: 'ratelimited' }, after);
    }
    try {
      if (fault?.kind === 'error') throw new ApiError(fault.error ?? 'fatal_error', fault.needed);
      const token = method === 'apps.connections.open' ? this.appToken : this.botToken;
      if (request.headers.authorization !== `Bearer ${token}` || !this.loggedIn) throw new ApiError('invalid_auth');
      const result = this.#webApi.answer(method, args);
      if (fault?.kind === 'drop') return void response.destroy();
      if (fault?.kind === 'hang') return;
      answer(response, 200, { ok: true, ...result });
    } catch (error) {
      if (!(error instanceof ApiError)) throw error;
      answer(response, 200, { ok: false, error: error.message, ...(error.needed !== undefined && { needed: error.needed }) });
    }
  }
}

function answer(response: ServerResponse, status: number, body: Json, headers: Record<string, string> = {}): void {
  response.writeHead(status, { 'content-type': 'application/json; charset=utf-8', ...headers }).end(JSON.stringify(body));
}

/** Listens on a free port of 127.0.0.1. */
export function startSlackServer(options?: SlackSocketOptions): Promise<SlackServer> {
  return new SlackServer(options).listen();
}
