/** One connection to one server: the handshake, its list of tools, and calls. */
import { z } from 'zod';
import { errorText } from '../../core/errors.ts';
import type { Clock } from '../../core/ports.ts';
import { linkedSignal } from '../../lib/linked-signal.ts';
import { oneLine } from '../../lib/one-line.ts';
import { startTimer } from '../../lib/timer.ts';
import { callResourceTool, RESOURCE_TOOLS } from './resources.ts';
import { loadSdk } from './sdk.ts';
import type { Wire } from './transport.ts';

/** Of the handshake and of each list. */
const ANSWER_MS = 30_000;
const MAX_PAGES = 50;
const MAX_TOOLS = 500;
/** A call that reports progress may last so many times its limit. */
const PROGRESS_FACTOR = 10;
/** Longest limit that a timer of Node takes: the limits here are kept by our own clock. */
const NO_LIMIT_MS = 2 ** 31 - 1;
/** Longest question of a server that is repeated. UTF-16 units. */
const MAX_SHOWN = 300;

const pageSchema = z.object({ tools: z.array(z.unknown()), nextCursor: z.string().max(10_000).nullish() });
const anySchema = z.looseObject({});

export interface ToolList {
  readonly tools: readonly unknown[];
  /** Why there may be more than these. */
  readonly cut?: string;
}

export interface CallOptions {
  readonly timeoutMs: number;
  readonly signal: AbortSignal;
}

/** What a call came to. `notes`: what the server wanted meanwhile and was refused, a sentence each. */
export interface CallAnswer {
  readonly answer: unknown;
  readonly notes: readonly string[];
}

/** A call that the server answered with an error of its own: it was not made. */
export class CallRefused extends Error {}

/** What ends a call without an answer has these codes, or none (JSON-RPC 2.0: those of a server are below). */
const NO_ANSWER = [-32_000, -32_001];

export interface ConnectOptions {
  readonly version: string;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** The server says that its list of tools is another one. */
  readonly onListChanged: () => void;
  /** It asked for something that it is not given. */
  readonly onRefused: (method: string) => void;
}

/** A method of a server's own request -> why it is refused, for the model and the log. */
const REFUSED: Readonly<Record<string, string>> = {
  'elicitation/create':
    'Gatehouse does not pass questions of a server on to a person. Ask the person yourself, and call the tool again with the answer',
  'sampling/createMessage': 'a server may not use the model',
  'roots/list': 'a server is told of no directories',
};

type Client = InstanceType<Awaited<ReturnType<typeof loadSdk>>['Client']>;

export class McpConnection implements AsyncDisposable {
  readonly #client: Client;
  readonly #wire: Wire;
  readonly #clock: Clock;
  /** Of the calls under way: what they are to tell. */
  readonly #notes = new Set<string[]>();
  /** Names of the tools that this end makes of the server's resources. */
  #resourceTools: ReadonlySet<string> = new Set();

  private constructor(client: Client, wire: Wire, clock: Clock) {
    this.#client = client;
    this.#wire = wire;
    this.#clock = clock;
  }

  /** Rejects when the server cannot be reached, or does not answer as one; nothing of it is left then. */
  static async open(wire: Wire, options: ConnectOptions): Promise<McpConnection> {
    const { Client } = await loadSdk();
    const { clock, signal, version, onListChanged, onRefused } = options;
    // It can do nothing for a server: no sampling, no roots, no questions.
    const client = new Client({ name: 'gatehouse', version }, { capabilities: {} });
    const connection = new McpConnection(client, wire, clock);
    client.fallbackRequestHandler = async ({ method, params }) => {
      onRefused(method);
      throw connection.#refuse(method, params);
    };
    client.fallbackNotificationHandler = async ({ method }) => {
      if (method === 'notifications/tools/list_changed') onListChanged();
    };
    using limit = linkedSignal(signal);
    const stop = startTimer(clock, ANSWER_MS, () => limit.abort(new Error(`it did not answer within ${ANSWER_MS / 1_000} s`)));
    try {
      await Promise.race([
        client.connect(wire, { timeout: NO_LIMIT_MS, signal: limit.signal }),
        wire.ended.then((reason) => Promise.reject(reason)),
        aborted(limit.signal),
      ]);
      return connection;
    } catch (error) {
      const why = limit.signal.aborted ? limit.signal.reason : await endOr(error, wire);
      await wire.close();
      throw why;
    } finally {
      stop();
    }
  }

  /** Resolves when the connection is over, with why. */
  get ended(): Promise<Error> {
    return this.#wire.ended;
  }

  /**
   * All pages, as far as the limits go; behind them the tools for the server's resources where it has some. A
   * tool of its own that is called the same goes before.
   */
  async listTools(signal: AbortSignal): Promise<ToolList> {
    const list = await this.#listOwn(signal);
    const { resources } = this.#client.getServerCapabilities() ?? {};
    const own = new Set(list.tools.map((tool) => z.object({ name: z.string() }).safeParse(tool).data?.name));
    const ours = resources ? RESOURCE_TOOLS.filter(({ name }) => !own.has(name)) : [];
    this.#resourceTools = new Set(ours.map(({ name }) => name));
    return { ...list, tools: [...list.tools, ...ours] };
  }

  async #listOwn(signal: AbortSignal): Promise<ToolList> {
    const { tools: has, resources } = this.#client.getServerCapabilities() ?? {};
    if (!has) return { tools: [], ...(resources ? {} : { cut: 'the server says that it has no tools' }) };
    const tools: unknown[] = [];
    const seen = new Set<string>();
    let cursor: string | undefined;
    for (let pages = 0; ; pages += 1) {
      if (pages === MAX_PAGES) return { tools, cut: `its list has more than ${MAX_PAGES} pages` };
      const page = pageSchema.parse(await this.#ask('tools/list', cursor === undefined ? {} : { cursor }, signal));
      tools.push(...page.tools.slice(0, MAX_TOOLS - tools.length));
      if (tools.length === MAX_TOOLS && (page.tools.length > 0 || page.nextCursor))
        return { tools, cut: `it has ${MAX_TOOLS} tools or more` };
      if (!page.nextCursor) return { tools };
      if (seen.has(page.nextCursor)) return { tools, cut: 'its list has no end' };
      seen.add(page.nextCursor);
      cursor = page.nextCursor;
    }
  }

  /**
   * Rejects with `CallRefused`, with the signal's reason, or where no answer came: whether the call took
   * effect is unknown then. The server is told when it is given up.
   */
  async call(name: string, args: unknown, { timeoutMs, signal }: CallOptions): Promise<CallAnswer> {
    const notes: string[] = [];
    using limit = linkedSignal(signal);
    const over = (ms: number) => () => limit.abort(new Error(`no answer within ${Math.round(ms / 1_000)} s`));
    let stop = startTimer(this.#clock, timeoutMs, over(timeoutMs));
    const stopAll = startTimer(this.#clock, timeoutMs * PROGRESS_FACTOR, over(timeoutMs * PROGRESS_FACTOR));
    const onprogress = (): void => {
      stop();
      stop = startTimer(this.#clock, timeoutMs, over(timeoutMs));
    };
    this.#notes.add(notes);
    try {
      const options = { timeout: NO_LIMIT_MS, signal: limit.signal, onprogress };
      const ask = (method: string, params: Record<string, unknown>) =>
        this.#client.request({ method, params }, anySchema, options);
      const answer = this.#resourceTools.has(name)
        ? await callResourceTool(name, args, ask)
        : await ask('tools/call', { name, arguments: args });
      return { answer, notes };
    } catch (error) {
      if (limit.signal.aborted) throw limit.signal.reason;
      throw isRefusal(error) ? new CallRefused(errorText(error), { cause: error }) : await endOr(error, this.#wire);
    } finally {
      stop();
      stopAll();
      this.#notes.delete(notes);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#wire.close();
  }

  async #ask(method: string, params: Record<string, unknown>, signal: AbortSignal): Promise<unknown> {
    using limit = linkedSignal(signal);
    const stop = startTimer(this.#clock, ANSWER_MS, () =>
      limit.abort(new Error(`${method} was not answered within ${ANSWER_MS / 1_000} s`)),
    );
    try {
      return await this.#client.request({ method, params }, anySchema, { timeout: NO_LIMIT_MS, signal: limit.signal });
    } catch (error) {
      throw limit.signal.aborted ? limit.signal.reason : await endOr(error, this.#wire);
    } finally {
      stop();
    }
  }

  /** A refusal that the server reads, and that each call under way tells its model. */
  #refuse(method: string, params: unknown): Error {
    const why = Object.hasOwn(REFUSED, method) ? REFUSED[method] : 'Gatehouse does not know it';
    const said = typeof params === 'object' && params !== null ? Reflect.get(params, 'message') : undefined;
    const asked = typeof said === 'string' ? ` (“${oneLine(said, MAX_SHOWN)}”)` : '';
    const note = `[The server asked for ${oneLine(method, 60)}${asked} and was refused: ${why}.]`;
    for (const notes of this.#notes) if (notes.length < 3) notes.push(note);
    return Object.assign(new Error(why), { code: -32_601 });
  }
}

/** Why the connection is over, if it is: the SDK only says that it is. */
function endOr(error: unknown, wire: Wire): Promise<unknown> {
  return Promise.race([wire.ended, Promise.resolve(error)]);
}

function isRefusal(error: unknown): boolean {
  const code: unknown = error instanceof Error ? Reflect.get(error, 'code') : undefined;
  return typeof code === 'number' && code < 0 && !NO_ANSWER.includes(code);
}

function aborted(signal: AbortSignal): Promise<never> {
  return new Promise((_resolve, reject) => {
    if (signal.aborted) reject(signal.reason);
    else signal.addEventListener('abort', () => reject(signal.reason), { once: true });
  });
}
