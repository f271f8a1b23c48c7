import type { LoadedConfig } from '../../../config/load.ts';
import type { ConfigError } from '../../../config/problem.ts';
import type { CommandContext } from '../context.ts';
import type { DaemonStatus } from '../daemon-status.ts';

/** What every check of `gatehouse doctor` looks at. */
export interface Scene {
  readonly context: CommandContext;
  readonly dataDir: string;
  readonly daemon: DaemonStatus;
  /** Absent where the file cannot be used: then `problem` says why. */
  readonly loaded?: LoadedConfig;
  readonly problem?: ConfigError | Error;
  /** No call to a provider, no connection of a channel. */
  readonly isOffline: boolean;
}

/** `skip` = there is nothing to look at, or it was asked not to. */
export type CheckState = 'ok' | 'warn' | 'bad' | 'skip';

export interface Diagnosis {
  readonly state: CheckState;
  /** One sentence. May hold words of others: it is made printable where it is printed. */
  readonly what: string;
  /** The command or the change that mends it; absent where nothing has to be mended. */
  readonly fix?: string;
  /** What `--fix` does. Resolves to what it did, in words; rejects when it cannot. */
  readonly heal?: () => Promise<string>;
}

/** One line of `gatehouse doctor`. */
export interface Check {
  /** Stable: scripts choose by it. */
  readonly id: string;
  /** What is looked at, for the docs. */
  readonly title: string;
  /** A rejection is a trouble of that check. */
  run(scene: Scene): Promise<Diagnosis>;
}

export const ok = (what: string): Diagnosis => ({ state: 'ok', what });
export const skip = (what: string): Diagnosis => ({ state: 'skip', what });
export const warn = (what: string, fix: string, heal?: () => Promise<string>): Diagnosis => ({
  ...{ state: 'warn', what, fix },
  ...(heal ? { heal } : {}),
});
export const bad = (what: string, fix: string, heal?: () => Promise<string>): Diagnosis => ({
  ...warn(what, fix, heal),
  state: 'bad',
});
