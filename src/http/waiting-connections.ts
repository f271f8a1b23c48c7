import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';

/** Most connections without a complete request, over all callers of the webhooks. */
const MOST = 1_024;
/**
 * Most of them from one address. Behind a proxy every caller has the proxy's address, so the cap must not
 * hurt one: it turns no new connection away and counts no complete request. A proxy that passes on 1,000
 * requests a second, each within 10 ms, has ten incomplete ones at an instant, and it can reopen an idle
 * connection.
 */
const MOST_OF_ADDRESS = 256;

interface Waiting {
  readonly address: string;
  /** Absent: its head is not complete. */
  readonly request?: IncomingMessage;
}

interface WaitingOptions {
  /** Default: those of the webhook server. */
  readonly most?: number;
  readonly ofOneAddress?: number;
  readonly onDrop?: () => void;
}

/**
 * Bounds the connections whose request is not complete. When there is no room, the one that has waited
 * longest is dropped, not the newest: a platform sends a request in one piece and needs its place for
 * milliseconds, so callers who trickle can only push out each other.
 */
export class WaitingConnections {
  readonly #most: number;
  readonly #ofOneAddress: number;
  readonly #onDrop: () => void;
  /** The longest-waiting one first. */
  readonly #waiting = new Map<Socket, Waiting>();
  readonly #ofAddress = new Map<string, number>();

  /** `onDrop` is called for each connection that is dropped. */
  constructor({ most = MOST, ofOneAddress = MOST_OF_ADDRESS, onDrop = () => undefined }: WaitingOptions = {}) {
    this.#most = most;
    this.#ofOneAddress = ofOneAddress;
    this.#onDrop = onDrop;
  }

  watch(server: Server): void {
    // A last bound. It alone counts connections whose answer is being made or sent.
    server.maxConnections = 2 * this.#most;
    server.on('connection', (socket: Socket) => {
      this.#add(socket, { address: addressOf(socket) });
      socket.once('close', () => this.#remove(socket));
      this.#makeRoom(socket);
    });
    server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      const { socket } = request;
      // A proxy may have kept this connection idle for long: the request on it is new.
      this.#again(socket, request);
      response.once('finish', () => this.#again(socket));
    });
  }

  #again(socket: Socket, request?: IncomingMessage): void {
    if (socket.destroyed) return;
    this.#remove(socket);
    this.#add(socket, { address: addressOf(socket), ...(request && { request }) });
  }

  #add(socket: Socket, waiting: Waiting): void {
    this.#waiting.set(socket, waiting);
    this.#ofAddress.set(waiting.address, (this.#ofAddress.get(waiting.address) ?? 0) + 1);
  }

  #remove(socket: Socket): void {
    const waiting = this.#waiting.get(socket);
    if (!waiting) return;
    this.#waiting.delete(socket);
    const left = (this.#ofAddress.get(waiting.address) ?? 1) - 1;
    if (left > 0) this.#ofAddress.set(waiting.address, left);
    else this.#ofAddress.delete(waiting.address);
  }

  #makeRoom(newest: Socket): void {
    const address = addressOf(newest);
    while ((this.#ofAddress.get(address) ?? 0) > this.#ofOneAddress) this.#dropFirst((each) => each === address);
    while (this.#waiting.size > this.#most) this.#dropFirst(() => true);
  }

  /** Takes the first of these off the list. One whose request is complete waits for us: it is not dropped. */
  #dropFirst(isMeant: (address: string) => boolean): void {
    for (const [socket, { address, request }] of this.#waiting) {
      if (!isMeant(address)) continue;
      this.#remove(socket);
      if (request?.complete) return;
      socket.destroy();
      this.#onDrop();
      return;
    }
  }
}

/** Of IPv6 the network of 64 bits, all of which one caller has. */
function addressOf({ remoteAddress = '' }: Socket): string {
  if (!remoteAddress.includes(':') || remoteAddress.startsWith('::ffff:')) return remoteAddress;
  return remoteAddress.split('::', 1)[0]?.split(':').slice(0, 4).join(':') ?? '';
}
