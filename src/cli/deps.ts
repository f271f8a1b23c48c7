import type { ZodType } from 'zod';
import type { RunOptions, Stdio } from '../app/run-gateway.ts';
import type { Journal, PairingStore } from '../core/journal.ts';
import type { Clock } from '../core/ports.ts';

/** What commands use of the journal. */
export interface OpenJournal {
  readonly journal: Pick<Journal, 'dead' | 'counts' | 'spending'> & AsyncDisposable;
  readonly pairing: Pick<PairingStore, 'approve' | 'deny' | 'list'>;
}

/** Everything commands take from outside, so that they run in a test without a process. */
export interface CliDeps {
  readonly stdio: Stdio;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly home: string;
  readonly clock: Clock;
  readonly version: string;
  /** Directory with our package.json and config/examples. */
  readonly packageRoot: string;
  readonly channelTypes: readonly string[];
  readonly channelSettings: (type: string) => Promise<ZodType | undefined>;
  /** Resolves with the process's exit code once the daemon has stopped. Handles SIGINT and SIGTERM. */
  readonly runGateway: (options: RunOptions) => Promise<number>;
  readonly runChat: (options: RunOptions) => Promise<number>;
  /** Opens `<dir>/journal.db`, also while a daemon uses it. Creates it when absent, so readers look first. */
  readonly openJournal: (options: { readonly dir: string; readonly clock: Clock }) => Promise<OpenJournal>;
}
