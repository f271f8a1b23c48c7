// a driver in its sandbox -> requests and replies, and its connections through the proxy
import { createRequire } from 'node:module';
import { dirname, extname, join, relative, sep } from 'node:path';
import { errorText } from '../../core/errors.ts';
import type { Clock, Logger } from '../../core/ports.ts';
import type { Spawn, Spawner } from '../../core/process.ts';
import type { ForwardProxy } from '../../egress/forward-proxy.ts';
import { Multiplexer } from '../../lib/multiplexer.ts';
import { oneLine } from '../../lib/one-line.ts';
import { packageRoot } from '../../lib/package-info.ts';
import { timeLimit } from '../../lib/time-limit.ts';
import { type FromDriver, fromDriver, type ToDriver } from './messages.ts';

/** Beside this file in the sources, and in what is published. */
const PROGRAM = join(import.meta.dirname, `driver${extname(import.meta.filename)}`);
const HEAP_MB = 192;
/** Of what each process holds, by the kernel. */
const PROCESS_BYTES = 2 * 1024 ** 3;
/** Of all of them together, by the driver. */
const TREE_BYTES = 1.5 * 1024 ** 3;
/** Processes and threads: an empty page has 120 of them. */
const PIDS = 450;
/** One that is used without a pause ends all the same, and the next action begins anew. */
const LIFE_MS = 6 * 3_600_000;
/** Of one action with the start of the browser; the driver's own limits are shorter. */
const ANSWER_MS = 110_000;
/** A page may try more, which fail there. */
const MAX_STREAMS = 128;
/** Of what it says of itself, for the log. */
const LOG_BYTES = 16_000;

const GONE = 'the browser ended in the middle of it; navigate again';

export interface BrowserProcessOptions {
  readonly spawner: Pick<Spawner, 'run'>;
  readonly proxy: ForwardProxy;
  readonly clock: Clock;
  readonly logger: Logger;
}

/** One browser with its driver. It begins when it is made. */
export class BrowserProcess {
  /** Settles, never rejects, once all of it is gone. */
  readonly ended: Promise<void>;
  readonly #options: BrowserProcessOptions;
  readonly #stop = new AbortController();
  readonly #begun = Promise.withResolvers<void>();
  readonly #waiting = new Map<number, (reply: FromDriver) => void>();
  readonly #link: Multiplexer;
  #write: ((bytes: Uint8Array) => void) | undefined;
  #next = 1;
  #isOver = false;

  constructor(options: BrowserProcessOptions) {
    this.#options = options;
    this.#link = new Multiplexer({
      send: (bytes) => this.#write?.(bytes),
      onMessage: (text) => this.#take(text),
      onStream: (stream) => options.proxy.accept(stream),
      maxStreams: MAX_STREAMS,
      onBroken: (error) => this.#stop.abort(error),
    });
    this.ended = this.#run();
  }

  get isOver(): boolean {
    return this.#isOver;
  }

  /** Rejects with the reason of the signal, once the browser is gone. */
  async ask(request: Omit<ToDriver, 'id'>, signal: AbortSignal): Promise<FromDriver> {
    const id = this.#next++;
    const reply = Promise.withResolvers<FromDriver>();
    const failed = (reason: string): void => reply.resolve({ kind: 'failed', id, reason, isLast: true });
    using limit = timeLimit(this.#options.clock, ANSWER_MS, () => new Error('the browser does not answer'), signal);
    const onAbort = (): void => {
      this.#stop.abort(limit.signal.reason);
      failed('the browser did not answer in time, and was closed; navigate again');
    };
    limit.signal.addEventListener('abort', onAbort, { once: true });
    if (limit.signal.aborted) onAbort();
    this.#waiting.set(id, reply.resolve);
    void this.ended.then(() => failed(GONE));
    await Promise.race([this.#begun.promise, this.ended]);
    this.#link.message(JSON.stringify({ ...request, id }));
    try {
      return await reply.promise;
    } finally {
      limit.signal.removeEventListener('abort', onAbort);
      this.#waiting.delete(id);
      if (signal.aborted) await this.ended;
      signal.throwIfAborted();
    }
  }

  /** Settles once it is gone. Safe to call twice. */
  async end(): Promise<void> {
    this.#stop.abort(new DOMException('the browser is closed', 'AbortError'));
    await this.ended;
  }

  async #run(): Promise<void> {
    const { spawner, logger, proxy } = this.#options;
    try {
      const exit = await spawner.run(this.#program(), this.#stop.signal);
      if (exit.code !== 0) logger.warn('browser.ended', { status: exit.code, detail: oneLine(exit.err.slice(-2_000), 500) });
    } catch (error) {
      // Closed by us, there is nothing to tell.
      if (!(error instanceof DOMException)) logger.warn('browser.ended', { detail: errorText(error) });
    } finally {
      this.#isOver = true;
      this.#link[Symbol.dispose]();
      proxy[Symbol.dispose]();
    }
  }

  #program(): Spawn {
    const playwright = createRequire(import.meta.url).resolve('playwright-core');
    return {
      argv: [process.execPath, `--max-old-space-size=${HEAP_MB}`, PROGRAM, String(TREE_BYTES), playwright],
      // It has no directory and no network of its own, whatever the config allows other programs.
      ...{ cwd: '/', sandbox: 'isolated', network: false, owner: 'daemon', readable: readableFor(playwright) },
      env: { PATH: '/usr/bin:/bin', HOME: '/tmp', LANG: 'C.UTF-8' },
      limits: { timeoutMs: LIFE_MS, outputBytes: LOG_BYTES, memoryBytes: PROCESS_BYTES, pids: PIDS },
      onInput: (write) => {
        this.#write = write;
        this.#begun.resolve();
      },
      // At once, whatever comes of it: the streams have windows of their own.
      onOutput: async (bytes) => this.#link.receive(bytes),
    };
  }

  #take(text: string): void {
    const message = parse(text);
    if (message) this.#waiting.get(message.id)?.(message);
    else this.#stop.abort(new Error('the driver says what cannot be understood'));
  }
}

/** The programs of this package, Playwright and Node, and nothing beside them. */
function readableFor(playwright: string): readonly string[] {
  const root = packageRoot();
  const [top = ''] = relative(root, PROGRAM).split(sep);
  return [join(root, top), join(root, 'package.json'), dirname(playwright), process.execPath].filter(
    (path) => !path.startsWith('/usr/'),
  );
}

function parse(text: string): FromDriver | undefined {
  try {
    return fromDriver.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined; // its caller ends the driver
  }
}
