// a program -> a worker, started when one is needed -> its row -> its end -> the row is gone
import { basename } from 'node:path';
import { errorText, GatehouseError } from '../core/errors.ts';
import type { Clock, Logger } from '../core/ports.ts';
import type { Exit, ProcessRow, Spawn, Spawner } from '../core/process.ts';
import { BoundedQueue } from '../lib/bounded-queue.ts';
import { startTimer } from '../lib/timer.ts';
import type { Confinement, SandboxMode } from './confine.ts';
import type { Connect } from './connect.ts';
import { PROCESS_MARK } from './kernel-process.ts';
import { MAX_STDIN_BYTES } from './messages.ts';
import type { Probed } from './probe.ts';
import { CLIENT, reapProcess } from './reap.ts';
import { type RunHooks, type RunRequest, WorkerClient } from './worker-client.ts';

/** A worker with nothing to do is let go after this; the next program starts another one. ms. */
const IDLE_MS = 300_000;
/**
 * Programs of runs at once; further ones wait for a place, in the order in which they came. With the worker
 * they stay below 150 MB, where each is small (decisions.md).
 */
export const AT_ONCE = 16;
/** Longest wait for a place. ms. */
const PLACE_MS = 60_000;
/**
 * Programs that live longer than a call, as browsers do, at once. What the agent does must not keep a hook
 * from starting, so hooks are not counted.
 */
const MAX_OTHERS = 48;
/** Of the name of a program in its row. */
const MAX_NAME_CHARS = 100;

export interface ProcessBook {
  /** Resolves once the row is on disk. */
  add(row: ProcessRow): Promise<void>;
  remove(id: string): Promise<void>;
  /** Rows of earlier boots. */
  left(): Promise<readonly ProcessRow[]>;
}

export interface WorkerSpawnerOptions {
  readonly connect: Connect;
  /** What is in force for programs with sandbox `tool`. */
  readonly confinement: () => Confinement;
  readonly book: ProcessBook;
  readonly newId: () => string;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** The port on a worker process. Disposing of it ends everything that runs. */
export class WorkerSpawner implements Spawner, Disposable {
  readonly #options: WorkerSpawnerOptions;
  #client: Promise<WorkerClient> | undefined;
  readonly #ofRuns = new BoundedQueue(AT_ONCE);
  #running = 0;
  #others = 0;
  #stopIdle: (() => void) | undefined;

  constructor(options: WorkerSpawnerOptions) {
    this.#options = options;
  }

  async run(spec: Spawn, signal: AbortSignal): Promise<Exit> {
    signal.throwIfAborted();
    if (spec.owner !== 'daemon') return await this.#runInTurn(spec, signal);
    if (spec.sandbox === 'trusted') return await this.#run(spec, signal);
    if (this.#others >= MAX_OTHERS)
      throw new GatehouseError('GH2010', `${MAX_OTHERS} programs run already`, { hint: 'try again later' });
    this.#others += 1;
    try {
      return await this.#run(spec, signal);
    } finally {
      this.#others -= 1;
    }
  }

  /** What works where the worker runs. */
  probe(mode: SandboxMode | 'auto', confinement: Omit<Confinement, 'mode'>): Promise<Probed> {
    return this.#using((client) => client.probe(mode, confinement));
  }

  async reap(): Promise<number> {
    const { book, clock } = this.#options;
    const rows = await book.left();
    const ended = await Promise.all(rows.map((row) => reapProcess(row, clock)));
    // Only now: killed in between, the next start looks again.
    for (const { id } of rows) await book.remove(id);
    return ended.filter(Boolean).length;
  }

  [Symbol.dispose](): void {
    this.#stopIdle?.();
    this.#client?.then(
      (client) => client[Symbol.dispose](),
      () => undefined,
    );
    this.#client = undefined;
  }

  async #runInTurn(spec: Spawn, signal: AbortSignal): Promise<Exit> {
    const late = new AbortController();
    const refuse = (): void => {
      const message = `${AT_ONCE} programs run already, and none of them ended in ${PLACE_MS / 1_000} s`;
      late.abort(new GatehouseError('GH2010', message, { hint: 'try again later' }));
    };
    const stopWaiting = startTimer(this.#options.clock, PLACE_MS, refuse);
    const begin = (): Promise<Exit> => {
      stopWaiting();
      return this.#run(spec, signal);
    };
    return await this.#ofRuns.run(begin, AbortSignal.any([signal, late.signal])).finally(stopWaiting);
  }

  async #run(spec: Spawn, signal: AbortSignal): Promise<Exit> {
    const { book, newId } = this.#options;
    const id = newId();
    const request = this.#requestOf(spec, id);
    const inContainer = spec.sandbox === 'tool' && request.confinement.mode === 'docker';
    const row = { id, program: inContainer ? CLIENT : basename(spec.argv[0] ?? '').slice(0, MAX_NAME_CHARS) };
    const owner = spec.owner === 'daemon' ? {} : { owner: spec.owner };
    let recorded: ProcessRow | undefined;
    const onStart = async ({ pid, started }: { readonly pid: number; readonly started: string }): Promise<void> => {
      const begun = { ...row, ...owner, pgid: pid, started };
      await book.add(begun);
      recorded = begun;
    };
    return await this.#using(async (client) => {
      try {
        return await client.run(request, { onStart, ...hooksOf(spec) }, signal);
      } catch (error) {
        // The worker is gone and ended nothing of what it ran, whatever the call was given up for.
        if (recorded && client.isClosed) await reapProcess(recorded, this.#options.clock);
        throw error;
      } finally {
        if (recorded) this.#forget(recorded.id);
      }
    });
  }

  #requestOf({ argv, cwd, home, env, sandbox, readable: own, network, stdin, limits }: Spawn, id: string): RunRequest {
    const { memoryBytes, pids, timeoutMs, outputBytes } = limits;
    const bytes = stdin === undefined ? undefined : Buffer.from(stdin);
    if (bytes && bytes.length > MAX_STDIN_BYTES)
      throw new GatehouseError('GH2010', `a program is given at most ${MAX_STDIN_BYTES} bytes`, { hint: 'hand it a file' });
    const { readable, hidden, ...jail } = this.#options.confinement();
    return {
      program: {
        ...{ argv: [...argv], cwd, env: { ...env, [PROCESS_MARK]: id }, sandbox, network },
        ...(home === undefined ? {} : { home }),
        ...(own ? { readable: [...own] } : {}),
        ...(memoryBytes === undefined ? {} : { memoryBytes }),
        ...(pids === undefined ? {} : { pids }),
      },
      confinement: { ...jail, readable: [...readable], hidden: [...hidden] },
      ...(bytes ? { stdin: bytes.toString('base64') } : {}),
      ...{ timeoutMs, outputBytes },
    };
  }

  /** The row of a process that is gone only costs the next start a look. */
  #forget(id: string): void {
    const { book, logger } = this.#options;
    book.remove(id).catch((error) => logger.warn('process.row-stays', { detail: errorText(error) }));
  }

  async #using<T>(work: (client: WorkerClient) => Promise<T>): Promise<T> {
    this.#stopIdle?.();
    this.#running += 1;
    try {
      return await work(await this.#worker());
    } finally {
      this.#running -= 1;
      if (this.#running === 0) this.#stopIdle = startTimer(this.#options.clock, IDLE_MS, () => this[Symbol.dispose]());
    }
  }

  /** Those that come together get the same one. */
  async #worker(): Promise<WorkerClient> {
    const { connect, clock } = this.#options;
    const before = this.#client;
    const open = await before?.catch(() => undefined);
    if (open && !open.isClosed) return open;
    if (this.#client === before) this.#client = connect().then((stream) => new WorkerClient(stream, clock));
    return await (this.#client ?? this.#worker());
  }
}

function hooksOf({ onLine, onProgress, onOutput, onInput }: Spawn): Omit<RunHooks, 'onStart'> {
  const told = { ...(onLine ? { onLine } : {}), ...(onProgress ? { onProgress } : {}) };
  return { ...told, ...(onOutput ? { onOutput } : {}), ...(onInput ? { onInput } : {}) };
}
