/** What plugins bring to the lists of other commands. */
import type { McpServerEntry } from '../../config/sections/mcp.ts';
import { pluginServers } from '../tools/plugins/parts.ts';
import { approvalsOf } from '../tools/plugins/pin.ts';
import { type PluginState, pluginStates } from '../tools/plugins/state.ts';
import { type CommandContext, dataDirOf } from './context.ts';
import { withJournal } from './read-journal.ts';

/** Every plugin of the data directory. */
export async function pluginsHere(context: CommandContext): Promise<readonly PluginState[]> {
  const approvals = await withJournal(context, ({ pins }) => approvalsOf(pins));
  return await pluginStates(dataDirOf(context), approvals ?? new Map());
}

/** The servers of the config, and those of plugins that were approved. */
export async function allServers(
  context: CommandContext,
  { mcp_servers: servers }: { readonly mcp_servers: Readonly<Record<string, McpServerEntry>> },
): Promise<Readonly<Record<string, McpServerEntry>>> {
  return { ...servers, ...pluginServers(await pluginsHere(context)) };
}
