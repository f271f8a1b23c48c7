/** MCP servers and hooks of plugins, as if the config had them: of each only what was approved by itself. */
import { join } from 'node:path';
import type { McpServerEntry } from '../../../config/sections/mcp.ts';
import type { Manifest } from './manifest.ts';
import type { PluginState } from './state.ts';

export interface PluginHook {
  /** `plugins.NAME.hooks[N]`. */
  readonly key: string;
  readonly hook: Manifest['hooks'][number];
}

/**
 * By the plugin's name, `_` and the server's. No server of the config and no plugin has a `_` in its name, so
 * no two have the same.
 */
export function pluginServers(states: readonly PluginState[]): Readonly<Record<string, McpServerEntry>> {
  return Object.fromEntries(
    states.flatMap(({ name, code, approval, home }) =>
      Object.entries(home === undefined ? {} : (code?.manifest.mcp_servers ?? {})).flatMap(([server, entry]) =>
        approval?.servers.has(server) ? [[`${name}_${server}`, placed(entry, home ?? '')] as const] : [],
      ),
    ),
  );
}

/** Where nothing ever is: the program of a hook that must not be run. */
const DAMAGED = '/dev/null/the-copy-is-damaged';

/**
 * As they were approved, until that is taken back. Of a copy that is not whole nothing is run: while the
 * plugin itself still is what was approved, its hooks fail, and their `on_error` decides.
 */
export function pluginHooks(states: readonly PluginState[]): readonly PluginHook[] {
  return states.flatMap(({ name, code, approval, kept }) => {
    const isApproved = approval?.off === false && code?.digest === approval.digest;
    const hooks = kept?.hooks ?? (isApproved ? code?.manifest.hooks : undefined) ?? [];
    return hooks.flatMap((hook, at): readonly PluginHook[] => {
      if (!hook) return [];
      const [program = '', ...args] = hook.command;
      const command = [kept ? join(kept.home, program) : DAMAGED, ...args];
      return approval?.hooks.has(at) ? [{ key: `plugins.${name}.hooks[${at}]`, hook: { ...hook, command } }] : [];
    });
  });
}

/** What is started is the copy that was approved. */
function placed(entry: McpServerEntry, home: string): McpServerEntry {
  return entry.command === undefined ? entry : { ...entry, command: join(home, entry.command) };
}
