import { readFile } from 'node:fs/promises';
import { isAbsolute } from 'node:path';
import type { LoadedConfig, LoadOptions } from '../../config/load.ts';
import { lastConfigPath, resolveDataDir } from '../../config/paths.ts';
import { formatProblem } from '../../config/problem.ts';
import { GatehouseError } from '../core/errors.ts';
import type { CliDeps } from './deps.ts';
import type { Output } from './output.ts';

export interface GlobalOptions {
  readonly config?: string;
  readonly dataDir?: string;
  readonly verbose?: boolean;
}

/** What every command gets. */
export interface CommandContext {
  readonly deps: CliDeps;
  readonly out: Output;
  readonly globals: GlobalOptions;
}

/** A command: prints through `out`, resolves with the exit code; rejections are printed by the program. */
export type Command<Options> = (context: CommandContext, options: Options) => Promise<number>;

export function dataDirOf({ deps, globals }: CommandContext): string {
  // `--data-dir "$UNSET"` must not end up in the directory of somebody else's daemon.
  if (globals.dataDir === '')
    throw new GatehouseError('GH1001', '--data-dir is empty', { hint: 'name a directory, or leave it out' });
  return resolveDataDir(globals.dataDir, deps);
}

/** Throws GH1001 where a config is named for a command that writes ./.gatehouse/config.json. */
export function mustWriteHere({ globals }: CommandContext, command: string): void {
  if (globals.config === undefined) return;
  throw new GatehouseError('GH1001', `${command} writes ./.gatehouse/config.json, and takes no --config`, {
    hint: 'leave --config out, and move the file afterwards',
  });
}

/** The config file that the daemon of the data directory last ran with; undefined when it never had one. */
export async function lastConfig(context: CommandContext): Promise<string | undefined> {
  const path = await readFile(lastConfigPath(dataDirOf(context)), 'utf8').catch(() => '');
  return isAbsolute(path.trim()) ? path.trim() : undefined;
}

/**
 * Loads the config this invocation means. The caller shows warnings. With `providers`, any other name of one
 * is a problem too.
 */
export async function readConfig(
  context: CommandContext,
  more: Pick<LoadOptions, 'providers' | 'judge' | 'bytes'> = {},
): Promise<LoadedConfig> {
  const { deps, globals } = context;
  const { cwd, home, env, channelTypes, channelSettings, groupIds } = deps;
  // `--config "$UNSET"` would name the current directory.
  if (globals.config === '') throw new GatehouseError('GH1001', '--config is empty', { hint: 'name a file, or leave it out' });
  const file = globals.config === undefined ? { last: await lastConfig(context) } : { file: globals.config };
  // On demand: half the time of a command that reads no config would go into the schema's library.
  const { loadConfig } = await import('../../config/load.ts');
  return await loadConfig({ cwd, home, env, channelTypes, channelSettings, groupIds, ...file, ...more });
}

/**
 * The environment, with the tokens of channels that `gatehouse auth set-key` stored. Rejects as the store
 * does.
 */
export async function envOf(context: CommandContext): Promise<CliDeps['env']> {
  const { openAuthStore } = await import('../lib/auth/store.ts');
  const { withStoredVariables } = await import('../lib/stored-variables.ts');
  await using store = openAuthStore({ dir: dataDirOf(context), clock: context.deps.clock });
  return await withStoredVariables(context.deps.env, store);
}

/** Shows warnings of a config on stderr. */
export function sayWarnings({ out }: CommandContext, loaded: LoadedConfig): void {
  for (const warning of loaded.warnings) out.say(`${out.mark('warn', 'stderr')} ${formatProblem(warning)}`);
}
