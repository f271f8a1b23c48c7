import type { McpServers } from '../../tools/mcp/servers.ts';
import type { Plugins } from '../../tools/plugins/plugins.ts';
import { composeMcp } from './mcp.ts';
import type { Base, DaemonOptions } from './options.ts';
import { composePlugins } from './plugins.ts';
import type { Stores } from './store.ts';

export interface Sources {
  readonly plugins: Plugins;
  readonly mcp: McpServers;
  /** What comes and goes with them. */
  readonly found: Pick<Base, 'sources' | 'pluginHooks'>;
}

/** All that has tools beside the gateway itself. */
export async function composeSources(options: DaemonOptions, stores: Pick<Stores, 'opened' | 'journal'>): Promise<Sources> {
  const plugins = await composePlugins(options, stores);
  const mcp = await composeMcp(options, { ...stores, plugins });
  const found = { sources: () => [...mcp.sources(), ...plugins.sources()], pluginHooks: () => plugins.hooks() };
  return { plugins, mcp, found };
}
