import type { LoadedConfig } from '../../config/load.ts';
import type { Emit } from '../core/events.ts';
import type { Journal } from '../core/journal.ts';
import type { ToolKit } from '../core/tool.ts';
import type { Registry } from './channels.ts';
import type { DaemonOptions } from './compose/options.ts';
import type { Ending } from './ending.ts';

export interface Stdio {
  readonly stdin: NodeJS.ReadableStream & { readonly isTTY?: boolean };
  readonly stdout: NodeJS.WritableStream & { readonly isTTY?: boolean; readonly columns?: number };
  readonly stderr: NodeJS.WritableStream & { readonly isTTY?: boolean };
}

export interface RunOptions {
  readonly config: LoadedConfig;
  readonly dataDir: string;
  /** Where stored logins lie. Default: the data directory. */
  readonly loginDir?: string;
  /** Data directory whose spending counts as well. Default: that of `gatehouse chat`. */
  readonly otherLedger?: string;
  readonly stdio: Stdio;
  /** Names the commands in what the terminal is told as they are called there. Default: as they are. */
  readonly nameCommands?: (text: string) => string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly requireModel: boolean;
  readonly verbose: boolean;
  /** Default: `pretty` where stderr is a terminal, else `json`. */
  readonly logFormat?: 'pretty' | 'json';
  /** False: a call of a model that fails is not made again. */
  readonly retries?: boolean;
  /** One message instead of the terminal's input; the ready text is left out. */
  readonly message?: string;
  /** Log warnings only: the person who talks here has no use for the rest. `verbose` wins. */
  readonly quiet?: boolean;
  /** Sees every event of the run. */
  readonly observe?: Emit;
  /**
   * Checks another content of the config file; given together with `config.file`, changes are followed while
   * the daemon runs (F40).
   */
  readonly reload?: (bytes: Uint8Array) => Promise<LoadedConfig>;
  /** How often the config file is looked at. Default: that of `ConfigWatch`. */
  readonly reloadEveryMs?: number;
  /** Tests put in their own channel, a tool, a journal that breaks, or a web of their own. */
  readonly registry?: Registry;
  readonly extraTools?: readonly ToolKit[];
  readonly connector?: DaemonOptions['connector'];
  readonly wrapJournal?: (journal: Journal) => Journal;
  /**
   * Ends it in place of the signals of this process, which it then leaves alone, as it does its stray
   * failures and its memory.
   */
  readonly ending?: Ending;
}
