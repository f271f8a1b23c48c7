/** What a server has, of what the config lets in. */
import type { McpServerEntry } from '../../../config/sections/mcp.ts';
import type { Clock } from '../../core/ports.ts';
import { McpConnection } from './client.ts';
import { offeredTools, type ServerTool, type SkippedTool } from './offered.ts';
import { type WireOptions, wireFor } from './wire.ts';

export interface Listed {
  readonly tools: readonly ServerTool[];
  readonly skipped: readonly SkippedTool[];
  /** Why there may be more than these. */
  readonly cut?: string;
}

export async function listServer(
  connection: McpConnection,
  server: string,
  { tools: rules }: McpServerEntry,
  signal: AbortSignal,
): Promise<Listed> {
  const { tools: raw, ...cut } = await connection.listTools(signal);
  const { tools, skipped } = offeredTools(server, raw);
  return { tools: tools.filter(({ name }) => isWanted(name, rules)), skipped, ...cut };
}

export interface ProbeOptions extends WireOptions {
  readonly version: string;
  readonly clock: Clock;
}

/** Connects once as the daemon does, lists, and closes. Rejects when the server does not work. */
export async function probe(server: string, entry: McpServerEntry, options: ProbeOptions, signal: AbortSignal): Promise<Listed> {
  const { version, clock } = options;
  await using connection = await McpConnection.open(await wireFor(server, entry, options), {
    ...{ version, clock, signal },
    onListChanged: () => undefined,
    onRefused: () => undefined,
    // Some servers list fewer tools to who cannot be asked.
    asksPeople: entry.elicitation === 'ask',
  });
  return await listServer(connection, server, entry, signal);
}

/** By the names that the server has for its tools. */
function isWanted(name: string, { allow, deny }: McpServerEntry['tools']): boolean {
  const fits = (entry: string): boolean => (entry.endsWith('*') ? name.startsWith(entry.slice(0, -1)) : name === entry);
  return !deny.some(fits) && (allow.length === 0 || allow.some(fits));
}
