// mcp_servers before and after -> started, closed, replaced; the others do not notice
import { isDeepStrictEqual } from 'node:util';
import type { KeyChange, Reloadable } from '../core/reload.ts';
import type { McpEntries, McpServers } from '../tools/mcp/servers.ts';
import type { Config } from './compose/options.ts';

const KEY = 'mcp_servers';

/** Servers that come, go and change. One that cannot be reached refuses no change: it is tried again. */
export function mcpPart(servers: Pick<McpServers, 'apply'>): Reloadable<Config> {
  return {
    name: 'mcp',
    keys: [KEY],
    plan: (before, after) => planOf(before.mcp_servers, after.mcp_servers, new Map()),
    prepare: async (before, after) => ({
      use: async () => planOf(before.mcp_servers, after.mcp_servers, await servers.apply(after.mcp_servers)),
      end: async (stands) => {
        if (!stands) await servers.apply(before.mcp_servers);
      },
    }),
  };
}

function planOf(before: McpEntries, after: McpEntries, cut: ReadonlyMap<string, number>): readonly KeyChange[] {
  const names = [...new Set([...Object.keys(before), ...Object.keys(after)])].toSorted();
  return names.flatMap((name): readonly KeyChange[] => {
    const [old, next] = [before[name], after[name]];
    if (isDeepStrictEqual(old, next)) return [];
    const key = `${KEY}.${name}`;
    if (!old) return [{ key, cost: 'live', detail: 'added' }];
    if (!next) return [{ key, cost: 'live', detail: 'removed' }];
    return [{ key, cost: 'restart-part', lost: cut.get(name) ?? 0 }];
  });
}
