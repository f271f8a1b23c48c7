// a call, while the server waits for another person on the shared connection -> a connection of its own
import type { McpServerEntry } from '../../../config/sections/mcp.ts';
import { linkedSignal } from '../../lib/linked-signal.ts';
import { type ConnectOptions, McpConnection } from './client.ts';
import { listServer } from './look.ts';
import type { ServerTool } from './offered.ts';
import type { Wire } from './transport.ts';

/** At the same time, of one server: each may be a process. */
const MOST = 4;

export interface OwnConnectionsOptions extends Omit<ConnectOptions, 'signal' | 'onListChanged'> {
  readonly server: string;
  readonly entry: McpServerEntry;
  readonly wire: () => Promise<Wire>;
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
    const { server, entry, wire, ...options } = this.#options;
    let connection: McpConnection | undefined;
    try {
      connection = await McpConnection.open(await wire(), { ...options, signal, onListChanged: () => undefined });
      const { tools } = await listServer(connection, server, entry, signal);
      if (tools.some(({ id, digest }) => id === tool.id && digest === tool.digest)) return connection;
    } catch {
      signal.throwIfAborted();
    }
    await connection?.[Symbol.asyncDispose]();
    return undefined;
  }
}
