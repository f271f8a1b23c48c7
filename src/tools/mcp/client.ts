/** One connection to one server: the handshake, its list of tools, and calls. */
import { z } from 'zod';
import { errorText } from '../../core/errors.ts';
import type { Clock } from '../../core/ports.ts';
import { linkedSignal } from '../../lib/linked-signal.ts';
import { startTimer } from '../../lib/timer.ts';
import { CallLimit } from './call-limit.ts';
import type { AskServer } from './pages.ts';
import { callPromptTool, PROMPT_TOOLS } from './prompts.ts';
import { callResourceTool, RESOURCE_TOOLS } from './resources.ts';
import { loadSdk } from './sdk.ts';
import { type OpenCall, ServerRequests } from './server-requests.ts';
import type { Wire } from './transport.ts';

/** Of the handshake and of each list. */
const ANSWER_MS = 30_000;
const MAX_PAGES = 50;
const MAX_TOOLS = 500;
/** Longest limit that a timer of Node takes: the limits here are kept by our own clock. */
const NO_LIMIT_MS = 2 ** 31 - 1;

const pageSchema = z.object({ tools: z.array(z.unknown()), nextCursor: z.string().max(10_000).nullish() });
const anySchema = z.looseObject({});

export interface ToolList {
  readonly tools: readonly unknown[];
  /** Why there may be more than these. */
  readonly cut?: string;
}

export interface CallOptions extends Pick<OpenCall, 'who' | 'elicit'> {
  /** Without the time in which a person is asked. */
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

/** What ends a call without an answer has these codes or none (JSON-RPC 2.0: those of a server are below). */
const NO_ANSWER = [-32_000, -32_001];

export interface ConnectOptions {
  readonly version: string;
  readonly clock: Clock;
  readonly signal: AbortSignal;
  /** The server says that its list of tools is another one. */
  readonly onListChanged: () => void;
  /** It asked for something that it is not given. */
  readonly onRefused: (method: string) => void;
  /** The server may put questions to the people whom calls are made for. Default: it may not. */
  readonly asksPeople?: boolean;
}

type Client = InstanceType<Awaited<ReturnType<typeof loadSdk>>['Client']>;

interface MadeTools {
  readonly tools: readonly { readonly name: string }[];
  readonly call: (name: string, args: unknown, ask: AskServer) => Promise<unknown>;
}

/** By the capability that a server has to have. */
const MADE = {
  resources: { tools: RESOURCE_TOOLS, call: callResourceTool },
  prompts: { tools: PROMPT_TOOLS, call: callPromptTool },
} as const satisfies Readonly<Record<string, MadeTools>>;

export class McpConnection implements AsyncDisposable {
  readonly #client: Client;
  readonly #wire: Wire;
  readonly #clock: Clock;
  readonly #requests: ServerRequests;
  /** Tools that this end makes of the server's resources and prompts, by their names. */
  #made: ReadonlyMap<string, MadeTools['call']> = new Map();

  private constructor(client: Client, wire: Wire, { clock, onRefused, asksPeople = false }: ConnectOptions) {
    this.#client = client;
    this.#wire = wire;
    this.#clock = clock;
    this.#requests = new ServerRequests({ asksPeople, onRefused });
  }

  /** Rejects when the server cannot be reached, or does not answer as one; nothing of it is left then. */
  static async open(wire: Wire, options: ConnectOptions): Promise<McpConnection> {
    const { Client } = await loadSdk();
    const { clock, signal, version, onListChanged, asksPeople } = options;
    // No sampling, no roots.
    const capabilities = asksPeople ? { elicitation: { form: { applyDefaults: true } } } : {};
    const client = new Client({ name: 'gatehouse', version }, { capabilities });
    const connection = new McpConnection(client, wire, options);
    client.fallbackRequestHandler = ({ method, params }, { signal: withdrawn }) =>
      connection.#requests.answer(method, params, withdrawn);
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

  /** Whether the server waits here for a person other than this one; see `OpenCall.who`. */
  isAskingOthers(who: string | undefined): boolean {
    return this.#requests.isAskingOthers(who);
  }

  /** Resolves when the connection is over, with why. */
  get ended(): Promise<Error> {
    return this.#wire.ended;
  }

  /**
   * All pages, as far as the limits go; behind them the tools for the server's resources and prompts where it
   * has some. A tool of its own that is called the same goes before.
   */
  async listTools(signal: AbortSignal): Promise<ToolList> {
    const list = await this.#listOwn(signal);
    const own = new Set(list.tools.map((tool) => z.object({ name: z.string() }).safeParse(tool).data?.name));
    const made = this.#madeTools().flatMap(({ tools, call }) =>
      tools.filter(({ name }) => !own.has(name)).map((tool) => ({ tool, call })),
    );
    this.#made = new Map(made.map(({ tool, call }) => [tool.name, call]));
    return { ...list, tools: [...list.tools, ...made.map(({ tool }) => tool)] };
  }

  #madeTools(): readonly MadeTools[] {
    const { resources, prompts } = this.#client.getServerCapabilities() ?? {};
    return [...(resources ? [MADE.resources] : []), ...(prompts ? [MADE.prompts] : [])];
  }

  async #listOwn(signal: AbortSignal): Promise<ToolList> {
    const { tools: has } = this.#client.getServerCapabilities() ?? {};
    if (!has) return { tools: [], ...(this.#madeTools().length > 0 ? {} : { cut: 'the server says that it has no tools' }) };
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
  async call(name: string, args: unknown, { timeoutMs, signal, ...asks }: CallOptions): Promise<CallAnswer> {
    const notes: string[] = [];
    using ending = linkedSignal(signal);
    using limit = new CallLimit(this.#clock, timeoutMs, (reason) => ending.abort(reason));
    using _open = this.#requests.begin({ ...asks, notes, limit });
    try {
      const options = { timeout: NO_LIMIT_MS, signal: ending.signal, onprogress: () => limit.progress() };
      const ask = (method: string, params: Record<string, unknown>) =>
        this.#client.request({ method, params }, anySchema, options);
      const made = this.#made.get(name);
      return { answer: made ? await made(name, args, ask) : await ask('tools/call', { name, arguments: args }), notes };
    } catch (error) {
      if (ending.signal.aborted) throw ending.signal.reason;
      throw isRefusal(error) ? new CallRefused(errorText(error), { cause: error }) : await endOr(error, this.#wire);
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
