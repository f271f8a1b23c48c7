import { join, resolve } from 'node:path';

export interface PathOptions {
  readonly cwd: string;
  readonly home: string;
  readonly env: Readonly<Record<string, string | undefined>>;
}

/**
 * Where the data lives: `--data-dir`, `$GATEHOUSE_HOME`, `$STATE_DIRECTORY`, `~/.gatehouse`; first set wins.
 * Absolute; nothing is created.
 */
export function resolveDataDir(flag: string | undefined, { cwd, home, env }: PathOptions): string {
  // systemd joins several StateDirectory= entries with colons (systemd.exec(5)); the first is ours.
  const state = env['STATE_DIRECTORY']?.split(':')[0];
  const chosen = [flag, env['GATEHOUSE_HOME'], state].find((path) => path !== undefined && path !== '');
  if (chosen === undefined) return join(home, '.gatehouse');
  return chosen === '~' || chosen.startsWith('~/') ? join(home, chosen.slice(1)) : resolve(cwd, chosen);
}

/** The data directory of `gatehouse chat`, which may run beside the daemon of the one it lies in. */
export function chatDirOf(dataDir: string): string {
  return join(dataDir, 'chat');
}

/**
 * Names the config file that the daemon of this data directory last ran with: one absolute path. Read where
 * no file is found in the places of `configCandidates`, so that a command from another directory means the
 * same bot.
 */
export function lastConfigPath(dataDir: string): string {
  return join(dataDir, 'config-path');
}

/** Config files in the order they are looked for; the first that exists is used alone, nothing is merged. */
export function configCandidates({ cwd, home }: Pick<PathOptions, 'cwd' | 'home'>): readonly string[] {
  return [join(cwd, '.gatehouse', 'config.json'), join(home, '.config', 'gatehouse', 'config.json')];
}
