/** How the platform delivers events: over a long connection or to a webhook, until a 200 answers them. */
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import { type WebSocket, WebSocketServer } from 'ws';
import type { FeishuPayload } from './events.ts';
import { decodeFrame, encodeFrame } from './frame.ts';
import type { WebhookCaller } from './webhook.ts';

export class FeishuEvents {
  /** Codes of the frames that answered events, oldest first. */
  readonly acknowledged: { readonly eventId: string; readonly code: number }[] = [];
  /** Set, events go there in place of the long connection. */
  caller: WebhookCaller | undefined;
  /** How many frames an event is cut into. */
  fragments = 1;
  pings = 0;
  pingSecs = 120;
  /** Pings stay unanswered, as on a connection that went away unnoticed. */
  mute = false;
  /** Ms until an unanswered event is sent again; 15 s at the platform. Absent: until the next connection. */
  redeliverMs: number | undefined;
  #events: FeishuPayload[] = [];
  readonly #clients = new Set<WebSocket>();
  readonly #ready = new Set<WebSocket>();
  readonly #timers = new Map<FeishuPayload, NodeJS.Timeout>();
  readonly #ws = new WebSocketServer({ noServer: true });
  #sequence = 1n;

  get liveClients(): number {
    return this.#clients.size;
  }

  /** Events the platform would deliver again. */
  get unacknowledged(): number {
    return this.#events.length;
  }

  /** What a client is told of how to keep its connection. */
  get clientConfig() {
    return { PingInterval: this.pingSecs, ReconnectCount: -1, ReconnectInterval: 120, ReconnectNonce: 30 };
  }

  /** Breaks every long connection. */
  disconnect(): void {
    for (const client of this.#clients) client.terminate();
  }

  /** Delivers, and again after each reconnect until a 200 acknowledges it. The same again comes once more. */
  emit(payload: FeishuPayload): FeishuPayload {
    if (!this.#events.includes(payload)) this.#events.push(payload);
    this.#deliver(payload);
    return payload;
  }

  /** The platform's retry: the same event once more. */
  redeliver(payload: FeishuPayload): void {
    this.#deliver(payload);
  }

  protected upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    this.#ws.handleUpgrade(request, socket, head, (client) => this.#serve(client));
  }

  protected forgetEvents(): void {
    this.endDelivery();
    this.#events = [];
    this.acknowledged.length = 0;
  }

  protected endDelivery(): void {
    this.disconnect();
    for (const timer of this.#timers.values()) clearTimeout(timer);
    this.#timers.clear();
  }

  #deliver(payload: FeishuPayload): void {
    if (this.caller) {
      this.caller.deliver(payload, () => this.#acknowledge(payload.header.event_id, 200));
      return;
    }
    // Cluster mode: one of the connections gets it.
    const [client] = this.#ready;
    if (!client) return;
    this.#redeliverLater(payload);
    const bytes = Buffer.from(JSON.stringify(payload));
    const size = Math.ceil(bytes.length / this.fragments);
    for (let index = 0; index < this.fragments; index += 1) {
      client.send(
        encodeFrame({
          sequence: this.#sequence++,
          log: 0n,
          service: 1,
          method: 1,
          headers: {
            type: 'event',
            message_id: payload.header.event_id,
            sum: String(this.fragments),
            seq: String(index),
            trace_id: payload.header.event_id,
          },
          payload: bytes.subarray(index * size, (index + 1) * size),
        }),
      );
    }
  }

  #redeliverLater(payload: FeishuPayload): void {
    if (this.redeliverMs === undefined) return;
    clearTimeout(this.#timers.get(payload));
    const timer = setTimeout(() => {
      this.#timers.delete(payload);
      if (this.#events.includes(payload)) this.#deliver(payload);
    }, this.redeliverMs);
    this.#timers.set(payload, timer);
  }

  #serve(client: WebSocket): void {
    this.#clients.add(client);
    client.once('close', () => {
      this.#clients.delete(client);
      this.#ready.delete(client);
    });
    client.on('error', () => client.terminate());
    client.on('message', (data: Buffer) => {
      const frame = decodeFrame(data);
      if (frame.method === 0) {
        this.pings += 1;
        if (this.mute) return;
        const payload = Buffer.from(JSON.stringify(this.clientConfig));
        client.send(encodeFrame({ ...frame, headers: { type: 'pong' }, payload }));
        return;
      }
      const eventId = frame.headers['message_id'] ?? '';
      const { code } = JSON.parse(frame.payload.toString()) as { code: number };
      this.#acknowledge(eventId, code);
    });
    // Not at once: the official client attaches its listener a moment after the handshake and loses what came
    // with it. There the platform delivers again after 15 s.
    setTimeout(() => {
      if (!this.#clients.has(client)) return;
      this.#ready.add(client);
      for (const event of [...this.#events]) this.#deliver(event);
    }, 20);
  }

  #acknowledge(eventId: string, code: number): void {
    this.acknowledged.push({ eventId, code });
    const at = this.#events.findIndex(({ header }) => header.event_id === eventId);
    if (code === 200 && at !== -1) this.#events.splice(at, 1);
  }
}
