import type { ZodType } from 'zod';
import type { AwaitCodeOptions, CodeOutcome } from '../app/await-code.ts';
import type { LoginOptions, LogoutOptions } from '../app/login-channel.ts';
import type { RunOptions, Stdio } from '../app/run-options.ts';
import type { TryOptions } from '../app/try-channels.ts';
import type { Journal } from '../core/journal.ts';
import type { Model } from '../core/model.ts';
import type { PairingStore } from '../core/pairing.ts';
import type { People } from '../core/people.ts';
import type { Pins } from '../core/pin.ts';
import type { Clock } from '../core/ports.ts';
import type { ChannelStatus } from '../core/turn.ts';
import type { JournalOptions } from '../journal/open.ts';
import type { ModelTimeouts } from '../llm/deadlines.ts';
import type { ResolvedProvider } from '../llm/providers/resolve.ts';
import type { SimulateOptions, SimulatorInfo } from '../simulator/options.ts';

/** What commands use of the journal. */
export interface OpenJournal {
  readonly journal: Pick<
    Journal,
    | 'dead'
    | 'counts'
    | 'spending'
    | 'spend'
    | 'record'
    | 'waits'
    | 'jobs'
    | 'commit'
    | 'accept'
    | 'prompted'
    | 'unflushed'
    | 'flushed'
    | 'chats'
    | 'tasks'
    | 'room'
  > &
    AsyncDisposable;
  /** As `backupJournal`, to this path. */
  readonly backup: (path: string) => Promise<void>;
  readonly pairing: Pick<PairingStore, 'approve' | 'deny' | 'expect' | 'expectsUntil' | 'list'>;
  readonly people: People;
  readonly pins: Pins;
}

/** Everything commands take from outside, so that they run in a test without a process. */
export interface CliDeps {
  readonly stdio: Stdio;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly cwd: string;
  readonly home: string;
  readonly clock: Clock;
  readonly version: string;
  /** The beginning of a command line that runs this program from any directory, for a person to copy. */
  readonly command: string;
  /** The same for the terminal of this process: `gatehouse` where that is the name of a command. */
  readonly commandHere: string;
  /** Directory with our package.json and config/examples. */
  readonly packageRoot: string;
  readonly channelTypes: readonly string[];
  readonly channelSettings: (type: string) => Promise<ZodType | undefined>;
  /** See `ChannelSchemas.groupIds`. */
  readonly groupIds?: (type: string) => Promise<RegExp | undefined>;
  /** Resolves with the process's exit code once the daemon has stopped. Handles SIGINT and SIGTERM. */
  readonly runGateway: (options: RunOptions) => Promise<number>;
  readonly runChat: (options: RunOptions) => Promise<number>;
  /**
   * The model of one entry of the config by itself: no retry, no fallback, no limit. Connects nothing until
   * it is called.
   */
  readonly createModel: (
    target: ResolvedProvider,
    options: { readonly apiKey: string | undefined; readonly timeouts: ModelTimeouts },
  ) => Promise<Model>;
  /** The key of a provider's stored login in a data directory, if any. Rejects as the store does. */
  readonly storedKey: (dataDir: string, provider: string) => Promise<string | undefined>;
  /** Shows a page in the person's browser, if there is one; does not wait and does not fail. */
  readonly openUrl: (url: string) => void;
  /**
   * Connects the configured channels once, taking nothing. Rejects with GH1003 for a name that is not
   * configured.
   */
  readonly tryChannels: (options: Omit<TryOptions, 'registry'>) => Promise<readonly ChannelStatus[]>;
  /** As `awaitCode` of the app; Ctrl-C stops it. */
  readonly awaitCode: (options: Omit<AwaitCodeOptions, 'registry' | 'stop'>) => Promise<CodeOutcome>;
  /**
   * Links the account of one configured channel. Rejects with GH1003, GH1001 where there is nothing to link,
   * and as the channel does.
   */
  readonly loginChannel: (options: Omit<LoginOptions, 'registry'>) => Promise<void>;
  /** Forgets that login. Resolves to what is left to do at the platform; undefined when there was none. */
  readonly logoutChannel: (options: Omit<LogoutOptions, 'registry'>) => Promise<string | undefined>;
  /**
   * Plays a channel's platform on this machine until a signal; resolves with the exit code. Calls `onReady`
   * once. Rejects with GH1001 for what cannot be simulated and GH1004 when something is missing for it.
   */
  readonly simulate: (options: SimulateOptions, onReady: (about: SimulatorInfo) => void) => Promise<number>;
  /** Plays `gatehouse demo tasks`; `say` takes a line. Resolves with the exit code. */
  readonly demo: (say: (line: string) => void) => Promise<number>;
  /** Opens `<dir>/journal.db`, also while a daemon uses it. Creates it when absent, so readers look first. */
  readonly openJournal: (
    options: Pick<JournalOptions, 'dir' | 'clock' | 'onUpgrade' | 'onProgress' | 'checks' | 'remains'>,
  ) => Promise<OpenJournal>;
}
