// a connection of the daemon -> programs, each with its start, its lines and its end
import type { Duplex, Writable } from 'node:stream';
import { errorText, isGatehouseError } from '../core/errors.ts';
import type { Clock } from '../core/ports.ts';
import { drained } from '../lib/drained.ts';
import { confine } from './confine.ts';
import { receive, send, type ToWorker, toWorker } from './messages.ts';
import { withOwnHome } from './own-home.ts';
import { probeSandbox } from './probe.ts';
import { type GroupOptions, runGroup } from './process-group.ts';

/** Programs at once; more are refused. The daemon asks for fewer at once, and keeps some places for hooks. */
const MAX_RUNNING = 80;
/** Lines and bytes that the daemon has not taken: above it the program has to wait. */
const MAX_UNSENT_BYTES = 4 * 1024 ** 2;
/** Bytes that a program was told and has not read: one that lets more of them wait is ended. */
const MAX_UNREAD_BYTES = 64 * 1024 ** 2;

/** Between two lines of progress. ms. */
const PROGRESS_EVERY_MS = 500;

type RunMessage = Extract<ToWorker, { readonly type: 'run' }>;

/**
 * Runs what a connection asks for. Settles once it is closed and everything that it asked for is gone: what
 * the daemon has no line to any more must not run on.
 */
export async function serveConnection(stream: Duplex, clock: Clock): Promise<void> {
  const connection = new Connection(stream, clock);
  // The reason is the daemon's to tell: it sees that the connection is gone.
  stream.on('error', () => undefined);
  const closed = new Promise<void>((resolve) => {
    stream.once('close', resolve);
    stream.once('end', () => stream.destroy());
  });
  receive(stream, toWorker, (message) => connection.take(message));
  await closed;
  await connection.end();
}

interface Running {
  readonly stop: AbortController;
  readonly go: PromiseWithResolvers<void>;
  /** Standard input of a program that is told more after it began. */
  readonly stdin: () => Writable | undefined;
  readonly done: Promise<void>;
}

interface Gate extends Pick<GroupOptions, 'onInput'> {
  readonly stop: AbortSignal;
  readonly go: Promise<void>;
}

class Connection {
  readonly #stream: Duplex;
  readonly #clock: Clock;
  readonly #running = new Map<number, Running>();

  constructor(stream: Duplex, clock: Clock) {
    this.#stream = stream;
    this.#clock = clock;
  }

  take(message: ToWorker): void {
    if (message.type === 'run') this.#begin(message);
    else if (message.type === 'go') this.#running.get(message.id)?.go.resolve();
    else if (message.type === 'input') this.#tell(message.id, Buffer.from(message.bytes, 'base64'));
    else if (message.type === 'stop') this.#running.get(message.id)?.stop.abort(new Error('stopped'));
    else void this.#probe(message);
  }

  #tell(id: number, bytes: Buffer): void {
    const running = this.#running.get(id);
    const stdin = running?.stdin();
    stdin?.write(bytes);
    if (stdin && stdin.writableLength > MAX_UNREAD_BYTES) running?.stop.abort(new Error('it does not read what it is told'));
  }

  async end(): Promise<void> {
    const running = [...this.#running.values()];
    for (const { stop } of running) stop.abort(new Error('the daemon is gone'));
    await Promise.all(running.map(({ done }) => done));
  }

  #begin(message: RunMessage): void {
    const { id } = message;
    if (this.#running.has(id) || this.#running.size >= MAX_RUNNING) {
      send(this.#stream, { type: 'failed', id, message: `${MAX_RUNNING} programs run already`, hint: 'try again later' });
      return;
    }
    const stop = new AbortController();
    const go = Promise.withResolvers<void>();
    // Who waits at the gate is to end with the rest.
    stop.signal.addEventListener('abort', () => go.reject(stop.signal.reason), { once: true });
    go.promise.catch(() => undefined);
    let stdin: Writable | undefined;
    const onInput = (pipe: Writable): void => {
      stdin = pipe;
    };
    const gate = { stop: stop.signal, go: go.promise, ...(message.input ? { onInput } : {}) };
    const done = this.#run(message, gate).finally(() => this.#running.delete(id));
    this.#running.set(id, { stop, go, done, stdin: () => stdin });
  }

  /** Never rejects. */
  async #run(
    { id, program, confinement, stdin, lines, output, timeoutMs, outputBytes }: RunMessage,
    { stop, go, ...input }: Gate,
  ): Promise<void> {
    const options: GroupOptions = {
      ...{ timeoutMs, outputBytes, ...input },
      ...(stdin === undefined ? {} : { stdin: Buffer.from(stdin, 'base64') }),
      onStart: async (process) => {
        send(this.#stream, { type: 'started', id, ...process });
        await go;
      },
      ...(lines === 'none' ? {} : { onLine: this.#teller(id, lines) }),
      ...(output ? { onOutput: (bytes) => send(this.#stream, { type: 'output', id, bytes: bytes.toString('base64') }) } : {}),
      drained: () => this.#drained(),
      clock: this.#clock,
    };
    try {
      const { memoryBytes, pids, home, readable, ...rest } = program;
      const bounds = {
        ...(memoryBytes === undefined ? {} : { memoryBytes }),
        ...(pids === undefined ? {} : { pids }),
        ...(home === undefined ? {} : { home }),
        ...(readable ? { readable } : {}),
      };
      const exit = await withOwnHome(rest, confinement.mode, (own) =>
        runGroup(confine({ ...rest, ...bounds, ...own }, confinement), options, stop),
      );
      send(this.#stream, { type: 'end', id, exit });
    } catch (error) {
      const hint = isGatehouseError(error) ? { hint: error.hint } : {};
      const code = isGatehouseError(error) && error.code === 'GH2014' ? { code: error.code } : {};
      send(this.#stream, { type: 'failed', id, message: errorText(error), ...hint, ...code });
    }
  }

  #teller(id: number, lines: 'all' | 'progress'): NonNullable<GroupOptions['onLine']> {
    let toldAt = Number.NEGATIVE_INFINITY;
    return (stream, line) => {
      if (lines === 'progress') {
        const now = this.#clock.monotonic();
        if (stream === 'out' || now - toldAt < PROGRESS_EVERY_MS) return;
        toldAt = now;
      }
      send(this.#stream, { type: 'line', id, stream, line });
    };
  }

  #drained(): Promise<void> | undefined {
    return this.#stream.writableLength < MAX_UNSENT_BYTES ? undefined : drained(this.#stream);
  }

  async #probe({ id, mode, confinement }: Extract<ToWorker, { readonly type: 'probe' }>): Promise<void> {
    const found = await probeSandbox(mode, confinement, this.#clock);
    send(this.#stream, { type: 'probed', id, found: 'mode' in found ? { ...found, programs: [...found.programs] } : found });
  }
}
