import { HookRunner, type HookSettings } from '../../agent/hook-runner.ts';
import type { Hooks } from '../../core/hooks.ts';
import type { Base, Config } from './options.ts';

/** Of the daemon's own environment a hook is given these. */
const PASSED_ON = ['PATH', 'HOME', 'LANG', 'LC_ALL', 'TZ'];

export function composeHooks(base: Base): Hooks {
  const { options, programs } = base;
  const { env = {}, dataDir: cwd, logger } = options;
  return new HookRunner({
    settings: () => hookSettings(base),
    ...{ spawner: programs.operators, cwd, logger },
    env: Object.fromEntries(PASSED_ON.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name] ?? '']]))),
  });
}

/** Of the config and of plugins, as they are now. */
export function hookSettings({ live, pluginHooks }: Pick<Base, 'live' | 'pluginHooks'>): readonly HookSettings[] {
  // Those of the config first: their places are their keys.
  return [...live().hooks.map(settingsOf), ...pluginHooks().map(({ key, hook }) => ({ key, ...settingsOf(hook) }))];
}

function settingsOf(hook: Config['hooks'][number]): HookSettings {
  const { event, command, timeout_ms: timeoutMs, tool_filter: toolFilter, on_error: onError } = hook;
  return { event, command, timeoutMs, toolFilter, onError };
}
