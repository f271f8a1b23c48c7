import { createServer, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { handsCalls } from './hands.ts';
import { questionIn } from './waiting.ts';

interface ChatMessage {
  readonly role: string;
  readonly content: string | null;
}

/**
 * An OpenAI-compatible server whose answer depends on nothing but the question, so that every attempt at a
 * message must end in the same text: `tool N` first asks for the tool `count`, `long N` is answered in
 * several parts, `waits N` first asks for three children, a person and a timer, `subagents N` for three
 * sub-agents and one in the background, `hands N` for five tools in two steps, `allowed N` for the same in
 * three, `failing N` for three sub-agents of which the second is `refused`, `stopped N` for three that are
 * `endless`; anything else is answered in one.
 */
export class SweepModel implements AsyncDisposable {
  /**
   * Before each further piece of an answer. An answer is shown while it is written after a second, and edited
   * a second later.
   */
  readonly #pauseMs: number;
  calls = 0;
  /** Each call by its question and how many calls of its run came before: `waits 1:0`. */
  readonly log: string[] = [];
  readonly #server: Server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => {
      this.calls += 1;
      const { messages } = JSON.parse(Buffer.concat(chunks).toString('utf8')) as { messages: ChatMessage[] };
      const name = nameOf(messages);
      this.log.push(name);
      // It works until it is stopped.
      if (name.startsWith('endless ')) return;
      if (name.startsWith('refused ')) {
        response.writeHead(400, { 'content-type': 'application/json' });
        response.end('{"error":{"message":"refused","type":"invalid_request_error"}}');
        return;
      }
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      void this.#write(response, reply(messages, this.#pauseMs > 0 ? PIECES : 1));
    });
  });

  /** `isSlow`: answers take long enough to grow before the eyes of people. */
  constructor({ isSlow = false }: { readonly isSlow?: boolean } = {}) {
    this.#pauseMs = isSlow ? 1_200 : 0;
  }

  async start(): Promise<string> {
    await new Promise<void>((resolve) => this.#server.listen(0, '127.0.0.1', resolve));
    return `http://127.0.0.1:${(this.#server.address() as AddressInfo).port}/v1`;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  async #write(response: ServerResponse, chunks: readonly Chunk[]): Promise<void> {
    let isFirst = true;
    for (const chunk of chunks) {
      const hasWords = typeof chunk.choices[0]?.delta['content'] === 'string';
      if (hasWords && !isFirst) await sleep(this.#pauseMs);
      isFirst &&= !hasWords;
      response.write(`data: ${JSON.stringify(chunk)}\n\n`);
    }
    response.end('data: [DONE]\n\n');
  }
}

/** Of an answer that grows. */
const PIECES = 3;

/** Of a stream, as the wire has it. */
interface Chunk {
  readonly choices: readonly { readonly delta: Readonly<Record<string, unknown>> }[];
}

interface Asked {
  readonly kind: string;
  readonly n: string;
  /** What the tools of this request came to. */
  readonly results: readonly string[];
  /** Calls of the model that came before, in this request. */
  readonly before: number;
}

function readQuestion(messages: readonly ChatMessage[]): Asked {
  const asked = messages.findLastIndex(({ role, content }) => role === 'user' && !content?.startsWith('[System note]'));
  const [kind = 'plain', n = '0'] = questionIn(messages[asked]?.content ?? '') ?? [];
  const since = messages.slice(asked);
  const results = since.flatMap(({ role, content }) => (role === 'tool' ? [content ?? ''] : []));
  return { kind, n, results, before: since.filter(({ role }) => role === 'assistant').length };
}

function nameOf(messages: readonly ChatMessage[]): string {
  const { kind, n, before } = readQuestion(messages);
  return `${kind} ${n}:${before}`;
}

const WAITING = (n: string): readonly (readonly [name: string, args: string])[] => [
  ...['1', '2', '3'].map((child) => ['run_child', `{"task":"plain ${n}${child}"}`] as const),
  ['ask_person', '{"question":"May I?"}'],
  ['sleep', '{"ms":30}'],
];

const THREE = (n: string, kinds = ['plain', 'plain', 'plain']): readonly (readonly [name: string, args: string])[] =>
  kinds.map((kind, child) => ['dispatch_subagent', `{"task_description":"${kind} ${n}${child + 1}"}`] as const);
const SUBAGENTS = (n: string): readonly (readonly [name: string, args: string])[] => [
  ...THREE(n),
  ['spawn', `{"task":"plain ${n}4","label":"report ${n}4"}`],
];

/** What is asked for next; nothing = the answer comes. */
function toolsOf(kind: string, n: string, results: number): readonly (readonly [name: string, args: string])[] {
  if (kind === 'hands' || kind === 'allowed')
    return handsCalls(kind, n, results).map(([name, args]) => [name, JSON.stringify(args)]);
  if (results > 0) return [];
  if (kind === 'failing') return THREE(n, ['plain', 'refused', 'plain']);
  if (kind === 'stopped') return THREE(n, ['endless', 'endless', 'endless']);
  return kind === 'tool' ? [['count', `{"n":${n}}`]] : kind === 'waits' ? WAITING(n) : kind === 'subagents' ? SUBAGENTS(n) : [];
}

/** `pieces`: how many chunks the words of an answer come in. */
function reply(messages: readonly ChatMessage[], pieces: number): readonly Chunk[] {
  const { kind, n, results } = readQuestion(messages);
  const base = { id: 'c', object: 'chat.completion.chunk', created: 0, model: 'sweep' };
  const usage = { ...base, choices: [], usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 } };
  const chunk = (delta: Chunk['choices'][number]['delta'], finish: string | null) => ({
    ...base,
    choices: [{ index: 0, delta, finish_reason: finish }],
  });
  const tools = toolsOf(kind, n, results.length);
  if (tools.length > 0) {
    const calls = tools.map(([name, args], index) => ({
      ...{ index, id: `call_${n}_${results.length}_${index}`, type: 'function', function: { name, arguments: args } },
    }));
    return [chunk({ role: 'assistant', tool_calls: calls }, null), chunk({}, 'tool_calls'), usage];
  }
  const lines =
    kind === 'long'
      ? Array.from({ length: 120 }, (_, line) => `Line ${line} of the long answer ${n}, which is sent in parts.`)
      : [];
  const ends = ['waits', 'subagents', 'failing'].includes(kind) ? [results.join(', ')] : [];
  const text = [`answer ${n}`, ...lines, ...ends].join('\n\n');
  const size = Math.ceil(text.length / pieces);
  const words = Array.from({ length: pieces }, (_, piece) => text.slice(piece * size, (piece + 1) * size));
  return [...words.map((content) => chunk({ role: 'assistant', content }, null)), chunk({}, 'stop'), usage];
}
