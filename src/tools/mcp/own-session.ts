/** A connection to a server that one run has for itself (P31): opened by its first call, closed with the run. */
import type { McpServerEntry } from '../../../config/sections/mcp.ts';
import type { Clock, Logger } from '../../core/ports.ts';
import { McpConnection } from './client.ts';
import { listServer } from './look.ts';
import type { ServerTool } from './offered.ts';
import type { Wire } from './transport.ts';

/** As of `McpSourceOptions`. */
export interface OwnSessionOptions {
  readonly server: string;
  readonly entry: McpServerEntry;
  readonly version: string;
  readonly wire: () => Promise<Wire>;
  readonly clock: Clock;
  readonly logger: Logger;
}

interface Opened {
  readonly connection: McpConnection;
  /** By the id of the tool, as this session lists them. */
  readonly digests: ReadonlyMap<string, string>;
}

export class OwnSession implements AsyncDisposable {
  readonly #options: OwnSessionOptions;
  readonly #stop = new AbortController();
  #opened: Promise<Opened> | undefined;

  constructor(options: OwnSessionOptions) {
    this.#options = options;
  }

  /**
   * Where the tool is there as it was approved. Rejects when the server cannot be reached; the next call tries
   * again then.
   */
  async connection({ id, digest }: ServerTool): Promise<McpConnection | undefined> {
    this.#opened ??= this.#open();
    try {
      const { connection, digests } = await this.#opened;
      return digests.get(id) === digest ? connection : undefined;
    } catch (error) {
      this.#opened = undefined;
      throw error;
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort(new Error('the run has ended'));
    const opened = await this.#opened?.catch(() => undefined); // told to the call that opened it
    await opened?.connection[Symbol.asyncDispose]();
  }

  async #open(): Promise<Opened> {
    const { wire, clock, version, logger, server, entry } = this.#options;
    const { signal } = this.#stop;
    const connection = await McpConnection.open(await wire(), {
      ...{ clock, signal, version },
      onListChanged: () => undefined,
      onRefused: (method) => logger.info('mcp.refused', { server, method }),
      // Some servers list fewer tools to who cannot be asked. Of these calls no person is asked anything.
      asksPeople: entry.elicitation === 'ask',
    });
    try {
      const { tools } = await listServer(connection, server, entry, signal);
      return { connection, digests: new Map(tools.map(({ id, digest }) => [id, digest])) };
    } catch (error) {
      await connection[Symbol.asyncDispose]();
      throw error;
    }
  }
}
