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
/** Longer than any handler works: where nothing moves for so long, the caller reads nothing. */
const STILL_MS = 60_000;

interface Waiting {
  readonly address: string;
  /** Absent: its head is not complete. */
  readonly request?: IncomingMessage;
  readonly response?: ServerResponse;
}

interface WaitingOptions {
  /** Default: those of the webhook server. */
  readonly most?: number;
  readonly ofOneAddress?: number;
  readonly stillMs?: number;
  readonly onDrop?: () => void;
}

/**
 * Bounds the connections whose request is not complete, or whose answer is not read. When there is no room,
 * the one that has waited longest is dropped, not the newest: a platform sends a request in one piece, reads
 * its answer and needs its place for milliseconds, so callers who trickle can only push out each other. One
 * who reads slowly counts as one who does not read.
 */
export class WaitingConnections {
  readonly #most: number;
  readonly #ofOneAddress: number;
  readonly #stillMs: number;
  readonly #onDrop: () => void;
  /** The longest-waiting one first. */
  readonly #waiting = new Map<Socket, Waiting>();
  readonly #ofAddress = new Map<string, number>();

  /** `onDrop` is called for each connection that is dropped to make room, or that finds none. */
  constructor({
    most = MOST,
    ofOneAddress = MOST_OF_ADDRESS,
    stillMs = STILL_MS,
    onDrop = () => undefined,
  }: WaitingOptions = {}) {
    this.#most = most;
    this.#ofOneAddress = ofOneAddress;
    this.#stillMs = stillMs;
    this.#onDrop = onDrop;
  }

  watch(server: Server): void {
    // A last bound. It also counts connections that left the list while their answer was made.
    server.maxConnections = 2 * this.#most;
    server.on('drop', () => this.#onDrop());
    // Ends those that were taken off the list while their answer was made, and then do not read it.
    server.timeout = this.#stillMs;
    server.on('connection', (socket: Socket) => {
      this.#add(socket, { address: addressOf(socket) });
      socket.once('close', () => this.#remove(socket));
      this.#makeRoom(socket);
    });
    server.on('request', (request: IncomingMessage, response: ServerResponse) => {
      const { socket } = request;
      // A proxy may have kept this connection idle for long: the request on it is new.
      this.#again(socket, { request, response });
      response.once('finish', () => this.#again(socket));
    });
  }

  #again(socket: Socket, call?: Omit<Waiting, 'address'>): void {
    if (socket.destroyed) return;
    this.#remove(socket);
    this.#add(socket, { address: addressOf(socket), ...call });
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

  /**
   * Takes the first of these off the list, and drops it unless it waits for us: its request is complete and
   * its answer not made yet.
   */
  #dropFirst(isMeant: (address: string) => boolean): void {
    for (const [socket, { address, request, response }] of this.#waiting) {
      if (!isMeant(address)) continue;
      this.#remove(socket);
      if (request?.complete && !response?.writableEnded) return;
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
