/** All MCP servers of the config: those that run, and what a changed config makes of them. */
import { isDeepStrictEqual } from 'node:util';
import type { McpServerEntry } from '../../../config/sections/mcp.ts';
import { errorText } from '../../core/errors.ts';
import type { McpStatus } from '../../core/status.ts';
import type { ToolSource } from '../../core/tool-source.ts';
import { loginFor, type ServerLogin } from './oauth/server-login.ts';
import { McpSource, type McpSourceOptions } from './source.ts';
import type { Wire } from './transport.ts';
import { WaitingCalls, type WaitingCallsOptions } from './waiting-calls.ts';
import { type WireOptions, wireFor } from './wire.ts';

export type McpEntries = Readonly<Record<string, McpServerEntry>>;

export type McpServersOptions = WireOptions &
  Pick<McpSourceOptions, 'version' | 'pins' | 'redact'> &
  Pick<WaitingCallsOptions, 'journal'> & {
    /**
     * Servers beside those of the config, whose names the config cannot have. Asked whenever either may have
     * changed.
     */
    readonly others?: () => McpEntries;
  };

interface Running {
  readonly entry: McpServerEntry;
  readonly source: McpSource;
  readonly login: ServerLogin | undefined;
}

export class McpServers implements AsyncDisposable {
  readonly #options: McpServersOptions;
  readonly #waiting: WaitingCalls;
  #entries: McpEntries = {};
  #isClosed = false;
  #running: ReadonlyMap<string, Running> = new Map();

  constructor(options: McpServersOptions) {
    this.#options = options;
    this.#waiting = new WaitingCalls(options);
  }

  /** At a start, see `WaitingCalls.closeLost`. Rejects as the journal does. */
  closeLost(): Promise<void> {
    return this.#waiting.closeLost();
  }

  /** In the order of their names: a list of tools that stays the same is cheaper. */
  sources(): readonly ToolSource[] {
    return [...this.#running.values()].map(({ source }) => source);
  }

  status(): readonly McpStatus[] {
    return [...this.#running.values()].map(({ source }) => source.status());
  }

  /**
   * Servers that are new are started, those that are gone or off are closed, those that changed are replaced;
   * the others do not notice. Resolves, once nothing of the old ones is left, to how many calls of each were
   * cut off. Does not wait for the new ones.
   */
  async apply(entries: McpEntries): Promise<ReadonlyMap<string, number>> {
    this.#entries = entries;
    const wanted = Object.entries(this.#isClosed ? {} : { ...entries, ...this.#options.others?.() })
      .filter(([, { enabled }]) => enabled)
      .toSorted(([a], [b]) => (a < b ? -1 : 1));
    const before = this.#running;
    const kept = (server: string, entry: McpServerEntry) => {
      const old = before.get(server);
      return old && isDeepStrictEqual(old.entry, entry) ? old : undefined;
    };
    const after = new Map(wanted.map(([server, entry]) => [server, kept(server, entry) ?? this.#make(server, entry)]));
    this.#running = after;
    const out = [...before].filter(([server, { source }]) => after.get(server)?.source !== source);
    const cut = new Map(out.map(([server, { source }]) => [server, source.calls]));
    await Promise.all(out.map(([, one]) => close(one)));
    for (const { source } of after.values()) source.start();
    return cut;
  }

  /** Tokens of logins, for a redactor. */
  secrets(): readonly string[] {
    return [...this.#running.values()].flatMap(({ login }) => login?.secrets() ?? []);
  }

  /** The other servers may have changed. */
  async again(): Promise<void> {
    await this.apply(this.#entries);
  }

  /** Another process may have approved something, or logged in. */
  look(): void {
    for (const { source } of this.#running.values())
      source
        .look()
        .catch((error) => this.#options.logger.warn('mcp.look-failed', { source: source.name, detail: errorText(error) }));
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    await this.#waiting[Symbol.asyncDispose]();
    await this.apply({});
  }

  #make(server: string, entry: McpServerEntry) {
    const options = { ...this.#options, waiting: this.#waiting };
    // Of the server and not of a connection: a login that was refused is not tried again with each of them.
    const login = loginFor(server, entry, options);
    const wire = (): Promise<Wire> => wireFor(server, entry, { ...options, login });
    return { entry, login, source: new McpSource({ ...options, server, entry, wire }) };
  }
}

/** Its login goes last, and before another one of the same server reads what is on disk. */
async function close({ source, login }: Running): Promise<void> {
  await source[Symbol.asyncDispose]();
  await login?.[Symbol.asyncDispose]();
}
