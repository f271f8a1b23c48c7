/** One connection of a client. Its input is bounded before parsing; one that reads nothing is dropped. */
import type { Socket } from 'node:net';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import { Lines, RPC, readLine, rpcError } from './lines.ts';

/** What a client may leave unread: some of the largest answers. */
const MOST_UNREAD_BYTES = 8 * 1024 * 1024;

type Callbacks = Pick<Transport, 'onclose' | 'onerror' | 'onmessage'>;

/** The first line that a client sends says who it is. After it the connection is a transport of MCP. */
export class ClientConnection implements Transport {
  onclose?: NonNullable<Callbacks['onclose']>;
  onerror?: NonNullable<Callbacks['onerror']>;
  onmessage?: NonNullable<Callbacks['onmessage']>;
  /** Rejects when the connection is over before it came. */
  readonly hello: Promise<string>;
  readonly #socket: Socket;
  readonly #hello = Promise.withResolvers<string>();
  /** What came behind the hello, until `start`: no more than one chunk, because the socket is paused. */
  #early: JSONRPCMessage[] | undefined;
  #hasHello = false;

  constructor(socket: Socket) {
    this.#socket = socket;
    this.hello = this.#hello.promise;
    this.hello.catch(() => undefined); // its caller sees the failure
    const lines = new Lines({ onLine: (line) => this.#take(line), onTooLong: () => this.#refuseLong() });
    socket.on('data', (chunk: Buffer) => lines.write(chunk));
    socket.on('error', () => undefined); // 'close' follows
    socket.once('close', () => {
      this.#hello.reject(new Error('the connection is over'));
      this.onclose?.();
    });
  }

  get isOver(): boolean {
    return this.#socket.destroyed;
  }

  async start(): Promise<void> {
    const early = this.#early ?? [];
    this.#early = undefined;
    for (const message of early) this.onmessage?.(message);
    this.#socket.resume();
  }

  async send(message: JSONRPCMessage): Promise<void> {
    this.write(message);
  }

  async close(): Promise<void> {
    this.#socket.destroy();
  }

  /** The last line, and then the end. */
  end(line: object): void {
    this.#socket.end(`${JSON.stringify(line)}\n`);
  }

  write(line: object): void {
    if (this.#socket.destroyed) return;
    this.#socket.write(`${JSON.stringify(line)}\n`);
    if (this.#socket.writableLength > MOST_UNREAD_BYTES) this.#socket.destroy();
  }

  #take(line: string): void {
    if (!this.#hasHello) {
      this.#hasHello = true;
      this.#early = [];
      this.#socket.pause();
      this.#hello.resolve(line);
      return;
    }
    const read = readLine(line);
    if (read.kind === 'refusal') this.write(read.answer);
    else if (this.#early) this.#early.push(read.message as JSONRPCMessage);
    else this.onmessage?.(read.message as JSONRPCMessage);
  }

  /** The bridge passes no such line on, so this is no client that means well. */
  #refuseLong(): void {
    this.write(rpcError(null, RPC.invalid, 'the line is too long'));
    this.#socket.destroySoon();
  }
}
