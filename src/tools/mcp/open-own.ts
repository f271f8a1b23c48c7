/** A further connection to a server, beside the one that is shared. */
import type { McpServerEntry } from '../../../config/sections/mcp.ts';
import { type ConnectOptions, McpConnection } from './client.ts';
import { listServer } from './look.ts';
import type { ServerTool } from './offered.ts';
import type { Wire } from './transport.ts';

/** As of `McpSourceOptions`. */
export interface OpenOwnOptions extends Omit<ConnectOptions, 'signal' | 'onListChanged'> {
  readonly server: string;
  readonly entry: McpServerEntry;
  readonly wire: () => Promise<Wire>;
}

export interface Own {
  readonly connection: McpConnection;
  /** Whether the server has the tool here as it was approved. */
  has(tool: ServerTool): boolean;
}

/** Opens it and lists its tools once. Rejects when the server cannot be reached; nothing stays open then. */
export async function openOwn({ server, entry, wire, ...options }: OpenOwnOptions, signal: AbortSignal): Promise<Own> {
  const connection = await McpConnection.open(await wire(), { ...options, signal, onListChanged: () => undefined });
  try {
    const { tools } = await listServer(connection, server, entry, signal);
    const digests = new Map(tools.map(({ id, digest }) => [id, digest]));
    return { connection, has: ({ id, digest }) => digests.get(id) === digest };
  } catch (error) {
    await connection[Symbol.asyncDispose]();
    throw error;
  }
}
