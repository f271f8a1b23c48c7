/**
 * An OpenAI-compatible server of our own for what an emulator lacks: faults in single bytes, silence, errors
 * in the middle of a stream; and fast echo answers for benchmarks: `node src/testing/model-server.ts --port 0
 * --latency 200` prints its URL.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setImmediate as nextTick, setTimeout as sleep } from 'node:timers/promises';
import { parseArgs } from 'node:util';

export interface ReceivedRequest {
  readonly method: string;
  readonly path: string;
  readonly headers: IncomingMessage['headers'];
  /** Parsed JSON; `{}` when there was none, or a form. */
  readonly body: Readonly<Record<string, unknown>>;
  /** True once the client had closed its connection before the answer was complete. */
  cut: boolean;
}

/** What one request is answered with. */
export interface Reply {
  readonly status?: number;
  /** The words after the status. Default: the usual ones. */
  readonly reason?: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Sent piece by piece, each in a write of its own. */
  readonly pieces: readonly (string | Uint8Array)[];
  /** Before the headers, and between two pieces. ms, default 0. */
  readonly latencyMs?: number;
  readonly gapMs?: number;
  /** Nothing from piece `before` on is sent until the test says so; 0: not even the headers. */
  readonly held?: { readonly before: number; readonly until: Promise<unknown> };
  /** After the last piece: end properly (default), reset, or stay silent until the client leaves. */
  readonly end?: 'close' | 'destroy' | 'hang';
}

export interface ModelServer extends AsyncDisposable {
  /** Origin; the base URL is `${url}/v1`. */
  readonly url: string;
  readonly requests: readonly ReceivedRequest[];
}

export interface ModelServerOptions {
  readonly port?: number;
  /** Before every echo answer. */
  readonly latencyMs?: number;
  /** Answers a request, told how many came before; undefined = echo. */
  readonly script?: (request: ReceivedRequest, index: number) => Reply | undefined;
  /** Keep requests for inspection; off for benchmarks. Default true. */
  readonly record?: boolean;
}

const EVENT_STREAM = { 'content-type': 'text/event-stream' };

/** One SSE event. */
export function sse(data: unknown): string {
  return `data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`;
}

/** A chat completion chunk with this delta. */
export function chunk(delta: object, finishReason: string | null = null): string {
  return sse({
    id: 'chatcmpl-1',
    object: 'chat.completion.chunk',
    created: 1,
    model: 'test',
    choices: [{ index: 0, delta, finish_reason: finishReason }],
  });
}

/** The pieces of a complete streamed answer: role, the given texts, finish reason, usage, end mark. */
export function textPieces(...texts: readonly string[]): string[] {
  return [
    chunk({ role: 'assistant', content: '' }),
    ...texts.map((content) => chunk({ content })),
    chunk({}, 'stop'),
    sse({
      object: 'chat.completion.chunk',
      choices: [],
      usage: { prompt_tokens: 7, completion_tokens: texts.length, total_tokens: 7 + texts.length },
    }),
    sse('[DONE]'),
  ];
}

/** The pieces of an answer that asks for these tools and says nothing. */
export function callPieces(...calls: readonly { readonly name: string; readonly arguments: object }[]): string[] {
  const toolCalls = calls.map((call, index) => ({
    index,
    id: `call_${index}`,
    type: 'function',
    function: { name: call.name, arguments: JSON.stringify(call.arguments) },
  }));
  return [chunk({ role: 'assistant', tool_calls: toolCalls }), chunk({}, 'tool_calls'), sse('[DONE]')];
}

/** What a request asks: messages in order, text only. */
export function messagesOf({ body }: ReceivedRequest): readonly { readonly role: string; readonly content: string }[] {
  const messages = Array.isArray(body['messages']) ? (body['messages'] as { role: string; content: unknown }[]) : [];
  return messages.map(({ role, content }) => ({ role, content: textOf(content) }));
}

/** A message with pictures has its words in parts. */
function textOf(content: unknown): string {
  if (!Array.isArray(content)) return typeof content === 'string' ? content : '';
  return (content as { text?: string }[]).map(({ text }) => text ?? '').join('');
}

/** The newest thing a person said in a request. */
export function userText(request: ReceivedRequest): string {
  return messagesOf(request).findLast(({ role }) => role === 'user')?.content ?? '';
}

export function stream(pieces: Reply['pieces'], options: Omit<Reply, 'pieces'> = {}): Reply {
  return { headers: EVENT_STREAM, ...options, pieces };
}

/** An error answer in OpenAI's shape. */
export function errorReply(status: number, error: object, headers: Readonly<Record<string, string>> = {}): Reply {
  return { status, headers: { 'content-type': 'application/json', ...headers }, pieces: [JSON.stringify({ error })] };
}

export function jsonReply(body: unknown): Reply {
  return { headers: { 'content-type': 'application/json' }, pieces: [JSON.stringify(body)] };
}

/** Listens on 127.0.0.1. `GET /__count` tells how many chat requests came; it is not one itself. */
export async function startModelServer(options: ModelServerOptions = {}): Promise<ModelServer> {
  const requests: ReceivedRequest[] = [];
  let count = 0;
  const stopping = new AbortController();
  const server = createServer((incoming, response) => {
    handle(incoming, response).catch(() => response.destroy());
  });

  const handle = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const path = incoming.url ?? '/';
    if (path === '/__count') return void response.setHeader('content-type', 'application/json').end(JSON.stringify({ count }));
    const index = count;
    count += 1;
    const request: ReceivedRequest = {
      method: incoming.method ?? '',
      path,
      headers: incoming.headers,
      body: await readBody(incoming),
      cut: false,
    };
    if (options.record !== false) requests.push(request);
    const reply = options.script?.(request, index) ?? echo(request, options.latencyMs ?? 0);
    const gone = new AbortController();
    response.once('close', () => {
      request.cut = !response.writableFinished;
      gone.abort();
    });
    await send(response, reply, AbortSignal.any([gone.signal, stopping.signal]));
  };

  server.listen(options.port ?? 0, '127.0.0.1');
  await once(server, 'listening');
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    requests,
    async [Symbol.asyncDispose]() {
      stopping.abort();
      await closeServer(server);
    },
  };
}

async function closeServer(server: Server): Promise<void> {
  if (!server.listening) return;
  const closed = once(server, 'close');
  server.close();
  server.closeAllConnections();
  await closed;
}

async function readBody(incoming: IncomingMessage): Promise<Record<string, unknown>> {
  const parts: Buffer[] = [];
  for await (const part of incoming) parts.push(part as Buffer);
  const text = Buffer.concat(parts).toString();
  const isForm = /^multipart\/|x-www-form-urlencoded/.test(incoming.headers['content-type'] ?? '');
  return text === '' || isForm ? {} : (JSON.parse(text) as Record<string, unknown>);
}

/** Keeps to the limit of the request, at four characters a token, as a server of the real thing does. */
function echo(request: ReceivedRequest, latencyMs: number): Reply {
  const most = request.body['max_completion_tokens'] ?? request.body['max_tokens'];
  const text = `echo: ${userText(request)}`.slice(0, typeof most === 'number' ? 4 * most : undefined);
  // One write for the whole answer: a benchmark measures the gateway, not this server.
  return stream([textPieces(text).join('')], { latencyMs });
}

async function send(response: ServerResponse, reply: Reply, signal: AbortSignal): Promise<void> {
  const { status = 200, headers = {}, latencyMs = 0, gapMs = 0, held, end = 'close' } = reply;
  const release = async (index: number): Promise<void> => {
    if (held?.before === index) await Promise.race([held.until, once(signal, 'abort')]);
  };
  if (latencyMs > 0) await sleep(latencyMs, undefined, { signal });
  await release(0);
  if (signal.aborted) return;
  if (reply.reason === undefined) response.writeHead(status, headers);
  else response.writeHead(status, reply.reason, headers);
  response.flushHeaders();
  for (const [index, piece] of reply.pieces.entries()) {
    if (index > 0) await (gapMs > 0 ? sleep(gapMs, undefined, { signal }) : nextTick());
    if (index > 0) await release(index);
    if (signal.aborted) return;
    response.write(piece);
  }
  if (end === 'close') response.end();
  // A moment, so that the bytes before the reset arrive.
  if (end === 'destroy') await sleep(20, undefined, { signal }).then(() => response.destroy());
}

if (import.meta.main) {
  const { values } = parseArgs({
    options: { port: { type: 'string', default: '0' }, latency: { type: 'string', default: '0' } },
  });
  const server = await startModelServer({ port: Number(values.port), latencyMs: Number(values.latency), record: false });
  process.stdout.write(`${server.url}\n`);
}

/**
 * Places at which a decoder of events errs most: around each line end, and inside characters of
 * several bytes.
 */
export function* tenderCuts(bytes: Uint8Array): Generator<number> {
  const isTender = (byte: number | undefined): boolean => byte === 0x0a || byte === 0x0d || (byte ?? 0) >= 0x80;
  for (let at = 1; at < bytes.length; at += 1) if (isTender(bytes[at - 1]) || isTender(bytes[at])) yield at;
}
