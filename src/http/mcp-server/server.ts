// socket of the data directory -> connection -> hello -> an MCP server for this client, with its tools
import { randomBytes } from 'node:crypto';
import { createServer, type Server as NetServer, type Socket } from 'node:net';
import type { McpClientEntry } from '../../../config/sections/mcp-clients.ts';
import { ERROR_CODES } from '../../core/error-codes.ts';
import { errorText, GatehouseError, isGatehouseError } from '../../core/errors.ts';
import type { Clock, Logger } from '../../core/ports.ts';
import { startTimer } from '../../lib/timer.ts';
import { loadServerSdk } from '../../tools/mcp/sdk.ts';
import type { Asks } from './asks.ts';
import { CallRefusal, type ClientAnswer, type ClientCall, type ClientTool } from './client-call.ts';
import type { ClientChats } from './client-chats.ts';
import { ClientConnection } from './connection.ts';
import { CALL_KEY, type Hello, readHello, unknownClient, type Welcome } from './hello.ts';
import { RPC } from './lines.ts';
import { listenOn, removeSocket, socketPath } from './socket-file.ts';

/** Over all clients, and of one. */
const MOST_CONNECTIONS = 32;
const MOST_OF_CLIENT = 8;
/** Calls of one client at once, over its connections. */
const MOST_CALLS = 16;
const HELLO_MS = 10_000;

type Clients = Readonly<Record<string, McpClientEntry>>;

export interface ClientServerOptions {
  readonly dataDir: string;
  readonly version: string;
  /** Section `mcp_clients`, asked at each use. */
  readonly clients: () => Clients;
  /** Whether the owner blocked it, which goes before the config. */
  readonly isBlocked: (client: string) => Promise<boolean>;
  readonly asks: Pick<Asks, 'tools'>;
  readonly chats: Pick<ClientChats, 'readers' | 'writer'>;
  readonly clock: Clock;
  readonly logger: Logger;
}

type SdkServer = InstanceType<Awaited<ReturnType<typeof loadServerSdk>>['Server']>;

interface Connected {
  readonly client: string;
  readonly connection: ClientConnection;
  server?: SdkServer;
}

/**
 * Lets the clients of the config in. There is no socket while there are none. Only the user of the daemon can
 * open it, who is the operator: so the name that a connection gives is believed.
 */
export class ClientServer implements AsyncDisposable {
  readonly #options: ClientServerOptions;
  readonly #open = new Set<ClientConnection>();
  readonly #connected = new Set<Connected>();
  /** By client. */
  readonly #calls = new Map<string, number>();
  #listening: NetServer | undefined;
  #looking: Promise<void> = Promise.resolve();
  #isClosed = false;

  constructor(options: ClientServerOptions) {
    this.#options = options;
  }

  /**
   * Takes a changed config into use: listens or stops, and ends the connections of clients that are gone.
   * Never rejects.
   */
  look(): Promise<void> {
    this.#looking = this.#looking.then(() => this.#look());
    return this.#looking;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#isClosed = true;
    await this.look();
  }

  async #look(): Promise<void> {
    const { clients, dataDir, logger } = this.#options;
    const known = this.#isClosed ? {} : clients();
    for (const { client, connection, server } of this.#connected) {
      if (!Object.hasOwn(known, client)) await connection.close();
      // Which tools it has depends on the config.
      else await server?.sendToolListChanged().catch(() => undefined);
    }
    const isWanted = Object.keys(known).length > 0;
    try {
      if (isWanted && !this.#listening) await this.#listen(socketPath(dataDir));
      if (!isWanted && this.#listening) await this.#stop(socketPath(dataDir));
    } catch (error) {
      const { code, hint } = isGatehouseError(error) ? error : { code: 'GH2306', hint: ERROR_CODES.GH2306.hint };
      logger.warn('mcp-clients.not-served', { code, detail: errorText(error), hint });
    }
  }

  async #listen(path: string): Promise<void> {
    const server = createServer((socket) => this.#accept(socket));
    await listenOn(server, path);
    // Trouble with one connection is that connection's; the socket stays.
    server.on('error', (error) => this.#options.logger.warn('mcp-clients.failed', { detail: errorText(error) }));
    this.#listening = server;
    this.#options.logger.info('mcp-clients.served', { socket: path });
  }

  async #stop(path: string): Promise<void> {
    const server = this.#listening;
    this.#listening = undefined;
    for (const connection of this.#open) await connection.close();
    await new Promise<void>((resolve) => (server ? server.close(() => resolve()) : resolve()));
    await removeSocket(path);
  }

  #accept(socket: Socket): void {
    if (this.#open.size >= MOST_CONNECTIONS) {
      socket.destroy();
      return;
    }
    const connection = new ClientConnection(socket);
    this.#open.add(connection);
    socket.once('close', () => this.#open.delete(connection));
    const stop = startTimer(this.#options.clock, HELLO_MS, () => void connection.close());
    connection.hello
      .then((line) => {
        stop();
        return this.#welcome(connection, line);
      })
      .catch((error: unknown) => {
        stop();
        if (!connection.isOver) this.#options.logger.warn('mcp-clients.failed', { detail: errorText(error) });
        void connection.close();
      });
  }

  async #welcome(connection: ClientConnection, line: string): Promise<void> {
    const hello = readHello(line);
    if (!hello) return await connection.close();
    const refusal = this.#refusalOf(hello);
    if (refusal) {
      const { code, message, hint } = refusal;
      return connection.end({ ok: false, code, message, hint } satisfies Welcome);
    }
    const connected: Connected = { client: hello.as, connection };
    this.#connected.add(connected);
    const server = await this.#serverFor(hello, connection).catch((error: unknown) => {
      this.#connected.delete(connected);
      if (!isGatehouseError(error)) throw error;
      const { code, message, hint } = error;
      connection.end({ ok: false, code, message, hint } satisfies Welcome);
      return undefined;
    });
    if (!server) return;
    connected.server = server;
    server.onclose = () => {
      this.#connected.delete(connected);
      this.#options.logger.info('mcp-clients.left', { client: hello.as });
    };
    connection.write({ ok: true } satisfies Welcome);
    await server.connect(connection);
    this.#options.logger.info('mcp-clients.connected', { client: hello.as });
    if (connection.isOver) this.#connected.delete(connected);
  }

  #refusalOf({ as }: Hello): GatehouseError | undefined {
    if (!Object.hasOwn(this.#options.clients(), as)) return unknownClient(as);
    if ([...this.#connected].filter(({ client }) => client === as).length < MOST_OF_CLIENT) return undefined;
    const hint = 'end some of the programs that have started `gatehouse mcp serve` under this name';
    return new GatehouseError('GH2306', `${as} has ${MOST_OF_CLIENT} connections already`, { hint });
  }

  async #serverFor({ as, id }: Hello, connection: ClientConnection): Promise<SdkServer> {
    const { Server, CallToolRequestSchema, ListToolsRequestSchema } = await loadServerSdk();
    const { version } = this.#options;
    const server = new Server(
      { name: 'gatehouse', version },
      { capabilities: { tools: { listChanged: true } }, instructions: INSTRUCTIONS },
    );
    server.onerror = (error) => this.#options.logger.debug('mcp-clients.error', { client: as, detail: errorText(error) });
    server.setRequestHandler(ListToolsRequestSchema, async () => ({
      tools: this.#toolsOf(as).map(({ name, description, parameters }) => ({
        ...{ name, description },
        inputSchema: { ...parameters, type: 'object' as const },
      })),
    }));
    server.setRequestHandler(CallToolRequestSchema, async ({ params }, { signal, sendNotification }) => {
      const { progressToken, [CALL_KEY]: sent } = params._meta ?? {};
      let steps = 0;
      const progress = (message: string): void => {
        steps += 1;
        if (progressToken === undefined) return;
        const about = { progressToken, progress: steps, message };
        sendNotification({ method: 'notifications/progress', params: about }).catch(() => undefined);
      };
      const key = typeof sent === 'string' && /^[\w-]{1,64}$/.test(sent) ? sent : `${id}-${randomBytes(8).toString('hex')}`;
      const answer = await this.#call(as, params, { key, signal, isGone: () => connection.isOver, progress });
      const { isError, ...about } = answer;
      return { content: [{ type: 'text' as const, text: shown(about) }], ...(isError ? { isError } : {}), _meta: metaOf(about) };
    });
    return server;
  }

  #toolsOf(client: string): readonly ClientTool[] {
    const { clients, asks, chats } = this.#options;
    const all = clients();
    const settings = Object.hasOwn(all, client) ? all[client] : undefined;
    if (!settings) return [];
    const isReader = settings.chats.length > 0;
    return [
      ...asks.tools,
      ...(isReader ? chats.readers : []),
      ...(isReader && settings.mode !== 'read-only' ? [chats.writer] : []),
    ];
  }

  async #call(
    client: string,
    { name, arguments: args }: { readonly name: string; readonly arguments?: unknown },
    call: Omit<ClientCall, 'client' | 'settings'>,
  ): Promise<ClientAnswer> {
    const { clients, isBlocked, logger } = this.#options;
    const settings = clients()[client];
    const tool = this.#toolsOf(client).find((one) => one.name === name);
    if (!tool || !settings) return { text: `Error: there is no tool ${JSON.stringify(name.slice(0, 64))}`, isError: true };
    const running = this.#calls.get(client) ?? 0;
    if (running >= MOST_CALLS)
      throw Object.assign(new Error(`${MOST_CALLS} calls are under way, which is the most: wait for one to end`), {
        code: RPC.refused,
      });
    this.#calls.set(client, running + 1);
    try {
      if (await isBlocked(client)) throw new CallRefusal('the owner has blocked this client');
      return await tool.call(args, { ...call, client, settings });
    } catch (error) {
      if (error instanceof CallRefusal) return { text: `Error: ${error.message}`, isError: true };
      if (call.signal.aborted) throw error;
      const code = isGatehouseError(error) ? error.code : 'GH1007';
      logger.warn('mcp-clients.call-failed', { client, tool: name, code, detail: errorText(error) });
      return { text: `Error: ${ERROR_CODES[code].title} (${code}). ${ERROR_CODES[code].hint}`, isError: true };
    } finally {
      const left = (this.#calls.get(client) ?? 1) - 1;
      if (left > 0) this.#calls.set(client, left);
      else this.#calls.delete(client);
    }
  }
}

const INSTRUCTIONS =
  'Gatehouse is a personal agent with tools and chats of its own. What it does for you beyond its workspace may need the yes of its owner: then ask gives an id, and result tells later what became of it.';

/** The id is of use to the model of the client only where there is more to come. */
function shown({ text, id, state }: ClientAnswer): string {
  return id === undefined || state === 'answered' ? text : `${text}\nid: ${id}`;
}

function metaOf({ id, state }: ClientAnswer): Record<string, unknown> {
  return { ...(id === undefined ? {} : { 'gatehouse/id': id }), ...(state === undefined ? {} : { 'gatehouse/state': state }) };
}
