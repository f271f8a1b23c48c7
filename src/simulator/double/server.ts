import { appendFileSync } from 'node:fs';
import type { IncomingMessage } from 'node:http';
import type { AddressInfo } from 'node:net';
import { createLocalServer } from '../local-server.ts';

export interface DoubleMessage {
  readonly id: string;
  readonly chatId: string;
  readonly senderId: string;
  readonly text: string;
  /** Words of the bot that this is a reply to. Absent: it is none. */
  readonly quoted?: string;
}

export interface DoubleSend {
  readonly key: string;
  readonly chatId: string;
  readonly text: string;
  /** Epoch ms. */
  readonly at: number;
}

/**
 * A platform with the best guarantees there are: it offers a message until it is acknowledged (inbound class
 * A), and posts a message with the same key once (send class idem). What it posted is the judge's record.
 */
export class DoublePlatform implements AsyncDisposable {
  readonly posted: DoubleSend[] = [];
  /** Calls that carried a key already posted: allowed, and counted. */
  repeats = 0;
  readonly #waiting: DoubleMessage[] = [];
  readonly #server = createLocalServer((request, response) => {
    this.#answer(request)
      .then((body) => response.end(JSON.stringify(body)))
      .catch((error) => {
        response.statusCode = 500;
        response.end(String(error));
      });
  });
  readonly #log: string | undefined;

  constructor(log?: string) {
    this.#log = log;
  }

  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}`;
  }

  deliver(...messages: readonly DoubleMessage[]): void {
    this.#waiting.push(...messages);
  }

  get unacknowledged(): number {
    return this.#waiting.length;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #answer(request: IncomingMessage): Promise<unknown> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk);
    const body = chunks.length > 0 ? JSON.parse(Buffer.concat(chunks).toString('utf8')) : {};
    if (request.url === '/poll') return { messages: this.#waiting.slice(0, 10) };
    if (request.url === '/ack') {
      const at = this.#waiting.findIndex(({ id }) => id === body.id);
      if (at >= 0) this.#waiting.splice(at, 1);
      return {};
    }
    const send: DoubleSend = { ...body, at: Date.now() };
    const index = this.posted.findIndex(({ key }) => key === send.key);
    if (index >= 0) {
      this.repeats += 1;
      return { id: `p${index}` };
    }
    this.posted.push(send);
    if (this.#log) appendFileSync(this.#log, `${JSON.stringify(send)}\n`);
    return { id: `p${this.posted.length - 1}` };
  }
}
