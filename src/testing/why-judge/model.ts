/**
 * A model that does what the newest message asks of it: fail, say nothing, use a tool, or wait until it is
 * let go.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { chunk, errorReply, type Reply, sse, stream, textPieces } from '../model-server.ts';

interface Said {
  readonly role: string;
  readonly content?: unknown;
}

export class JudgeModel implements AsyncDisposable {
  readonly #canary: string;
  readonly #failed = new Set<string>();
  readonly #gates = new Map<string, PromiseWithResolvers<void>>();
  /** Words of a gate that the model has come to. */
  readonly reached = new Set<string>();
  readonly #server = createServer((request, response) => {
    this.#serve(request, response).catch(() => response.destroy());
  });

  /** In everything that the model or its server says. */
  constructor(canary: string) {
    this.#canary = canary;
  }

  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1`;
  }

  /** Lets the message go that says `gate:NAME`. */
  open(name: string): void {
    this.#gate(name).resolve();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #gate(name: string): PromiseWithResolvers<void> {
    const gate = this.#gates.get(name) ?? Promise.withResolvers<void>();
    this.#gates.set(name, gate);
    return gate;
  }

  async #serve(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const piece of request) chunks.push(piece);
    const { messages = [] } = JSON.parse(Buffer.concat(chunks).toString('utf8')) as { messages?: readonly Said[] };
    const asked = JSON.stringify(messages.findLast(({ role }) => role === 'user')?.content ?? '');
    const gate = /gate:(\w+)/.exec(asked)?.[1];
    if (gate !== undefined) {
      this.reached.add(gate);
      await this.#gate(gate).promise;
    }
    const { status = 200, headers, pieces } = this.#reply(asked, messages.at(-1)?.role === 'tool');
    response.writeHead(status, headers);
    for (const piece of pieces) response.write(piece);
    response.end();
  }

  #reply(asked: string, ranTool: boolean): Reply {
    if (asked.includes('do:reject')) return errorReply(400, { message: `no: ${this.#canary}` });
    if (asked.includes('do:withhold'))
      return stream([chunk({ role: 'assistant', content: '' }), chunk({}, 'content_filter'), sse('[DONE]')]);
    if (asked.includes('do:once-500') && !this.#failed.has(asked)) {
      this.#failed.add(asked);
      return errorReply(500, { message: `oops: ${this.#canary}` });
    }
    if (!asked.includes('do:tool') || ranTool) return stream(textPieces(`answer ${this.#canary}`));
    const call = { path: `${this.#canary}.txt`, content: this.#canary };
    const use = { index: 0, id: 'c1', type: 'function', function: { name: 'write_file', arguments: JSON.stringify(call) } };
    return stream([chunk({ role: 'assistant', tool_calls: [use] }), chunk({}, 'tool_calls'), sse('[DONE]')]);
  }
}
