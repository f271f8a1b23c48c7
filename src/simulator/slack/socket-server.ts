/**
 * The platform's side of Socket Mode: greets, pings, delivers envelopes to the open sockets in turn, waits
 * for their acknowledgements, delivers again what was not acknowledged, and asks its clients to leave.
 */
import { randomUUID } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';

type Json = Readonly<Record<string, unknown>>;

export interface SlackEnvelope {
  readonly type: 'events_api' | 'interactive' | 'slash_commands';
  readonly payload: Json;
  readonly id: string;
  attempts: number;
}

export type DisconnectReason = 'warning' | 'refresh_requested' | 'too_many_websockets' | 'link_disabled';

export interface SlackSocketOptions {
  /** How often the server pings; the real one does every few seconds. */
  readonly pingMs?: number;
  /** How long until unacknowledged events go to the next socket. Absent: only when a socket connects. */
  readonly redeliverMs?: number;
}

/** The real platform gives out up to ten. */
const MAX_SOCKETS = 10;

export class SlackSocketServer {
  /** Every envelope id that was acknowledged, in order, repetitions too. */
  readonly acknowledged: string[] = [];
  /** Every frame that was sent, parsed. */
  readonly sent: Json[] = [];
  /** Frames of the client that are no acknowledgement of an envelope. */
  readonly strange: string[] = [];
  /**
   * What the platform does with events while no socket is open, and with those that the last socket left
   * unacknowledged: keep them for the next one, or (as it does in a long outage) drop them.
   */
  keepMissed = true;
  /** Called once a socket is greeted and has what waited for it. */
  onOpen: (() => void) | undefined;
  /** What the greeting states, when it shall differ from the truth. */
  statedConnections: number | undefined;
  /** Connections are accepted and never greeted. */
  silent = false;
  /** Sockets that were opened in all. */
  opened = 0;
  /** The most that were open at the same time. */
  most = 0;
  readonly #options: SlackSocketOptions;
  readonly #server = new WebSocketServer({ noServer: true });
  readonly #sockets: WebSocket[] = [];
  readonly #tickets = new Set<string>();
  readonly #timers = new Set<NodeJS.Timeout>();
  #waiting: SlackEnvelope[] = [];
  #turn = 0;

  constructor(options: SlackSocketOptions = {}) {
    this.#options = options;
  }

  /** Envelopes that nobody acknowledged yet. */
  get unacknowledged(): number {
    return this.#waiting.length;
  }

  get open(): number {
    return this.#sockets.length;
  }

  /** Whether an envelope, by its id, may still be acknowledged. */
  isWaiting(id: string): boolean {
    return this.#waiting.some((envelope) => envelope.id === id);
  }

  /** The address for `apps.connections.open` to give out: good for one connection. */
  ticket(origin: string): string {
    const ticket = randomUUID();
    this.#tickets.add(ticket);
    return `${origin.replace(/^http/, 'ws')}/link/?ticket=${ticket}&app_id=A0TEST`;
  }

  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    const ticket = new URL(request.url ?? '/', 'http://localhost').searchParams.get('ticket') ?? '';
    if (!this.#tickets.delete(ticket) || this.#sockets.length >= MAX_SOCKETS) {
      socket.end('HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n');
      return;
    }
    this.#server.handleUpgrade(request, socket, head, (client) => this.#welcome(client));
  }

  /** To one open socket. The same id again is a redelivery. */
  deliver(type: SlackEnvelope['type'], payload: Json): string {
    const envelope: SlackEnvelope = { type, payload, id: randomUUID(), attempts: 0 };
    if (this.#sockets.length === 0 && !(this.keepMissed && this.#comesAgain(envelope))) return envelope.id;
    this.#waiting.push(envelope);
    this.#send(envelope);
    return envelope.id;
  }

  /** Everything unacknowledged once more, or one envelope whatever became of it. */
  redeliver(envelope?: Pick<SlackEnvelope, 'type' | 'payload'>): void {
    if (envelope) {
      const again: SlackEnvelope = { ...envelope, id: randomUUID(), attempts: 1 };
      this.#waiting.push(again);
      this.#send(again);
    } else for (const waiting of this.#waiting) if (this.#comesAgain(waiting)) this.#send(waiting);
  }

  /** Forgets what is unacknowledged: the platform gave up. */
  giveUp(): void {
    this.#waiting = [];
  }

  /** Tells every client to leave; `warning` comes some seconds before the end on the real platform. */
  disconnect(reason: DisconnectReason): void {
    for (const socket of [...this.#sockets]) this.#write(socket, { type: 'disconnect', reason, debug_info: { host: 'test' } });
  }

  /** Any text to every open socket, e.g. one that is no JSON. */
  raw(text: string): void {
    for (const socket of this.#sockets) socket.send(text);
  }

  /** Breaks every connection without a word. */
  cut(): void {
    for (const socket of [...this.#sockets]) socket.terminate();
  }

  close(): void {
    for (const timer of this.#timers) clearTimeout(timer);
    this.cut();
    this.#server.close();
  }

  #welcome(client: WebSocket): void {
    this.opened += 1;
    this.#sockets.push(client);
    this.most = Math.max(this.most, this.#sockets.length);
    const ping = setInterval(() => client.ping('ping from test'), this.#options.pingMs ?? 1_000);
    client.on('message', (data) => this.#read(String(data)));
    client.on('error', () => client.terminate());
    client.on('close', () => {
      clearInterval(ping);
      this.#sockets.splice(this.#sockets.indexOf(client), 1);
      if (this.#sockets.length > 0) return;
      if (this.keepMissed) this.#waiting = this.#waiting.filter((envelope) => this.#comesAgain(envelope));
      else this.giveUp();
    });
    if (this.silent) return;
    this.#write(client, {
      type: 'hello',
      num_connections: this.statedConnections ?? this.#sockets.length,
      connection_info: { app_id: 'A0TEST' },
      debug_info: { host: 'test', started: '2026-01-01 00:00:00.000', build_number: 1, approximate_connection_time: 18_060 },
    });
    this.redeliver();
    this.onOpen?.();
  }

  /**
   * Retries are documented of events alone (docs.slack.dev/apis/events-api). What people press, choose or
   * command goes to a socket that is open, once: an app has "3 seconds to respond before Slack registers a
   * timeout error" (docs.slack.dev/tools/bolt-python/concepts/acknowledge). No page says that no retry
   * follows.
   */
  #comesAgain({ type }: Pick<SlackEnvelope, 'type'>): boolean {
    return type === 'events_api';
  }

  #read(text: string): void {
    let frame: { envelope_id?: unknown; payload?: unknown };
    try {
      frame = JSON.parse(text);
    } catch {
      this.strange.push(text);
      return;
    }
    const id = frame.envelope_id;
    if (typeof id !== 'string' || typeof frame.payload !== 'object') {
      this.strange.push(text);
      return;
    }
    this.acknowledged.push(id);
    this.#waiting = this.#waiting.filter((envelope) => envelope.id !== id);
  }

  #send(envelope: SlackEnvelope): void {
    const socket = this.#sockets[this.#turn % Math.max(1, this.#sockets.length)];
    if (!socket) return;
    this.#turn += 1;
    const { attempts } = envelope;
    envelope.attempts += 1;
    this.#write(socket, {
      envelope_id: envelope.id,
      type: envelope.type,
      payload: envelope.payload,
      accepts_response_payload: envelope.type !== 'events_api',
      ...(envelope.type === 'events_api' && { retry_attempt: attempts, retry_reason: attempts > 0 ? 'timeout' : '' }),
    });
    const { redeliverMs } = this.#options;
    if (redeliverMs === undefined || !this.#comesAgain(envelope)) return;
    const timer = setTimeout(() => {
      this.#timers.delete(timer);
      if (this.#waiting.includes(envelope)) this.#send(envelope);
    }, redeliverMs);
    this.#timers.add(timer);
  }

  #write(socket: WebSocket, frame: Json): void {
    this.sent.push(frame);
    socket.send(JSON.stringify(frame));
  }
}
