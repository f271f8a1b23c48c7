// connect -> list -> compare with what was approved -> offer; lost -> wait -> connect again

/** One MCP server as a source of tools: it is kept connected, and offers what was approved of it. */
import type { McpServerEntry } from '../../../config/sections/mcp.ts';
import { PRIVATE, UNTRUSTED } from '../../core/authority.ts';
import type { Commits } from '../../core/commit.ts';
import { errorText, isGatehouseError } from '../../core/errors.ts';
import { chatKey } from '../../core/ids.ts';
import type { Pins } from '../../core/pin.ts';
import type { Clock, Logger } from '../../core/ports.ts';
import type { McpStatus } from '../../core/status.ts';
import type { Asker, RunScope, Tool, ToolContext, ToolResult } from '../../core/tool.ts';
import type { ToolSource } from '../../core/tool-source.ts';
import { linkedSignal } from '../../lib/linked-signal.ts';
import { settledOrAborted } from '../../lib/time-limit.ts';
import { type ConnectOptions, McpConnection } from './client.ts';
import { type Listed, listServer } from './look.ts';
import type { ServerTool } from './offered.ts';
import { OwnConnections } from './own-connection.ts';
import { OwnSession } from './own-session.ts';
import { type Approved, approve, approvedOf, standingOf } from './pin.ts';
import { failed } from './result.ts';
import { needsLogin, ServerCalls } from './server-calls.ts';
import type { Elicit } from './server-requests.ts';
import type { Wire } from './transport.ts';
import type { WaitingCalls } from './waiting-calls.ts';
import { hasCredential } from './wire.ts';

/** Between two attempts: doubled up to the longest, anew after a connection that stood for a minute. ms. */
const FIRST_WAIT_MS = 1_000;
const LONGEST_WAIT_MS = 5 * 60_000;
const STEADY_MS = 60_000;
/** Between two lists: a server may say at any rate that its list changed. ms. */
const LIST_EVERY_MS = 5_000;
export interface McpSourceOptions {
  readonly server: string;
  readonly entry: McpServerEntry;
  /** Of Gatehouse, as servers are told. */
  readonly version: string;
  readonly wire: () => Promise<Wire>;
  readonly pins: Pins;
  readonly journal: Commits;
  readonly waiting: WaitingCalls;
  readonly clock: Clock;
  readonly logger: Logger;
  /** Takes every secret out of a text. */
  readonly redact: (text: string) => string;
}

export class McpSource implements ToolSource {
  readonly name: string;
  readonly #options: McpSourceOptions;
  readonly #stop = new AbortController();
  #running: Promise<void> | undefined;
  #connection: McpConnection | undefined;
  #state: McpStatus['state'] = 'starting';
  #detail: string | undefined;
  #listed: Listed = { tools: [], skipped: [] };
  #approved: Approved = new Map();
  #offered: ReadonlyMap<string, ServerTool> = new Map();
  #tools: readonly Tool[] = [];
  #told = '';
  /** Ends the wait for the next attempt. */
  #retry = new AbortController();
  readonly #own: OwnConnections;
  readonly #calls: ServerCalls;

  constructor(options: McpSourceOptions) {
    this.#options = options;
    this.name = `mcp:${options.server}`;
    this.#own = new OwnConnections({ ...options, ...this.#asking, stop: this.#stop.signal });
    this.#calls = new ServerCalls(options);
  }

  /** Connects, and stays connected until disposed. Only the log is told of a server that does not work. */
  start(): void {
    this.#running ??= this.#run();
  }

  /** What was approved, of what the server listed last. While it is away, calls say so. */
  tools({ asks, held }: Pick<RunScope, 'asks' | 'held'> = {}): readonly Tool[] {
    const own = held?.use(new OwnSession({ ...this.#options, ...this.#asking }));
    if (own) return [...this.#offered.values()].map((tool) => this.#toTool(tool, undefined, own));
    if (!asks || this.#options.entry.elicitation !== 'ask') return this.#tools;
    return [...this.#offered.values()].map((tool) => this.#toTool(tool, asks));
  }

  status(): McpStatus {
    const { server } = this.#options;
    const detail = this.#detail === undefined ? {} : { detail: this.#detail };
    const { skipped } = this.#listed;
    return { server, state: this.#state, ...detail, offered: [...this.#offered.keys()], waiting: this.#waiting(), skipped };
  }

  /** Calls under way. */
  get calls(): number {
    return this.#calls.underWay;
  }

  /** Approvals may have changed, or a person has logged in. */
  async look(): Promise<void> {
    if (this.#state !== 'up') this.#retry.abort();
    const { server, pins } = this.#options;
    this.#approved = await approvedOf(server, pins);
    this.#offer();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#stop.abort(new Error(`${this.name} was closed`));
    await this.#running;
  }

  async #run(): Promise<void> {
    const { clock } = this.#options;
    const { signal } = this.#stop;
    for (let failures = 0; !signal.aborted; failures += 1) {
      const began = clock.monotonic();
      // Before the attempt: a login meanwhile counts.
      this.#retry = new AbortController();
      const reason = await this.#connected(signal);
      if (signal.aborted) return;
      if (clock.monotonic() - began > STEADY_MS) failures = 0;
      const waitMs = needsLogin(reason) ? LONGEST_WAIT_MS : Math.min(FIRST_WAIT_MS * 2 ** failures, LONGEST_WAIT_MS);
      this.#lost(reason, waitMs);
      using wait = linkedSignal(signal, this.#retry.signal);
      await clock.sleep(waitMs, wait.signal).catch(() => undefined); // closed or asked to try again meanwhile
      // A try that was asked for makes no later one wait longer.
      if (this.#retry.signal.aborted) failures -= 1;
    }
  }

  get #asking(): Pick<ConnectOptions, 'onRefused' | 'asksPeople'> {
    const { logger, server, entry } = this.#options;
    return { onRefused: (method) => logger.info('mcp.refused', { server, method }), asksPeople: entry.elicitation === 'ask' };
  }

  /** One connection, from its start to its end; resolves with why it ended. Never rejects. */
  async #connected(signal: AbortSignal): Promise<unknown> {
    const { clock, version, wire } = this.#options;
    let change = Promise.withResolvers<void>();
    try {
      await using connection = await McpConnection.open(await wire(), {
        ...{ clock, signal, version },
        onListChanged: () => change.resolve(),
        ...this.#asking,
      });
      using over = linkedSignal(signal);
      // Once for each connection: what hangs on its end stays there as long as it lasts.
      void connection.ended.then((reason) => over.abort(reason));
      for (;;) {
        // Before it is listed: a change meanwhile counts.
        change = Promise.withResolvers();
        await this.#list(connection, signal);
        this.#connection = connection;
        await clock.sleep(LIST_EVERY_MS, over.signal);
        await settledOrAborted(change.promise, over.signal);
      }
    } catch (error) {
      return error;
    } finally {
      this.#connection = undefined;
    }
  }

  async #list(connection: McpConnection, signal: AbortSignal): Promise<void> {
    const { server, entry, pins, journal, logger } = this.#options;
    const listed = await listServer(connection, server, entry, signal);
    const { tools, cut } = listed;
    let approved = await approvedOf(server, pins);
    if (approved.size === 0 && tools.length > 0 && entry.pin === 'first-use') {
      await approve(journal, server, tools, 'first-use');
      approved = await approvedOf(server, pins);
    }
    this.#approved = approved;
    this.#listed = listed;
    this.#state = 'up';
    this.#detail = cut;
    this.#offer();
    this.#tell();
    if (cut !== undefined) logger.warn('mcp.cut', { server, code: 'GH2302', detail: cut });
  }

  #offer(): void {
    const before = [...this.#offered.values()].map(({ digest }) => digest).join();
    const offered = this.#listed.tools.filter((tool) => standingOf(tool, this.#approved) === 'approved');
    this.#offered = new Map(offered.map((tool) => [tool.id, tool]));
    if (before === offered.map(({ digest }) => digest).join()) return;
    this.#tools = offered.map((tool) => this.#toTool(tool));
  }

  #waiting(): McpStatus['waiting'] {
    return this.#listed.tools.flatMap((tool) => {
      const standing = standingOf(tool, this.#approved);
      return standing === 'approved' ? [] : [{ tool: tool.id, standing }];
    });
  }

  /** The same is told once. */
  #tell(): void {
    const { logger, server } = this.#options;
    const waiting = this.#waiting();
    const { skipped } = this.#listed;
    const about = JSON.stringify([[...this.#offered.keys()], waiting, skipped]);
    if (about === this.#told) return;
    this.#told = about;
    logger.info('mcp.up', { server, tools: this.#offered.size, waiting: waiting.length, skipped: skipped.length });
    const hint = `look at them with \`gatehouse mcp test ${server}\`, then \`gatehouse mcp approve ${server}\``;
    if (waiting.length > 0) logger.warn('mcp.not-approved', { server, code: 'GH2303', tools: waiting, hint });
    if (skipped.length > 0) logger.warn('mcp.skipped', { server, code: 'GH2302', tools: skipped });
  }

  #lost(reason: unknown, waitMs: number): void {
    const { logger, server, redact } = this.#options;
    const { code, hint } = isGatehouseError(reason)
      ? reason
      : { code: 'GH2302', hint: `try it with \`gatehouse mcp test ${server}\`` };
    const detail = redact(errorText(reason));
    const forLogin = needsLogin(reason);
    this.#detail = forLogin ? `${detail} → ${hint}` : detail;
    const isTold = forLogin && this.#state === 'login';
    this.#state = forLogin ? 'login' : 'down';
    // A person who does not come is not called each time.
    if (!isTold) logger.warn('mcp.down', { server, code, detail, retryMs: waitMs, hint });
  }

  /** `asker`: the person whom the server may ask in mid-call. */
  #toTool(tool: ServerTool, asker?: Asker, own?: OwnSession): Tool {
    const { server, entry, waiting } = this.#options;
    const { id, description, parameters, isReadOnly } = tool;
    return {
      name: id,
      description: `[MCP server ${server}] ${description}`,
      parameters,
      tags: ['mcp', this.name],
      effect: isReadOnly && entry.trust_annotations ? 'none' : 'outside',
      // Also a look: what it is asked leaves this machine, or may.
      act: 'network',
      // A program of this machine reads what is on it, and one with a credential what is not public.
      reads: hasCredential(entry) ? UNTRUSTED | PRIVATE : UNTRUSTED,
      outputBytes: 50_000,
      run: (args, context) => this.#made(tool, args, context, asker, own),
      ...(asker && { resume: (values, _args, { idempotencyKey, signal }) => waiting.resume(idempotencyKey, values, signal) }),
    };
  }

  async #made(tool: ServerTool, args: unknown, context: ToolContext, asker?: Asker, own?: OwnSession): Promise<ToolResult> {
    const { server, waiting } = this.#options;
    if (typeof args !== 'object' || args === null || Array.isArray(args)) return failed('the arguments must be one JSON object');
    const shared = this.#connection;
    if (!shared) return failed(`the MCP server ${server} is not connected (${this.#detail ?? 'it is starting'})`);
    const connection = own ? await own.connection(tool) : shared;
    if (!connection || this.#offered.get(tool.id)?.digest !== tool.digest)
      return failed(`${tool.id} is not what was approved any more; the operator has to approve it again`);
    const who = asker && `${asker.principal}\n${chatKey(asker.to)}`;
    const work = (elicit: Elicit | undefined, signal: AbortSignal): Promise<ToolResult> =>
      this.#own.with(connection, { tool, who, signal }, (on, ending) =>
        this.#calls.call(on, tool, args, { ...(who === undefined ? {} : { who }), ...(elicit && { elicit }), signal: ending }),
      );
    return await waiting.run({ key: context.idempotencyKey, server, asker, work }, context.signal);
  }
}
