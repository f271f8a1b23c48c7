// session, action -> its browser, started by the first navigation -> what came of it
import type { BrowserOutcome, BrowserPort } from '../../core/browser.ts';
import type { Clock, Logger } from '../../core/ports.ts';
import type { Spawner } from '../../core/process.ts';
import type { ForwardProxy } from '../../egress/forward-proxy.ts';
import { KeyedMutex } from '../../lib/keyed-mutex.ts';
import { settledOrAborted } from '../../lib/time-limit.ts';
import { startTimer } from '../../lib/timer.ts';
import { MAX_NOTES } from './limits.ts';
import type { ToDriver } from './messages.ts';
import { BrowserProcess } from './process.ts';

/** Spec G1. */
const IDLE_MS = 300_000;
/**
 * In all. One holds 450 MB with an empty page and 1.5 GiB at most: two fit into the 4 GiB that the worker's
 * unit has.
 */
const MAX_BROWSERS = 2;

export interface BrowsersOptions {
  readonly spawner: Pick<Spawner, 'run'>;
  /** For one browser. */
  readonly proxy: () => ForwardProxy;
  /** Why an address may not be asked for, as far as that is known without a look-up; undefined = it may. */
  readonly judge: (url: string) => string | undefined;
  readonly clock: Clock;
  readonly logger: Logger;
}

type Asked = Omit<ToDriver, 'id'>;

interface Open {
  readonly process: BrowserProcess;
  readonly proxy: ForwardProxy;
  page: string | undefined;
  isPrivate: boolean;
  /** When it was used last; infinite while it is. */
  used: number;
  stopIdle: () => void;
}

/** The browsers of all sessions, one each. */
export class Browsers implements AsyncDisposable {
  readonly #options: BrowsersOptions;
  readonly #open = new Map<string, Open>();
  readonly #turns = new KeyedMutex();
  /** Two that begin at once must not close the same one and both count its place. */
  readonly #starts = new KeyedMutex();
  #isClosed = false;

  constructor(options: BrowsersOptions) {
    this.#options = options;
  }

  of(session: string): BrowserPort {
    const isPrivate = (): boolean => this.#open.get(session)?.isPrivate === true;
    const pageOf = (): string | undefined => this.#open.get(session)?.page;
    return {
      get page() {
        return pageOf();
      },
      get isPrivate() {
        return isPrivate();
      },
      perform: (request, signal) => {
        signal.throwIfAborted();
        // Before it waits: an action that goes first may lead elsewhere. A new browser shows an empty page.
        const asked = { ...request, page: pageOf() ?? 'about:blank' };
        const work = this.#turns.runExclusive(session, () => this.#perform(session, asked, signal));
        // One that waits for its turn leaves at once; one that has begun closes the browser first.
        return settledOrAborted(work, signal);
      },
      close: () => this.#close(session),
    };
  }

  /** Resolves once no process is left. */
  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#open.keys()].map((session) => this.#close(session)));
  }

  async #perform(session: string, request: Asked, signal: AbortSignal): Promise<BrowserOutcome> {
    signal.throwIfAborted();
    const refused = request.url === undefined ? undefined : this.#options.judge(request.url);
    if (refused !== undefined) return { kind: 'failed', reason: refused };
    const open = await this.#opened(session, request.action === 'navigate');
    if ('reason' in open) return { kind: 'failed', reason: open.reason };
    if (request.action === 'type' || request.action === 'evaluate') open.isPrivate = true;
    open.stopIdle();
    open.used = Number.POSITIVE_INFINITY;
    try {
      open.proxy.renew();
      const reply = await open.process.ask(request, signal);
      const refusals = open.proxy.renew();
      // The next action is to find that it is gone, or a new one.
      if (reply.kind === 'failed' && reply.isLast) await open.process.end();
      if (reply.url !== undefined) open.page = reply.url;
      if (reply.kind === 'failed') return { kind: 'failed', reason: [reply.reason, ...refusals].join('; ') };
      const { url, title, output, png } = reply;
      const notes = [...reply.notes, ...refusals].slice(0, MAX_NOTES);
      return { kind: 'done', url, title, output, notes, ...(png === undefined ? {} : { png: Buffer.from(png, 'base64') }) };
    } finally {
      this.#rest(session, open);
    }
  }

  async #opened(session: string, mayStart: boolean): Promise<Open | { readonly reason: string }> {
    const before = this.#open.get(session);
    if (before && !before.process.isOver) return before;
    if (!mayStart) return { reason: 'no page is open; navigate first' };
    return await this.#starts.runExclusive('', () => this.#started(session));
  }

  async #started(session: string): Promise<Open | { readonly reason: string }> {
    if (this.#isClosed) return { reason: 'the daemon is being stopped' };
    if (this.#open.size >= MAX_BROWSERS && !(await this.#makeRoom()))
      return { reason: `${MAX_BROWSERS} browsers are at work for other conversations; try again later` };
    const { spawner, clock, logger } = this.#options;
    const proxy = this.#options.proxy();
    const process = new BrowserProcess({ spawner, proxy, clock, logger });
    const open: Open = {
      ...{ process, proxy, page: undefined, isPrivate: false },
      ...{ used: Number.POSITIVE_INFINITY, stopIdle: () => undefined },
    };
    this.#open.set(session, open);
    void process.ended.then(() => {
      open.stopIdle();
      if (this.#open.get(session) === open) this.#open.delete(session);
    });
    return open;
  }

  /** Closes the one that has rested longest. */
  async #makeRoom(): Promise<boolean> {
    const [longest] = [...this.#open].toSorted(([, one], [, other]) => one.used - other.used);
    if (!longest || longest[1].used === Number.POSITIVE_INFINITY) return false;
    return await this.#close(longest[0]);
  }

  #rest(session: string, open: Open): void {
    open.used = this.#options.clock.monotonic();
    if (!open.process.isOver) open.stopIdle = startTimer(this.#options.clock, IDLE_MS, () => void this.#close(session));
  }

  async #close(session: string): Promise<boolean> {
    const open = this.#open.get(session);
    if (!open) return false;
    open.stopIdle();
    await open.process.end();
    return true;
  }
}
