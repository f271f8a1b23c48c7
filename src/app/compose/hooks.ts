import { HookRunner, type HookSettings } from '../../agent/hook-runner.ts';
import type { Hooks } from '../../core/hooks.ts';
import type { Base, Config } from './options.ts';

/** Of the daemon's own environment a hook is given these. */
const PASSED_ON = ['PATH', 'HOME', 'LANG', 'LC_ALL', 'TZ'];

export function composeHooks({ options, programs, live, pluginHooks }: Base): Hooks {
  const { env = {}, dataDir: cwd, logger } = options;
  return new HookRunner({
    // Those of the config first: their places are their keys.
    settings: () => [...live().hooks.map(settingsOf), ...pluginHooks().map(({ key, hook }) => ({ key, ...settingsOf(hook) }))],
    ...{ spawner: programs.operators, cwd, logger },
    env: Object.fromEntries(PASSED_ON.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name] ?? '']]))),
  });
}

function settingsOf(hook: Config['hooks'][number]): HookSettings {
  const { event, command, timeout_ms: timeoutMs, tool_filter: toolFilter, on_error: onError } = hook;
  return { event, command, timeoutMs, toolFilter, onError };
}
