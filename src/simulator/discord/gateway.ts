/** The gateway before the emulator: sessions outlive connections, missed events are replayed, ours added. */
import { randomUUID } from 'node:crypto';
import type { Server } from 'node:http';
import { WebSocket, WebSocketServer } from 'ws';
import { isTaken } from '../local-server.ts';
import type { JsonObject } from './wire.ts';

interface Session {
  readonly id: string;
  readonly upstream: WebSocket;
  readonly events: { readonly s: number; readonly t: string; readonly d: unknown }[];
  client: WebSocket | undefined;
  seq: number;
}

export interface GatewayOptions {
  readonly server: Server;
  readonly upstreamUrl: string;
  /** The address clients come back to. */
  readonly url: () => string;
  /** An event of the emulator on its way to the client; undefined: clients are not told. */
  readonly adapt: (type: string, data: JsonObject) => JsonObject | undefined;
  /** A person gave a command, or pressed something. */
  readonly interaction: (event: JsonObject) => void;
}

/** Message Content, the intent that an operator has to enable. */
const MESSAGE_CONTENT = 1 << 15;

export class DiscordGateway {
  /** As set at the developer portal. */
  contentAllowed = true;
  /** Connections that got as far as IDENTIFY or RESUME, with the intents asked for. */
  readonly logins: { readonly kind: 'identify' | 'resume'; readonly intents?: number }[] = [];
  /** Close codes that clients sent. */
  readonly closes: number[] = [];
  /** The next connections are closed with a code right after READY or RESUMED. */
  flaps = 0;
  /** False: a session is over when its connection is, as when a client comes back too late. */
  keepSessions = true;
  /** Called after READY with the new session's id, and after RESUMED with the one that goes on. */
  onReady: ((sessionId: string) => void) | undefined;
  /** Sessions that are over, and since when (epoch ms). */
  readonly ended = new Map<string, number>();
  readonly #options: GatewayOptions;
  readonly #sockets = new WebSocketServer({ noServer: true });
  readonly #sessions = new Map<string, Session>();

  constructor(options: GatewayOptions) {
    this.#options = options;
    options.server.on('upgrade', (request, socket, head) => {
      if (isTaken(request, socket)) this.#sockets.handleUpgrade(request, socket, head, (client) => this.#accept(client));
    });
  }

  get connections(): number {
    return this.#sockets.clients.size;
  }

  /** To every session, whether its client is there or not. */
  dispatch(type: string, data: unknown): void {
    if (type === 'INTERACTION_CREATE') this.#options.interaction(data as JsonObject);
    for (const session of this.#sessions.values()) this.#send(session, type, data);
  }

  /** Every event comes again to the clients that are there, under the number it had. */
  repeatLast(count: number): void {
    for (const { client, events } of this.#sessions.values()) {
      for (const event of events.slice(-count)) client?.send(JSON.stringify({ op: 0, ...event }));
    }
  }

  /** Closes the connections; the sessions stay. */
  kick(code: number): void {
    for (const client of this.#sockets.clients) client.close(code);
  }

  /** As when the network goes: no close frame. The sessions stay. */
  breakConnections(): void {
    for (const client of this.#sockets.clients) client.terminate();
  }

  /** The platform asks for a reconnect. */
  askReconnect(): void {
    for (const client of this.#sockets.clients) client.send(JSON.stringify({ op: 7, d: null }));
  }

  /** Sessions run out after a while: none can be resumed. */
  forgetSessions(): void {
    for (const session of this.#sessions.values()) this.#end(session);
  }

  close(): void {
    this.forgetSessions();
    for (const client of this.#sockets.clients) client.terminate();
    this.#sockets.close();
  }

  #accept(client: WebSocket): void {
    let session: Session | undefined;
    client.send(JSON.stringify({ op: 10, d: { heartbeat_interval: 41_250 } }));
    client.on('message', (raw) => {
      const { op, d } = JSON.parse(String(raw)) as { op: number; d: Record<string, unknown> };
      if (op === 1) client.send(JSON.stringify({ op: 11, d: null }));
      else if (op === 2) session = this.#identify(client, d);
      else if (op === 6) session = this.#resume(client, d);
    });
    client.on('close', (code) => {
      this.closes.push(code);
      if (!session || session.client !== client) return;
      session.client = undefined;
      // These two end the session; every other code leaves it to be resumed.
      if (code === 1_000 || code === 1_001 || !this.keepSessions) this.#end(session);
    });
  }

  #end(session: Session): void {
    session.upstream.close();
    this.#sessions.delete(session.id);
    this.ended.set(session.id, Date.now());
  }

  #identify(client: WebSocket, identify: Record<string, unknown>): Session | undefined {
    const intents = Number(identify['intents']);
    this.logins.push({ kind: 'identify', intents });
    if ((intents & MESSAGE_CONTENT) !== 0 && !this.contentAllowed) {
      client.close(4_014, 'Disallowed intent(s).');
      return undefined;
    }
    const upstream = new WebSocket(this.#options.upstreamUrl);
    const session: Session = { id: randomUUID(), upstream, events: [], client, seq: 0 };
    upstream.on('open', () => upstream.send(JSON.stringify({ op: 2, d: identify })));
    upstream.on('message', (raw) => this.#relay(session, JSON.parse(String(raw)) as JsonObject));
    upstream.on('close', (code) => {
      if (code >= 4_000) session.client?.close(code);
    });
    upstream.on('error', () => session.client?.terminate());
    return session;
  }

  #resume(client: WebSocket, resume: Record<string, unknown>): Session | undefined {
    this.logins.push({ kind: 'resume' });
    const session = this.#sessions.get(String(resume['session_id']));
    if (!session) {
      client.send(JSON.stringify({ op: 9, d: false }));
      return undefined;
    }
    // A second connection takes the session over, as with the platform.
    session.client?.terminate();
    session.client = client;
    for (const event of session.events.filter(({ s }) => s > Number(resume['seq']))) {
      client.send(JSON.stringify({ op: 0, ...event }));
    }
    this.#send(session, 'RESUMED', {});
    this.onReady?.(session.id);
    this.#flap(session);
    return session;
  }

  #relay(session: Session, payload: JsonObject): void {
    if (payload['op'] !== 0) return;
    const type = String(payload['t']);
    const data = payload['d'] as JsonObject;
    if (type !== 'READY') {
      const adapted = this.#options.adapt(type, data);
      if (adapted) this.#send(session, type, adapted);
      return;
    }
    this.#sessions.set(session.id, session);
    this.#send(session, type, { ...data, session_id: session.id, resume_gateway_url: this.#options.url() });
    this.onReady?.(session.id);
    this.#flap(session);
  }

  #flap(session: Session): void {
    if (this.flaps === 0) return;
    this.flaps -= 1;
    session.client?.close(4_000, 'flap');
  }

  #send(session: Session, type: string, data: unknown): void {
    session.seq += 1;
    const event = { s: session.seq, t: type, d: data };
    session.events.push(event);
    if (session.client?.readyState === WebSocket.OPEN) session.client.send(JSON.stringify({ op: 0, ...event }));
  }
}
