/**
 * A model server that refuses what the documentation of its provider says is refused. The wires are in the
 * files beside this one.
 */
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Clock } from '../../core/ports.ts';
import { systemClock } from '../../lib/clock.ts';
import type { CommonRefusals, Refusal, StrictRequest, Turn, TurnUsage } from './exchange.ts';
import { charsIn, Memory, type MemoryOptions, tokensIn } from './memory.ts';

export type { CommonRefusals, Refusal, StrictRequest, Turn, TurnUsage } from './exchange.ts';
export { Memory } from './memory.ts';

export interface StrictWire {
  /** Its name in src/llm/providers. */
  readonly provider: string;
  /** Appended to the origin it gives the base URL: `/v1`, `/v1beta`. */
  readonly basePath: string;
  readonly refuse: CommonRefusals;
  /**
   * The refusal the documentation names, or undefined. `memory` is what this server issued: ids, reasoning,
   * signatures.
   */
  validate(request: StrictRequest, memory: Memory): Refusal | undefined;
  /** What the model adds to a turn before it is counted: reasoning, where the model always thinks. */
  complete?(turn: Turn, request: StrictRequest, memory: Memory): Turn;
  /**
   * The answer as server-sent events, ready to write; records in `memory` what was issued. `turn.usage` is
   * always set.
   */
  answer(turn: CountedTurn, request: StrictRequest, memory: Memory): readonly string[];
  /** Body of `GET <basePath>/models`. Default: OpenAI's list. */
  models?(memory: Memory): unknown;
  /** Default: the bearer token. */
  keyOf?(request: StrictRequest): string | undefined;
  /** Default: `model` of the body. */
  modelOf?(request: StrictRequest): string;
  /** The output limit that counts against the window. Default: 0, only the prompt counts. */
  outputOf?(request: StrictRequest): number;
  /** Usage of a turn that names none. Default: `memory.count` with the caching that `prefixOf` gives. */
  count?(turn: Turn, request: StrictRequest, memory: Memory): TurnUsage;
  /**
   * Automatic caching: the request's cacheable text in the order in which the provider compares it. Absent =
   * none.
   */
  prefixOf?(request: StrictRequest): string;
  /** One keep-alive of the wire, ready to write. Absent: the wire has none and stays silent. */
  signOfLife?(request: StrictRequest): string;
}

export type CountedTurn = Turn & { readonly usage: TurnUsage };

export interface StrictServer extends AsyncDisposable {
  readonly origin: string;
  /** `origin` with the wire's base path. */
  readonly baseUrl: string;
  /** All of them, refused ones included. */
  readonly requests: readonly StrictRequest[];
  /** What broke a rule. A refusal that the script ordered is not in it. */
  readonly refusals: readonly { readonly request: StrictRequest; readonly refusal: Refusal }[];
  /**
   * Sum of what was billed: usage of every answer begun, failed and cut ones included, by the server's own
   * count.
   */
  readonly billed: { readonly in: number; readonly out: number; readonly cached: number; readonly cacheWrite: number };
  /** Counters that a wire wants to report, such as dummy signatures. */
  readonly counts: Readonly<Record<string, number>>;
}

export type Script = (request: StrictRequest, nth: number) => Turn | Refusal;

export interface StrictServerOptions extends MemoryOptions {
  /** Silences follow it. Default: the system's. */
  readonly clock?: Clock;
}

/** Between two keep-alives. ms */
const SIGN_OF_LIFE_MS = 10_000;

/**
 * Listens on 127.0.0.1. `script` is asked for each accepted call, with the number of calls accepted before
 * it.
 */
export async function startStrictServer(
  wire: StrictWire,
  script: Script,
  options: StrictServerOptions = {},
): Promise<StrictServer> {
  const requests: StrictRequest[] = [];
  const refusals: { request: StrictRequest; refusal: Refusal }[] = [];
  const billed = { in: 0, out: 0, cached: 0, cacheWrite: 0 };
  const memory = new Memory(options);
  const stopping = new AbortController();
  let accepted = 0;

  const handle = async (incoming: IncomingMessage, response: ServerResponse): Promise<void> => {
    const request = await readRequest(incoming);
    requests.push(request);
    const refusal = refuse(wire, request, memory);
    if (refusal !== undefined) {
      refusals.push({ request, refusal });
      return sendJson(response, refusal);
    }
    if (request.method === 'GET') return sendJson(response, { status: 200, body: modelList(wire, memory) });
    const scripted = script(request, accepted++);
    if ('status' in scripted) return sendJson(response, scripted);
    const turn = wire.complete?.(scripted, request, memory) ?? scripted;
    // Counted even where the script says what was used: the prompt is compared with later ones.
    const counted = wire.count?.(turn, request, memory) ?? memory.count(turn, request, wire.prefixOf?.(request));
    const usage = turn.usage ?? counted;
    billed.in += usage.in;
    billed.out += usage.out;
    billed.cached += usage.cached ?? 0;
    billed.cacheWrite += usage.cacheWrite ?? 0;
    const events = wire.answer({ ...turn, usage }, request, memory);
    const left = new AbortController();
    response.once('close', () => left.abort());
    const signal = AbortSignal.any([left.signal, stopping.signal]);
    await play(response, events, turn, { clock: options.clock ?? systemClock, alive: wire.signOfLife?.(request), signal });
  };

  const server = createServer((incoming, response) => {
    handle(incoming, response).catch(() => response.destroy());
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    origin,
    baseUrl: `${origin}${wire.basePath}`,
    requests,
    refusals,
    billed,
    counts: memory.counts,
    async [Symbol.asyncDispose]() {
      stopping.abort();
      if (!server.listening) return;
      const closed = once(server, 'close');
      server.close();
      server.closeAllConnections();
      await closed;
    },
  };
}

/** The checks in the order of real servers: key, model, the wire's rules, size. */
function refuse(wire: StrictWire, request: StrictRequest, memory: Memory): Refusal | undefined {
  const { apiKey, models, retired, contextWindow } = memory.options;
  const key = wire.keyOf === undefined ? bearer(request) : wire.keyOf(request);
  if (!key || (apiKey !== undefined && key !== apiKey)) return wire.refuse.key(key);
  if (request.method === 'GET' && request.path === `${wire.basePath}/models`) return undefined;
  const model = wire.modelOf?.(request) ?? String(request.body['model'] ?? '');
  if (retired?.includes(model)) return wire.refuse.model(model, true);
  if (models !== undefined && !models.includes(model)) return wire.refuse.model(model, false);
  const refusal = wire.validate(request, memory);
  if (refusal !== undefined) return refusal;
  const [prompt, output] = [tokensIn(charsIn(request.body)), wire.outputOf?.(request) ?? 0];
  if (contextWindow === undefined || prompt + output <= contextWindow) return undefined;
  return wire.refuse.overflow({ prompt, output, window: contextWindow, model });
}

function bearer({ headers }: StrictRequest): string | undefined {
  return /^Bearer (.+)$/.exec(headers.authorization ?? '')?.[1];
}

function modelList(wire: StrictWire, memory: Memory): unknown {
  const data = memory.available().map((id) => ({ id, object: 'model', created: 1_780_000_000, owned_by: wire.provider }));
  return wire.models?.(memory) ?? { object: 'list', data };
}

interface Playing {
  readonly clock: Clock;
  readonly alive: string | undefined;
  readonly signal: AbortSignal;
}

async function play(response: ServerResponse, events: readonly string[], turn: Turn, playing: Playing): Promise<void> {
  const silentAt = turn.silentAfterEvents ?? 0;
  if (turn.lateMs !== undefined) {
    begin(response);
    await playing.clock.sleep(turn.lateMs, playing.signal);
  }
  for (const [index, event] of events.entries()) {
    if (index === turn.cutAfterEvents) return cut(response);
    if (index === silentAt) await keepSilent(response, turn, playing);
    if (playing.signal.aborted) return;
    begin(response);
    response.write(event);
  }
  if (turn.cutAfterEvents === events.length) return cut(response);
  response.end();
}

async function keepSilent(response: ServerResponse, turn: Turn, { clock, alive, signal }: Playing): Promise<void> {
  const living = turn.signsOfLife && alive !== undefined;
  for (let left = turn.silentMs ?? 0; left > 0; left -= SIGN_OF_LIFE_MS) {
    if (living) begin(response).write(alive);
    await clock.sleep(Math.min(left, SIGN_OF_LIFE_MS), signal);
  }
}

function begin(response: ServerResponse): ServerResponse {
  if (!response.headersSent) response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders();
  return response;
}

/** Breaks the connection; what was written before arrives. */
function cut(response: ServerResponse): void {
  begin(response).write('', () => response.socket?.end());
}

function sendJson(response: ServerResponse, { status, body, headers }: Refusal): void {
  response.writeHead(status, { 'content-type': 'application/json', ...headers });
  response.end(typeof body === 'string' ? body : JSON.stringify(body));
}

async function readRequest(incoming: IncomingMessage): Promise<StrictRequest> {
  const parts: Buffer[] = [];
  for await (const part of incoming) parts.push(part as Buffer);
  const text = Buffer.concat(parts).toString();
  const url = new URL(incoming.url ?? '/', 'http://127.0.0.1');
  const body = text === '' ? {} : (JSON.parse(text) as Record<string, unknown>);
  return { method: incoming.method ?? '', path: url.pathname, query: url.searchParams, headers: incoming.headers, body };
}

/** One server-sent event; `event` is the name that some wires write before the data. */
export function sse(data: unknown, event?: string): string {
  const name = event === undefined ? '' : `event: ${event}\n`;
  return `${name}data: ${typeof data === 'string' ? data : JSON.stringify(data)}\n\n`;
}
