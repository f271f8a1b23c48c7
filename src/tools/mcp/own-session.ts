/**
 * A connection to a server that one run has for itself (P31): opened by its first call, closed with the run.
 */
import type { McpConnection } from './client.ts';
import type { ServerTool } from './offered.ts';
import { type OpenOwnOptions, type Own, openOwn } from './open-own.ts';

/**
 * It says that it can be asked where the shared one does: some servers list fewer tools to who cannot be. Of
 * its calls no person is asked anything.
 */
export class OwnSession implements AsyncDisposable {
  readonly #options: OpenOwnOptions;
  readonly #stop = new AbortController();
  #opened: Promise<Own> | undefined;

  constructor(options: OpenOwnOptions) {
    this.#options = options;
  }

  /**
   * Where the tool is there as it was approved. Rejects when the server cannot be reached. The next call
   * tries again then, and also where the connection broke meanwhile.
   */
  async connection(tool: ServerTool): Promise<McpConnection | undefined> {
    this.#opened ??= this.#open();
    const own = await this.#opened;
    return own.has(tool) ? own.connection : undefined;
  }

  #open(): Promise<Own> {
    const opened = openOwn(this.#options, this.#stop.signal);
    const forget = (): void => {
      if (this.#opened === opened) this.#opened = undefined;
    };
    // Why it could not be opened is told to the calls that wait for it.
    opened.then(({ connection }) => connection.ended.then(forget), forget);
    return opened;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort(new Error('the run has ended'));
    const opened = await this.#opened?.catch(() => undefined); // told to the call that opened it
    await opened?.connection[Symbol.asyncDispose]();
  }
}
