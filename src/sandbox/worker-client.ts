// what the daemon asks of a worker -> messages -> how it ended
import type { Duplex } from 'node:stream';
import { errorText, GatehouseError } from '../core/errors.ts';
import type { Clock } from '../core/ports.ts';
import type { Exit } from '../core/process.ts';
import { startTimer } from '../lib/timer.ts';
import { CLEAN_UP_MS } from './clean-up.ts';
import type { Confinement, SandboxMode } from './confine.ts';
import { type FromWorker, fromWorker, receive, send, type ToWorker } from './messages.ts';
import type { Probed } from './probe.ts';

type RunMessage = Extract<ToWorker, { readonly type: 'run' }>;
export type RunRequest = Omit<RunMessage, 'type' | 'id' | 'lines' | 'output' | 'input'>;

export interface RunHooks {
  /** The program begins once it has resolved, and never when it rejects. */
  readonly onStart: (process: { readonly pid: number; readonly started: string }) => Promise<void>;
  readonly onLine?: (stream: 'out' | 'err', line: string) => void;
  /** As `Spawn.onProgress`. */
  readonly onProgress?: (line: string) => void;
  /** Nothing more is taken from the worker until it has resolved. */
  readonly onOutput?: (bytes: Uint8Array) => Promise<void>;
  /** As `Spawn.onInput`. */
  readonly onInput?: (write: (bytes: Uint8Array) => void) => void;
}

/**
 * From a stop to the end of a program: TERM, KILL, and a wait for what is slow to go, with a share for the
 * machine; a container is removed besides. A worker that takes longer hangs, and is given up. ms.
 */
const STOP_MS = 5_000;
const STOP_CONTAINER_MS = STOP_MS + CLEAN_UP_MS;
const PROBE_MS = 20_000;

interface Waiting {
  take(message: FromWorker): void;
  fail(error: unknown): void;
}

/** One connection to a worker. What it waits for when that ends is rejected with GH2011. */
export class WorkerClient implements Disposable {
  readonly #stream: Duplex;
  readonly #clock: Clock;
  readonly #waiting = new Map<number, Waiting>();
  #next = 1;
  #held = 0;
  #reason: Error | undefined;

  constructor(stream: Duplex, clock: Clock) {
    this.#stream = stream;
    this.#clock = clock;
    stream.on('error', (error) => {
      this.#reason = error;
    });
    stream.once('end', () => stream.destroy());
    stream.once('close', () => this.#fail());
    receive(stream, fromWorker, (message) => this.#waiting.get(message.id)?.take(message));
  }

  get isClosed(): boolean {
    return this.#stream.destroyed;
  }

  /** How many programs it runs. */
  get running(): number {
    return this.#waiting.size;
  }

  /** As `runGroup`. */
  async run(request: RunRequest, hooks: RunHooks, signal: AbortSignal): Promise<Exit> {
    signal.throwIfAborted();
    const id = this.#next++;
    const ended = Promise.withResolvers<Exit>();
    let failure: unknown;
    const stop = (): void => send(this.#stream, { type: 'stop', id });
    const start = async (process: { readonly pid: number; readonly started: string }): Promise<void> => {
      try {
        await hooks.onStart(process);
        send(this.#stream, { type: 'go', id });
        hooks.onInput?.((bytes) => this.#input(id, bytes));
      } catch (error) {
        failure = error;
        stop();
      }
    };
    const take = (message: FromWorker): void => {
      if (message.type === 'started') void start(message);
      else if (message.type === 'line') tellLine(hooks, message);
      else if (message.type === 'output') void this.#hold(hooks.onOutput?.(Buffer.from(message.bytes, 'base64')));
      else if (message.type === 'end') ended.resolve(message.exit);
      else if (message.type === 'failed')
        ended.reject(new GatehouseError(message.code ?? 'GH2010', message.message, hintOf(message)));
    };
    const hung = { stop: undefined as (() => void) | undefined };
    const onAbort = (): void => {
      stop();
      const stopMs = request.confinement.mode === 'docker' ? STOP_CONTAINER_MS : STOP_MS;
      hung.stop = startTimer(this.#clock, stopMs, () => this.#stream.destroy(new Error('it does not stop a program')));
    };
    signal.addEventListener('abort', onAbort, { once: true });
    try {
      this.#ask(id, { take, fail: ended.reject }, { type: 'run', id, ...wantedBy(hooks), ...request });
      return await ended.promise;
    } catch (error) {
      throw failure ?? error;
    } finally {
      hung.stop?.();
      signal.removeEventListener('abort', onAbort);
      this.#waiting.delete(id);
      signal.throwIfAborted();
    }
  }

  /** As `probeSandbox`, where the worker runs. */
  async probe(mode: SandboxMode | 'auto', confinement: Omit<Confinement, 'mode'>): Promise<Probed> {
    const id = this.#next++;
    const found = Promise.withResolvers<Probed>();
    const late = startTimer(this.#clock, PROBE_MS, () => this.#stream.destroy(new Error('it does not answer')));
    try {
      const take = (message: FromWorker): void => {
        if (message.type === 'probed') found.resolve(message.found);
      };
      const { readable, hidden, ...others } = confinement;
      const jail = { ...others, readable: [...readable], hidden: [...hidden] };
      this.#ask(id, { take, fail: found.reject }, { type: 'probe', id, mode, confinement: jail });
      return await found.promise;
    } finally {
      late();
      this.#waiting.delete(id);
    }
  }

  /** Everything that it runs is ended by the worker, which sees the end of the connection. */
  [Symbol.dispose](): void {
    this.#stream.destroy();
  }

  /** What takes the bytes is slower than the worker: the pipe between them is bounded, and memory is not. */
  async #hold(taken: Promise<void> | undefined): Promise<void> {
    this.#held += 1;
    this.#stream.pause();
    await taken?.catch(() => undefined); // who takes them says what went wrong
    this.#held -= 1;
    if (this.#held === 0) this.#stream.resume();
  }

  /** Of a program that has ended, nothing is sent any more. */
  #input(id: number, bytes: Uint8Array): void {
    if (this.#waiting.has(id)) send(this.#stream, { type: 'input', id, bytes: Buffer.from(bytes).toString('base64') });
  }

  #ask(id: number, waiting: Waiting, message: ToWorker): void {
    if (this.isClosed) throw this.#gone();
    this.#waiting.set(id, waiting);
    send(this.#stream, message);
  }

  #fail(): void {
    const error = this.#gone();
    for (const { fail } of this.#waiting.values()) fail(error);
  }

  #gone(): GatehouseError {
    const detail = this.#reason ? `: ${errorText(this.#reason)}` : '';
    return new GatehouseError('GH2011', `the process that runs programs is gone${detail}`, { cause: this.#reason });
  }
}

function linesFor({ onLine, onProgress }: RunHooks): RunMessage['lines'] {
  if (onLine) return 'all';
  return onProgress ? 'progress' : 'none';
}

function tellLine({ onLine, onProgress }: RunHooks, { stream, line }: Extract<FromWorker, { readonly type: 'line' }>): void {
  if (onLine) onLine(stream, line);
  else onProgress?.(line);
}

function wantedBy(hooks: RunHooks): Pick<RunMessage, 'lines' | 'output' | 'input'> {
  return { lines: linesFor(hooks), output: hooks.onOutput !== undefined, input: hooks.onInput !== undefined };
}

function hintOf({ hint }: { readonly hint?: string | undefined }): { readonly hint?: string } {
  return hint === undefined ? {} : { hint };
}
