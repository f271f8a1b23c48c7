import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

interface ChatMessage {
  readonly role: string;
  readonly content: string | null;
}

/**
 * An OpenAI-compatible server whose answer depends on nothing but the question, so that every attempt at a message must end in
 * the same text: `tool N` first asks for the tool `count`, `long N` is answered in several parts, anything else in one.
 */
export class SweepModel implements AsyncDisposable {
  calls = 0;
  readonly #server: Server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => {
      this.calls += 1;
      const { messages } = JSON.parse(Buffer.concat(chunks).toString('utf8')) as { messages: ChatMessage[] };
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      for (const chunk of reply(messages)) response.write(`data: ${JSON.stringify(chunk)}\n\n`);
      response.end('data: [DONE]\n\n');
    });
  });

  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}

function reply(messages: readonly ChatMessage[]): unknown[] {
  const asked = messages.findLastIndex(({ role }) => role === 'user');
  const question = /\b(plain|tool|long) (\d+)/.exec(messages[asked]?.content ?? '');
  const [kind, n] = [question?.[1] ?? 'plain', question?.[2] ?? '0'];
  const base = { id: 'c', object: 'chat.completion.chunk', created: 0, model: 'sweep' };
  const usage = { ...base, choices: [], usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 } };
  const chunk = (delta: unknown, finish: string | null) => ({ ...base, choices: [{ index: 0, delta, finish_reason: finish }] });
  if (kind === 'tool' && !messages.slice(asked).some(({ role }) => role === 'tool')) {
    const call = { index: 0, id: `call_${n}`, type: 'function', function: { name: 'count', arguments: `{"n":${n}}` } };
    return [chunk({ role: 'assistant', tool_calls: [call] }, null), chunk({}, 'tool_calls'), usage];
  }
  const lines =
    kind === 'long'
      ? Array.from({ length: 120 }, (_, line) => `Line ${line} of the long answer ${n}, which is sent in parts.`)
      : [];
  return [chunk({ role: 'assistant', content: [`answer ${n}`, ...lines].join('\n\n') }, null), chunk({}, 'stop'), usage];
}
