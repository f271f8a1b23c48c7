/** What carries messages to a server and back, with limits on all that comes in. */
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import type { Clock } from '../../core/ports.ts';
import { isDeep } from '../../lib/json-depth.ts';
import { LineProcess, type LineProgram } from './stdio-process.ts';

/** Spec G9: of one message. */
export const MAX_MESSAGE_BYTES = 1024 * 1024;
/** What a server may send in one window; answers of that many tools would be more than any run reads. */
const WINDOW_MS = 10_000;
const WINDOW_MESSAGES = 2_000;
const WINDOW_BYTES = 64 * MAX_MESSAGE_BYTES;
/** Lines that are no messages: some servers print a greeting. */
const MAX_NOISE = 100;

/** Throws where a server sends more than anything it could be asked for. */
class InflowLimit {
  readonly #clock: Pick<Clock, 'monotonic'>;
  #since = Number.NEGATIVE_INFINITY;
  #messages = 0;
  #bytes = 0;

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  count(bytes: number, messages = 1): void {
    const now = this.#clock.monotonic();
    if (now - this.#since > WINDOW_MS) {
      this.#since = now;
      this.#messages = 0;
      this.#bytes = 0;
    }
    this.#messages += messages;
    this.#bytes += bytes;
    if (this.#messages > WINDOW_MESSAGES)
      throw new Error(`it sent more than ${WINDOW_MESSAGES} messages in ${WINDOW_MS / 1_000} s`);
    if (this.#bytes > WINDOW_BYTES) throw new Error(`it sent more than ${WINDOW_BYTES} bytes in ${WINDOW_MS / 1_000} s`);
  }
}

type Callbacks = Pick<Transport, 'onclose' | 'onerror' | 'onmessage'>;

/** A transport that tells why it ended. */
export interface Wire extends Transport {
  /** Resolves once it is closed, by either side, with why. */
  readonly ended: Promise<Error>;
}

export type StdioOptions = Omit<LineProgram, 'onLine' | 'onEnd' | 'maxLineBytes'>;

/** One message a line, over standard input and output of a program. */
export class StdioTransport implements Wire {
  onclose?: NonNullable<Callbacks['onclose']>;
  onerror?: NonNullable<Callbacks['onerror']>;
  onmessage?: NonNullable<Callbacks['onmessage']>;
  readonly #options: StdioOptions;
  readonly #ended = Promise.withResolvers<Error>();
  readonly #inflow: InflowLimit;
  #process: LineProcess | undefined;
  #noise = 0;

  constructor(options: StdioOptions) {
    this.#options = options;
    this.#inflow = new InflowLimit(options.clock);
  }

  get ended(): Promise<Error> {
    return this.#ended.promise;
  }

  async start(): Promise<void> {
    this.#process = new LineProcess({
      ...this.#options,
      maxLineBytes: MAX_MESSAGE_BYTES,
      onLine: (line) => this.#take(line),
      onEnd: (reason) => {
        this.#ended.resolve(reason);
        this.onclose?.();
      },
    });
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if (!this.#process) throw new Error('the server was not started');
    this.#process.write(JSON.stringify(message));
  }

  async close(): Promise<void> {
    await this.#process?.close();
  }

  #take(line: string): void {
    if (line.trim() === '') return;
    try {
      this.#inflow.count(line.length);
      const message = asMessage(line);
      if (message) this.onmessage?.(message);
      else if (++this.#noise > MAX_NOISE) throw new Error(`it printed more than ${MAX_NOISE} lines that are no messages`);
    } catch (error) {
      this.#process?.fail(asError(error));
    }
  }
}

/** Throws for what is nested so deeply that it was made to do harm. */
function asMessage(line: string): JSONRPCMessage | undefined {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return undefined; // counted as noise
  }
  return checkedMessage(value);
}

function checkedMessage(value: unknown): JSONRPCMessage | undefined {
  if (isDeep(value)) throw new Error('it sent a message that is nested too deeply');
  if (typeof value !== 'object' || value === null || Array.isArray(value)) return undefined;
  return Reflect.get(value, 'jsonrpc') === '2.0' ? (value as JSONRPCMessage) : undefined;
}

/**
 * The SDK's own transport for HTTP, with the same limits. `make` gives one that has not been started, and
 * that calls `onBytes` with the length of all that comes in, of which not everything becomes a message.
 */
export class HttpTransport implements Wire {
  onclose?: NonNullable<Callbacks['onclose']>;
  onerror?: NonNullable<Callbacks['onerror']>;
  onmessage?: NonNullable<Callbacks['onmessage']>;
  readonly #inner: Transport;
  readonly #ended = Promise.withResolvers<Error>();
  readonly #inflow: InflowLimit;
  /** What went wrong since the last message: the SDK closes then, and does not say why. */
  #failure: Error | undefined;

  constructor(make: (onBytes: (bytes: number) => void) => Transport, clock: Clock) {
    this.#inflow = new InflowLimit(clock);
    this.#inner = make((bytes) => this.#take(bytes));
  }

  get ended(): Promise<Error> {
    return this.#ended.promise;
  }

  get sessionId(): string | undefined {
    return this.#inner.sessionId;
  }

  readonly setProtocolVersion = (version: string): void => this.#inner.setProtocolVersion?.(version);

  async start(): Promise<void> {
    this.#inner.onclose = () => {
      this.#ended.resolve(this.#failure ?? new Error('it was closed'));
      this.onclose?.();
    };
    this.#inner.onerror = (error) => {
      this.#failure = withStatus(error);
      // Of a server that forgot the session, as after its restart: only a new one helps.
      if (this.sessionId !== undefined && Reflect.get(error, 'code') === 404)
        this.#fail(new Error('it knows the session no more'));
      // Nothing more can be asked until a person has logged in.
      if (Reflect.get(error, 'code') === 'GH2304') this.#fail(error);
      this.onerror?.(error);
    };
    this.#inner.onmessage = (message, extra) => {
      try {
        this.#inflow.count(0);
        this.#failure = undefined;
        if (checkedMessage(message)) this.onmessage?.(message, extra);
      } catch (error) {
        this.#fail(asError(error));
      }
    };
    await this.#inner.start();
  }

  async send(...sent: Parameters<Transport['send']>): Promise<void> {
    try {
      await this.#inner.send(...sent);
    } catch (error) {
      this.#failure = withStatus(asError(error));
      throw this.#failure;
    }
  }

  async close(): Promise<void> {
    await this.#inner.close();
  }

  /** Ends the connection, and throws, where it is too much. */
  #take(bytes: number): void {
    try {
      this.#inflow.count(bytes, 0);
    } catch (error) {
      this.#fail(asError(error));
      throw error;
    }
  }

  #fail(reason: Error): void {
    this.#ended.resolve(reason);
    this.#inner.close().catch(() => undefined); // it is given up either way
  }
}

/** The SDK keeps the status of an answer beside its message. */
function withStatus(error: Error): Error {
  const status: unknown = Reflect.get(error, 'code');
  if (typeof status !== 'number' || status < 300 || error.message.includes(`${status}`)) return error;
  return Object.assign(new Error(`HTTP status ${status}: ${error.message}`, { cause: error }), { code: status });
}

function asError(error: unknown): Error {
  return error instanceof Error ? error : new Error(String(error));
}
