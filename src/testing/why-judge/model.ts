/**
 * A model that does what the newest message asks of it: fail, say nothing, use a tool once or for ever, or
 * wait until it is let go.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { chunk, errorReply, type Reply, sse, stream, textPieces } from '../model-server.ts';

/** Without it a call costs what it may cost at most, and many calls meet the limit on spending. */
const USAGE = sse({ object: 'chat.completion.chunk', choices: [], usage: { prompt_tokens: 7, completion_tokens: 1 } });

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
    const said = messages.filter(({ role }) => role === 'user').map(({ content }) => JSON.stringify(content ?? ''));
    // One that repeats itself is warned after what it was asked, and goes on all the same.
    const asked = said.findLast((words) => words.includes('do:loop')) ?? said.at(-1) ?? '';
    const gate = /gate:(\w+)/.exec(asked)?.[1];
    if (gate !== undefined) {
      this.reached.add(gate);
      await this.#gate(gate).promise;
    }
    const { status = 200, headers, pieces } = this.#reply(asked, messages.filter(({ role }) => role === 'tool').length);
    response.writeHead(status, headers);
    for (const piece of pieces) response.write(piece);
    response.end();
  }

  /** `results`: how many calls of tools the conversation holds. */
  #reply(asked: string, results: number): Reply {
    if (asked.includes('do:reject')) return errorReply(400, { message: `no: ${this.#canary}` });
    if (asked.includes('do:withhold'))
      return stream([chunk({ role: 'assistant', content: '' }), chunk({}, 'content_filter'), sse('[DONE]')]);
    if (asked.includes('do:once-500') && !this.#failed.has(asked)) {
      this.#failed.add(asked);
      return errorReply(500, { message: `oops: ${this.#canary}` });
    }
    const isOver = !asked.includes('do:tool') || results > 0;
    const isCutShort = asked.includes('do:endless') || asked.includes('do:loop');
    if (isOver && !isCutShort) return stream(textPieces(`answer ${this.#canary}`));
    const place = asked.includes('do:endless') ? results : '';
    const call = { path: `${this.#canary}${place}.txt`, content: this.#canary };
    const use = { index: 0, id: 'c1', type: 'function', function: { name: 'write_file', arguments: JSON.stringify(call) } };
    return stream([chunk({ role: 'assistant', tool_calls: [use] }), chunk({}, 'tool_calls'), USAGE, sse('[DONE]')]);
  }
}
