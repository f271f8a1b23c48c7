/** The connections of devices: a WebSocket each, the Noise handshake on it, and then nodes both ways. */
import type { IncomingMessage } from 'node:http';
import type { Duplex } from 'node:stream';
import type { BinaryNode } from '@whiskeysockets/baileys';
import { type WebSocket, WebSocketServer } from 'ws';
import { type Hello, NoiseServer } from './noise.ts';

/** What the server does with what a device says. */
export interface ConnectionHandlers {
  /** The handshake is over; the connection is open and knows its device. */
  readonly loggedIn: (connection: Connection, hello: Hello) => void;
  /**
   * The next node of this connection is read once the promise is settled; one that rejects breaks the
   * connection.
   */
  readonly said: (connection: Connection, node: BinaryNode) => Promise<void>;
}

/** One connection of a device. */
export class Connection {
  readonly socket: WebSocket;
  readonly noise: NoiseServer;
  state: 'hello' | 'finish' | 'open' = 'hello';
  /** The Noise key of the device, in Base64; empty until the handshake is over. */
  device = '';

  constructor(socket: WebSocket, noise: NoiseServer) {
    this.socket = socket;
    this.noise = noise;
  }

  /** Does nothing on a socket that is closed or closing. */
  send(node: BinaryNode): void {
    if (this.socket.readyState === this.socket.OPEN) this.socket.send(this.noise.encode(node));
  }

  /** Ends it as for a device that may not log in. */
  refuse(attrs: Readonly<Record<string, string>>): void {
    this.send({ tag: 'failure', attrs: { ...attrs } });
    this.socket.close();
  }

  /** Ends it with the code of a stream error. */
  end(code: number, ...content: BinaryNode[]): void {
    this.send({ tag: 'stream:error', attrs: { code: String(code) }, ...(content.length > 0 && { content }) });
    this.socket.close();
  }
}

/** All of them, those that still shake hands too. */
export class Connections {
  readonly #certificates: Buffer;
  readonly #handlers: ConnectionHandlers;
  readonly #sockets = new WebSocketServer({ noServer: true });
  readonly #all = new Set<Connection>();
  /** Frames of connections from before the last `forget` are not read. */
  #era = 0;

  constructor(certificates: Buffer, handlers: ConnectionHandlers) {
    this.#certificates = certificates;
    this.#handlers = handlers;
  }

  get count(): number {
    return this.#all.size;
  }

  /** Those whose handshake is over. */
  open(): readonly Connection[] {
    return [...this.#all].filter(({ state }) => state === 'open');
  }

  /** For the event of the same name of the HTTP server. */
  upgrade(request: IncomingMessage, socket: Duplex, head: Buffer): void {
    this.#sockets.handleUpgrade(request, socket, head, (ws) => this.#accept(ws));
  }

  /** Breaks every connection without a word. */
  cut(): void {
    for (const { socket } of this.#all) socket.terminate();
  }

  /** Breaks every connection, and reads nothing more that came on one of them. */
  forget(): void {
    this.cut();
    this.#era += 1;
  }

  close(): void {
    this.cut();
    this.#sockets.close();
  }

  #accept(socket: WebSocket): void {
    const connection = new Connection(socket, new NoiseServer(this.#certificates));
    this.#all.add(connection);
    socket.once('close', () => this.#all.delete(connection));
    socket.on('error', () => socket.terminate());
    const era = this.#era;
    let work: Promise<void> = Promise.resolve();
    socket.on('message', (data: Buffer) => {
      work = work.then(() => (era === this.#era ? this.#receive(connection, data) : undefined)).catch(() => socket.terminate());
    });
  }

  async #receive(connection: Connection, data: Buffer): Promise<void> {
    for (const frame of connection.noise.frames(data)) {
      if (connection.state === 'hello') {
        connection.socket.send(connection.noise.answerHello(frame));
        connection.state = 'finish';
      } else if (connection.state === 'finish') {
        const hello = connection.noise.finish(frame);
        connection.state = 'open';
        connection.device = hello.noiseKey.toString('base64');
        this.#handlers.loggedIn(connection, hello);
      } else {
        await this.#handlers.said(connection, await connection.noise.decode(frame));
      }
    }
  }
}
