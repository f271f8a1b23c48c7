/**
 * Discord for tests: the independent emulator keeps chats and messages and checks what is sent. What it lacks
 * stands in front of it: rate limits and other faults, uniqueness of nonces, interactions, resumable
 * sessions, files and edits of people.
 */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Clock } from '../../core/ports.ts';
import { systemClock } from '../../lib/clock.ts';
import { createLocalServer } from '../local-server.ts';
import { SimulatedForums } from './forums.ts';
import { DiscordGateway } from './gateway.ts';
import { SimulatedInteractions } from './interactions.ts';
import { type DiscordPeer, startDiscordPeer } from './peer.ts';
import type { Overlay, ProxyCall, ProxyFault } from './records.ts';
import { type RuleRefusal, refusalOf, replyRefusal } from './rules.ts';
import { withinEmulator } from './standing.ts';
import { threadRefusal, threadStart } from './threads.ts';
import { type JsonObject, parseBody, readAll, reply } from './wire.ts';

/** Real time with back-off shortened and deadlines kept: a busy machine must not turn an answer into none. */
export function backoffClock(factor = 20): Clock {
  return { ...systemClock, sleep: (ms, signal) => systemClock.sleep(ms < 20_000 ? ms / factor : ms, signal) };
}

export interface DiscordProxy extends AsyncDisposable {
  readonly peer: DiscordPeer;
  readonly gateway: DiscordGateway;
  readonly interactions: SimulatedInteractions;
  readonly forums: SimulatedForums;
  /** Channels in which the bot may start no threads. */
  readonly withoutThreads: Set<string>;
  /** Channels in which it may not read the history. */
  readonly withoutHistory: Set<string>;
  /** What `api_root` is set to. */
  readonly url: string;
  /** What `cdn_origins` holds. */
  readonly origin: string;
  readonly calls: readonly ProxyCall[];
  /** Messages of the bot that people see, oldest first. */
  sends(): readonly ProxyCall[];
  /** A person writes; resolves to the message's id. */
  write(message: JsonObject, overlay?: Overlay): Promise<string>;
  /** Changes a message as people see it, also in the history; tells the gateway when `event` is given. */
  change(id: string, fields: JsonObject, event?: string): void;
  /** Tells the gateway about a message of a person: again, or for the first time while `pushes` is off. */
  push(id: string): void;
  /** False: what people write is in the history at once, and the gateway is told by `push` only. */
  pushes: boolean;
  fault(fault: ProxyFault): void;
  clearFaults(): void;
  /** Breaks every connection of clients, REST and gateway, without a close frame. Sessions stay. */
  breakConnections(): void;
  /** Open connections of clients, REST and gateway. */
  connections(): number;
  close(): Promise<void>;
}

export async function startDiscordProxy(): Promise<DiscordProxy> {
  const peer = await startDiscordPeer();
  const proxy = new Front(peer);
  await proxy.listen();
  return proxy;
}

class Front implements DiscordProxy {
  readonly peer: DiscordPeer;
  readonly gateway: DiscordGateway;
  readonly interactions = new SimulatedInteractions();
  readonly forums = new SimulatedForums(this);
  readonly withoutThreads = new Set<string>();
  readonly withoutHistory = new Set<string>();
  readonly calls: ProxyCall[] = [];
  pushes = true;
  #faults: { fault: ProxyFault; left: number }[] = [];
  readonly #server = createLocalServer((request, response) => void this.#serve(request, response));
  #open = 0;
  readonly #files = new Map<string, { readonly bytes: Buffer; readonly mime: string }>();
  readonly #overlays = new Map<string, JsonObject>();
  readonly #messages = new Map<string, JsonObject>();
  /** By author and nonce; the platform remembers them for a few minutes. */
  readonly #nonces = new Map<string, JsonObject>();
  #pending: JsonObject | undefined;
  #ids = 0n;
  #closed = false;

  constructor(peer: DiscordPeer) {
    this.peer = peer;
    this.#server.on('connection', (socket) => {
      this.#open += 1;
      socket.once('close', () => {
        this.#open -= 1;
      });
    });
    this.gateway = new DiscordGateway({
      server: this.#server,
      upstreamUrl: `${peer.origin.replace('http', 'ws')}/gateway`,
      url: () => this.origin.replace('http', 'ws'),
      adapt: (type, data) => this.#adapt(type, data),
      interaction: (event) => this.interactions.learn(event),
    });
  }

  listen(): Promise<void> {
    return new Promise((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
  }

  get origin(): string {
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  get url(): string {
    return `${this.origin}/api`;
  }

  sends(): readonly ProxyCall[] {
    return this.calls.filter(
      ({ call, accepted }) => accepted && /^(?:POST \/channels\/\d+\/messages$|PATCH \/webhooks\/)/.test(call),
    );
  }

  async write(message: JsonObject, overlay: Overlay = {}): Promise<string> {
    const attachments = (overlay.files ?? []).map((file) => this.#store(file));
    const fields = { ...(attachments.length > 0 && { attachments }), ...overlay.fields };
    this.#pending = Object.keys(fields).length > 0 ? fields : undefined;
    const written = await this.peer.inject(message);
    const id = String(written['id']);
    // No client was connected to be told: the history has it all the same.
    if (this.#pending) this.#overlays.set(id, this.#pending);
    this.#pending = undefined;
    this.#messages.set(id, written);
    return id;
  }

  change(id: string, fields: JsonObject, event?: string): void {
    this.#overlays.set(id, { ...this.#overlays.get(id), ...fields });
    if (event !== undefined) this.push(id, event);
  }

  push(id: string, event = 'MESSAGE_CREATE'): void {
    this.gateway.dispatch(event, this.forums.shown({ ...this.#messages.get(id), ...this.#overlays.get(id) }));
  }

  fault(fault: ProxyFault): void {
    this.#faults.push({ fault, left: fault.times ?? 1 });
  }

  clearFaults(): void {
    this.#faults = [];
  }

  breakConnections(): void {
    this.gateway.breakConnections();
    this.#server.closeAllConnections();
  }

  connections(): number {
    return this.#open;
  }

  async close(): Promise<void> {
    if (this.#closed) return;
    this.#closed = true;
    this.gateway.close();
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
    await this.peer[Symbol.asyncDispose]();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }

  #adapt(type: string, data: JsonObject): JsonObject | undefined {
    // The emulator names no owner; every thread that it makes is the bot's.
    if (type === 'THREAD_CREATE') return { owner_id: this.peer.botId, ...data };
    const isOwn = (data['author'] as JsonObject | undefined)?.['id'] === this.peer.botId;
    const told = this.forums.event(type, data, isOwn);
    if (!told || type !== 'MESSAGE_CREATE') return told;
    if (!this.pushes && !isOwn) return undefined;
    const id = String(data['id']);
    if (this.#pending) this.#overlays.set(id, this.#pending);
    this.#pending = undefined;
    return this.#overlay(told) as JsonObject;
  }

  #store(file: NonNullable<Overlay['files']>[number]): JsonObject {
    const id = this.#nextId();
    this.#files.set(id, { bytes: file.bytes, mime: file.mime ?? 'application/octet-stream' });
    const size = file.statedSize ?? file.bytes.length;
    return { id, filename: file.name, size, content_type: file.mime, url: `${this.origin}/cdn/${id}?ex=1&hm=2` };
  }

  #nextId(): string {
    this.#ids += 1n;
    return String((BigInt(Date.now() - 1_420_070_400_000) << 22n) + this.#ids);
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    try {
      const raw = await readAll(request);
      const path = request.url ?? '/';
      const file = /^\/cdn\/(\d+)/.exec(path)?.[1];
      if (file !== undefined) return this.#serveFile(file, response);
      const route = path.replace(/^\/api\/v10/, '');
      const call = `${request.method} ${route.replace(/\?.*/, '')}`;
      const { body, files } = await parseBody(raw, request.headers['content-type']);
      const fault = this.#faults.find((entry) => entry.left > 0 && entry.fault.call.test(call));
      if (fault) fault.left -= 1;
      if (fault?.fault.kind === 'answer') {
        this.calls.push({ call, body, files, accepted: false, at: Date.now() });
        return reply(response, fault.fault.status ?? 500, fault.fault.body ?? {}, fault.fault.headers);
      }
      const isMessage = /\/messages(?:\/[^/]+)?$/.test(route) && request.method !== 'GET';
      const refused = isMessage ? refusalOf(body, files, raw.length) : undefined;
      const answer = replyRefusal(route, body, this.withoutHistory) ?? refused ?? (await this.#answer(request, raw, route, body));
      const shown = typeof answer.body === 'object' && answer.body !== null ? { answer: answer.body as JsonObject } : {};
      this.calls.push({ call, body, files, accepted: answer.status < 400, at: Date.now(), ...shown });
      if (fault?.fault.kind === 'delay') await new Promise((resolve) => setTimeout(resolve, fault.fault.delayMs));
      if (fault?.fault.kind === 'hold') await fault.fault.until;
      if (fault?.fault.kind === 'drop') return void response.destroy();
      if (fault?.fault.kind === 'hang') return;
      if (fault?.fault.kind === 'cut') {
        response.writeHead(200, { 'content-type': 'application/json', 'content-length': '1000' });
        response.write('{"id":');
        setTimeout(() => response.destroy(), 20);
        return;
      }
      reply(response, answer.status, answer.body);
    } catch (error) {
      reply(response, 500, { message: String(error) });
    }
  }

  async #answer(
    request: IncomingMessage,
    raw: Buffer,
    route: string,
    body: JsonObject,
  ): Promise<{ readonly status: number; readonly body: unknown }> {
    const { method = 'GET' } = request;
    const ofInteraction = this.interactions.answer(method, route, body, () => this.#nextId());
    const own = ofInteraction ?? this.forums.answer(method, route) ?? (await this.#threadRefusal(method, route, body));
    if (own) return own;
    const user = /^\/users\/(\d+)$/.exec(route)?.[1];
    if (user !== undefined) return this.#person(user);
    const nonce = body['enforce_nonce'] === true ? `${request.headers.authorization} ${String(body['nonce'])}` : undefined;
    const known = nonce === undefined ? undefined : this.#nonces.get(nonce);
    if (known) return { status: 200, body: known };
    const upstream = await fetch(`${this.peer.url}/v10${this.forums.upstream(route)}`, {
      method: request.method ?? 'GET',
      headers: {
        authorization: request.headers.authorization ?? '',
        ...(request.headers['content-type'] && { 'content-type': request.headers['content-type'] }),
        connection: 'close',
      },
      ...(raw.length > 0 && { body: withinEmulator(raw, body) }),
    });
    const text = await upstream.text();
    const told = text === '' ? undefined : this.forums.shown(JSON.parse(text) as JsonObject);
    if (told && upstream.ok && told['id'] !== undefined && typeof body['content'] === 'string')
      this.#overlays.set(String(told['id']), { ...this.#overlays.get(String(told['id'])), content: body['content'] });
    const answer = this.#overlay(told);
    if (nonce !== undefined && upstream.ok) this.#nonces.set(nonce, answer as JsonObject);
    if (route === '/gateway/bot' && upstream.ok) (answer as Record<string, unknown>)['url'] = this.origin.replace('http', 'ws');
    return { status: upstream.status, body: answer };
  }

  /** The emulator makes a thread of any message, under any name. */
  async #threadRefusal(method: string, route: string, body: JsonObject): Promise<RuleRefusal | undefined> {
    const start = threadStart(method, route);
    if (!start) return undefined;
    const headers = { authorization: `Bot ${this.peer.token}`, connection: 'close' };
    const look = (id: string): Promise<Response> => fetch(`${this.peer.url}/v10/channels/${id}`, { headers });
    const channel = this.#overlay(await (await look(start.channel)).json()) as JsonObject;
    const isAllowed = !this.withoutThreads.has(start.channel);
    return threadRefusal(body, { isAllowed, type: channel['type'], exists: (await look(start.message)).ok });
  }

  /** The people who wrote before; the emulator keeps no list of people. */
  #person(id: string): { readonly status: number; readonly body: unknown } {
    const authors = [...this.#messages.values()].map((message) => message['author'] as JsonObject);
    const person = authors.find((author) => author['id'] === id);
    return person ? { status: 200, body: person } : { status: 404, body: { message: 'Unknown User', code: 10_013 } };
  }

  #overlay(answer: unknown): unknown {
    if (Array.isArray(answer)) return answer.map((item) => this.#overlay(item));
    if (typeof answer !== 'object' || answer === null) return answer;
    const message = { ...(answer as JsonObject), ...this.#overlays.get(String((answer as JsonObject)['id'])) };
    const replied = message['referenced_message'];
    return replied === undefined ? message : { ...message, referenced_message: this.#overlay(replied) };
  }

  #serveFile(id: string, response: ServerResponse): void {
    const file = this.#files.get(id);
    if (file) response.writeHead(200, { 'content-type': file.mime }).end(file.bytes);
    else reply(response, 404, 'not found');
  }
}
