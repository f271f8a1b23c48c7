// a call, while the server waits for another person on the shared connection -> a connection of its own
import { linkedSignal } from '../../lib/linked-signal.ts';
import type { McpConnection } from './client.ts';
import type { ServerTool } from './offered.ts';
import { type OpenOwnOptions, type Own, openOwn } from './open-own.ts';

/** At the same time, of one server: each may be a process. */
const MOST = 4;

export interface OwnConnectionsOptions extends OpenOwnOptions {
  /** The server is closed. */
  readonly stop: AbortSignal;
}

interface NewUse {
  readonly tool: ServerTool;
  /** As `OpenCall.who`. */
  readonly who: string | undefined;
  readonly signal: AbortSignal;
}

type Use<T> = (connection: McpConnection, signal: AbortSignal) => Promise<T>;

/**
 * A server does not say for which call it asks. While it waits for one person, the calls of others go over
 * connections of their own, so that each of them can be asked, too.
 */
export class OwnConnections {
  readonly #options: OwnConnectionsOptions;
  #count = 0;

  constructor(options: OwnConnectionsOptions) {
    this.#options = options;
  }

  /** Over the shared connection where that waits for no other person, or no further one can be had. */
  async with<T>(shared: McpConnection, { tool, who, signal }: NewUse, use: Use<T>): Promise<T> {
    if (!shared.isAskingOthers(who) || this.#count >= MOST) return await use(shared, signal);
    this.#count += 1;
    try {
      using ending = linkedSignal(signal, this.#options.stop);
      const own = await this.#open(tool, ending.signal);
      if (!own) return await use(shared, signal);
      await using _closed = own;
      return await use(own, ending.signal);
    } finally {
      this.#count -= 1;
    }
  }

  /** Undefined = it cannot be had, or has another tool there than was approved. */
  async #open(tool: ServerTool, signal: AbortSignal): Promise<McpConnection | undefined> {
    let own: Own;
    try {
      own = await openOwn(this.#options, signal);
    } catch {
      signal.throwIfAborted();
      return undefined;
    }
    if (own.has(tool)) return own.connection;
    await own.connection[Symbol.asyncDispose]();
    return undefined;
  }
}
