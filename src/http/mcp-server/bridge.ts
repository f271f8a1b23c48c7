// standard input of a client -> socket of the daemon -> standard output
//   A daemon that is gone is told of, and looked for again with the next request.
import { once } from 'node:events';
import { connect, type Socket } from 'node:net';
import { GatehouseError } from '../../core/errors.ts';
import { clientRunKey, clientSendKey } from '../../core/mcp-client.ts';
import type { Clock } from '../../core/ports.ts';
import { drained } from '../../lib/drained.ts';
import { startTimer } from '../../lib/timer.ts';
import { CALL_KEY, checkWelcome } from './hello.ts';
import { isRequest, Lines, MAX_LINE_BYTES, RPC, type RpcMessage, readLine, rpcError } from './lines.ts';
import { isOwnSocket } from './socket-file.ts';

/** The first connection makes the daemon load what serves clients. */
const WELCOME_MS = 30_000;
/** What the daemon may send: answers with the longest conversation, which it bounds itself. */
const ANSWER_BYTES = 16 * MAX_LINE_BYTES;

export interface BridgeOptions {
  readonly client: string;
  readonly socket: string;
  readonly input: NodeJS.ReadableStream;
  readonly output: NodeJS.WritableStream;
  /** Ids of bridges and calls: letters and digits in small letters. */
  readonly newId: () => string;
  /** For people, never in `output`. */
  readonly say: (text: string) => void;
  readonly clock: Clock;
}

interface Pending {
  /** Of a call that leaves something in the daemon, as `result` takes it. */
  readonly run?: string;
}

/** Carries the messages of one client. It knows of MCP what it needs to be there longer than a daemon is. */
export class Bridge {
  readonly #options: BridgeOptions;
  readonly #id: string;
  /** Requests of the client that are not answered, by their id as JSON. */
  readonly #pending = new Map<string, Pending>();
  /** What the client said at its beginning, for the next daemon. */
  #initialize: RpcMessage | undefined;
  #socket: Socket | undefined;
  /** Messages wait for the one before them: order is kept while the daemon is being looked for. */
  #sending: Promise<void> = Promise.resolve();
  /** While the client does not read. */
  #reading: Promise<void> | undefined;
  #count = 0;

  constructor(options: BridgeOptions) {
    this.#options = options;
    this.#id = options.newId();
  }

  /**
   * Until the client's input ends or `stop` aborts. Rejects with GH1002 where no daemon listens, GH1003 where
   * it does not know the client, GH2306 where it cannot be reached for another reason. All of these come
   * before anything was read.
   */
  async run(stop: AbortSignal): Promise<void> {
    const { input } = this.#options;
    await this.#connected();
    const lines = new Lines({
      onLine: (line) => this.#take(line),
      onTooLong: () =>
        this.#answer(rpcError(null, RPC.invalid, `a message has ${MAX_LINE_BYTES} bytes at most; this one is passed over`)),
    });
    const ended = Promise.withResolvers<void>();
    stop.addEventListener('abort', () => ended.resolve(), { once: true });
    input.on('data', (chunk: Buffer | string) => {
      // What the client sends waits in its own pipe, and nothing of it here, until what came before has left.
      input.pause();
      lines.write(Buffer.from(chunk));
      void this.#sending.then(() => input.resume());
    });
    input.once('end', () => ended.resolve());
    input.once('error', () => ended.resolve());
    this.#options.output.once('error', () => ended.resolve()); // the client is gone
    if (stop.aborted) ended.resolve();
    await ended.promise;
    input.pause();
    this.#socket?.destroy();
  }

  #take(line: string): void {
    const read = readLine(line);
    if (read.kind === 'refusal') {
      this.#answer(read.answer);
      return;
    }
    const { message } = read;
    if (message.method === 'initialize') this.#initialize = message;
    const sent = isRequest(message) ? this.#expected(message) : message;
    this.#sending = this.#sending.then(() => this.#send(sent));
  }

  /** With the key by which the daemon knows the call again. */
  #expected(message: RpcMessage & { readonly id: string | number; readonly method: string }): RpcMessage {
    const { id, method, params = {} } = message;
    if (method !== 'tools/call') {
      this.#pending.set(JSON.stringify(id), {});
      return message;
    }
    this.#count += 1;
    const key = `${this.#id}-${this.#count}`;
    const run = runOf(this.#options.client, params, key);
    this.#pending.set(JSON.stringify(id), run === undefined ? {} : { run });
    const { _meta: meta } = params as { readonly _meta?: object };
    return { ...message, params: { ...params, _meta: { ...meta, [CALL_KEY]: key } } };
  }

  async #send(message: RpcMessage): Promise<void> {
    try {
      const socket = await this.#connected();
      if (!socket.write(`${JSON.stringify(message)}\n`)) await drained(socket);
    } catch (error) {
      // Of a request that never left, nothing is in the daemon.
      if (isRequest(message)) this.#fail(JSON.stringify(message.id), error instanceof GatehouseError ? error : lost(), false);
    }
  }

  /** The connection there is, or a new one, to which the client is made known as it was to the one before. */
  async #connected(): Promise<Socket> {
    if (this.#socket && !this.#socket.destroyed) return this.#socket;
    const { socket: path, client } = this.#options;
    if (!(await isOwnSocket(path))) throw notThere();
    const socket = connect(path);
    const welcome = new Reader(socket, this.#options.clock);
    socket.write(`${JSON.stringify({ as: client, id: this.#id })}\n`);
    checkWelcome(await welcome.next());
    if (this.#initialize && this.#socket) {
      socket.write(`${JSON.stringify(this.#initialize)}\n`);
      await welcome.next();
      socket.write(`${JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' })}\n`);
      this.#options.say('connected to the daemon again');
    }
    welcome.rest((line) => this.#hand(line));
    socket.once('close', () => this.#lose());
    this.#socket = socket;
    return socket;
  }

  /** A line of the daemon, for the client. The daemon is not read while the client does not read. */
  #hand(line: string): void {
    const read = readLine(line);
    if (read.kind === 'refusal') return;
    const { id, method } = read.message;
    if (id !== undefined && method === undefined) this.#pending.delete(JSON.stringify(id));
    if (this.#options.output.write(`${line}\n`)) return;
    this.#socket?.pause();
    void this.#untilRead();
  }

  #lose(): void {
    if (this.#pending.size > 0) this.#options.say('the daemon is gone; it is looked for again with the next request');
    for (const id of [...this.#pending.keys()]) this.#fail(id, lost(), true);
  }

  /** `isTaken`: the request may have reached the daemon. */
  #fail(id: string, { message, hint }: GatehouseError, isTaken: boolean): void {
    const pending = this.#pending.get(id);
    this.#pending.delete(id);
    if (!pending) return;
    const { run } = pending;
    const later =
      isTaken && run !== undefined ? ` What was taken goes on with it: ask for the result of ${run} then.` : ` ${hint}.`;
    this.#answer(
      rpcError(JSON.parse(id) as string | number, RPC.refused, `${message}.${later}`, isTaken && run ? { id: run } : {}),
    );
  }

  /** One that the client does not read holds up the next messages of it. */
  #answer(line: object): void {
    const { output } = this.#options;
    if (output.write(`${JSON.stringify(line)}\n`)) return;
    const drained = this.#untilRead();
    this.#sending = this.#sending.then(() => drained);
  }

  /** Until the client has read what waits for it. Never rejects. */
  #untilRead(): Promise<void> {
    this.#reading ??= once(this.#options.output, 'drain')
      .catch(() => undefined) // its end is seen by `run`
      .then(() => {
        this.#reading = undefined;
        this.#socket?.resume();
      });
    return this.#reading;
  }
}

function lost(): GatehouseError {
  return new GatehouseError('GH1002', 'the daemon ended before it answered');
}

function notThere(): GatehouseError {
  return new GatehouseError('GH1002', 'the daemon is not running, or lets no MCP clients in');
}

/** The id under which the daemon keeps what this call leaves there. */
function runOf(client: string, { name, arguments: args }: Readonly<Record<string, unknown>>, key: string): string | undefined {
  const own = typeof args === 'object' && args !== null ? (Reflect.get(args, 'key') as unknown) : undefined;
  const used = typeof own === 'string' && own !== '' ? own : key;
  if (name === 'ask') return clientRunKey(client, used);
  return name === 'send' ? clientSendKey(client, used) : undefined;
}

/** The lines of a new connection one by one, then all that follow. */
class Reader {
  readonly #socket: Socket;
  readonly #clock: Clock;
  #lines: string[] = [];
  #onLine: (line: string) => void = (line) => void this.#lines.push(line);
  #wake: () => void = () => undefined;
  #isOver = false;

  constructor(socket: Socket, clock: Clock) {
    this.#socket = socket;
    this.#clock = clock;
    const lines = new Lines({
      maxBytes: ANSWER_BYTES,
      onLine: (line) => {
        this.#onLine(line);
        this.#wake();
      },
      onTooLong: () => socket.destroy(),
    });
    socket.on('data', (chunk: Buffer) => lines.write(chunk));
    socket.on('error', () => undefined); // 'close' follows
    socket.once('close', () => {
      this.#isOver = true;
      this.#wake();
    });
  }

  /** Rejects with GH1002 when the connection ends before, or nothing comes in time. */
  async next(): Promise<string> {
    const stop = startTimer(this.#clock, WELCOME_MS, () => this.#socket.destroy());
    try {
      for (;;) {
        const line = this.#lines.shift();
        if (line !== undefined) return line;
        if (this.#isOver) throw notThere();
        await new Promise<void>((resolve) => {
          this.#wake = resolve;
        });
      }
    } finally {
      stop();
    }
  }

  rest(onLine: (line: string) => void): void {
    this.#onLine = onLine;
    for (const line of this.#lines.splice(0)) onLine(line);
  }
}
