/** What the daemon is built from: read by every file of this folder. */
import type { LoadedConfig } from '../../../config/load.ts';
import type { EventBus } from '../../bus/event-bus.ts';
import type { ReadSecret, Terminal } from '../../core/channel.ts';
import type { GatehouseError } from '../../core/errors.ts';
import type { Emit } from '../../core/events.ts';
import type { Journal } from '../../core/journal.ts';
import type { NewPart } from '../../core/outbox.ts';
import type { Policy } from '../../core/policy.ts';
import type { Clock, Logger } from '../../core/ports.ts';
import type { RunSpawner, Spawner } from '../../core/process.ts';
import type { Reloadable } from '../../core/reload.ts';
import type { SandboxStatus } from '../../core/status.ts';
import type { ToolKit } from '../../core/tool.ts';
import type { ToolSource } from '../../core/tool-source.ts';
import type { Connector } from '../../egress/connect.ts';
import type { Uploads } from '../../media/uploads.ts';
import type { LinkedIds } from '../../operator/linked-ids.ts';
import type { DailyCap } from '../../runs/daily-cap.ts';
import { ownTimezone } from '../../schedule/next.ts';
import type { PluginHook } from '../../tools/plugins/parts.ts';
import type { DiskQuota } from '../../workspace/disk-quota.ts';
import type { ChannelSet, Registry } from '../channels.ts';
import type { ModelStack } from '../model-stack.ts';
import type { Operator } from './operator.ts';

export type Config = LoadedConfig['config'];

export interface DaemonOptions {
  readonly config: Config;
  readonly dataDir: string;
  /** What programs of tools never see. Default: the data directory. */
  readonly hiddenDir?: string;
  readonly registry: Registry;
  /** Called once the journal is open: what was spent today is in it. Again for a changed config. */
  readonly model: (parts: ModelParts) => Promise<ModelStack>;
  readonly secret: ReadSecret;
  /**
   * What programs that are started for tools are given of the environment, without any secret. Default:
   * nothing.
   */
  readonly programEnv?: Readonly<Record<string, string>>;
  /** Takes every secret given out so far out of a text. Default: nothing is secret. */
  readonly redact?: (text: string) => string;
  /** Takes secrets that come while the daemon runs, for `redact` and the log. */
  readonly addSecrets?: (secrets: () => readonly string[]) => void;
  readonly terminal?: Terminal;
  readonly clock: Clock;
  /**
   * What people in conversations mean by a time of day, and the model by today. Default: the zone of this
   * process.
   */
  readonly timezone?: string;
  readonly logger: Logger;
  /** The journal's file can no longer be trusted: the process must end. */
  readonly onFatal: (error: GatehouseError) => void;
  /** All inputs ended (EOF on the only channel). */
  readonly onAllEnded: () => void;
  /**
   * Aborts when the process is asked to end: channels that are still starting give up. The caller closes the
   * daemon.
   */
  readonly stop?: AbortSignal;
  /** Sees every event, beside log and status. */
  readonly observe?: Emit;
  /** Parts around the daemon that take changes of the config. */
  readonly reloadable?: readonly Reloadable<Config>[];
  /** Environment of the process: hooks get parts of it. Default: empty. */
  readonly env?: Readonly<Record<string, string | undefined>>;
  /** Tools beside the built-in ones. */
  readonly extraTools?: readonly ToolKit[];
  /** Stands between tools and the network; for tests, whose web is on this machine. */
  readonly connector?: Connector;
  /** Stands between the daemon and its journal; for tests that break it on purpose. */
  readonly wrapJournal?: (journal: Journal) => Journal;
  /** In place of the config's; for tests that show what it prevents. */
  readonly policy?: Policy;
}

export interface ModelParts {
  readonly config: Config;
  readonly journal: Journal;
  readonly emit: Emit;
  readonly operator: Operator;
  /** The ids of the person that this one is of. */
  readonly linked: (principal: string) => readonly string[];
  /** The one in use, for a changed config: what was spent counts on. */
  readonly before?: ModelStack;
}

/** Keys of section `gateway` that are read at each use, so that a change of them needs nothing else. */
export const LIVE_GATEWAY_KEYS = [
  'owner',
  'max_history',
  'compaction',
  'max_concurrent_sessions',
  'system_prompt',
  'annotate',
  'show_thinking',
  'max_output_tokens',
  'tool_timeout_secs',
  'session_timeout_secs',
  'answer_expiry_hours',
  'queue_mode',
  'auto_escalation',
] as const satisfies readonly (keyof Config['gateway'])[];

/** What may change while the daemon runs; all else is read when a part is built. */
export type LiveConfig = Pick<
  Config,
  | 'max_iterations'
  | 'thinking'
  | 'purposes'
  | 'heartbeat'
  | 'questions'
  | 'hooks'
  | 'mcp_clients'
  | 'disk'
  | 'limits'
  | 'subagents'
  | 'tasks'
  | 'tool_policy'
  | 'tool_policy_by_provider'
  | 'context_filter'
  | 'web'
> & {
  readonly gateway: Pick<Config['gateway'], (typeof LIVE_GATEWAY_KEYS)[number]>;
};

/** What runs programs. */
export interface Programs extends AsyncDisposable {
  /** For programs of ours, beside those of the tools where these have a unit of their own. */
  readonly spawner: Pick<Spawner, 'run'>;
  /** For programs of the operator, which may do what the daemon may. */
  readonly operators: Pick<Spawner, 'run'>;
  /** Undefined = the run has no tools that run programs. */
  of(run: string): RunSpawner | undefined;
  /** Whether there is a browser, and a sandbox that holds it without a directory. */
  readonly hasBrowser: boolean;
  /** Closes something that runs programs before they are ended. */
  closeFirst(part: AsyncDisposable): void;
  /** Undefined = there is no such section in the config. */
  readonly status: SandboxStatus | undefined;
}

/** What is built first, and most other parts need. */
export interface Base {
  readonly options: DaemonOptions;
  readonly events: EventBus;
  readonly journal: Journal;
  readonly channels: ChannelSet;
  readonly uploads: Uploads;
  readonly disk: DiskQuota;
  /** One for all that write to people on the wish of others: they share what a person may get in a day. */
  readonly cap: DailyCap;
  /** Which ids are one person. */
  readonly linked: LinkedIds;
  /** Tools that come and go, to be asked at each use. */
  readonly sources: () => readonly ToolSource[];
  /** Approved hooks of plugins, to be asked at each use. */
  readonly pluginHooks: () => readonly PluginHook[];
  readonly programs: Programs;
  /** Parts are on disk: delivery may look. */
  readonly onParts: (parts: readonly NewPart[]) => void;
  /** To be asked at each use. */
  readonly live: () => LiveConfig;
  /** A change of the config is being taken: what one part has of it another may not have yet. */
  readonly isChanging: () => boolean;
}

export function redactOf({ redact }: DaemonOptions): (text: string) => string {
  return redact ?? ((text) => text);
}

let own: string | undefined;

/** Asked at its first use: to learn the system's own costs a start 4 ms. */
export function timezoneOf({ timezone }: DaemonOptions): string {
  if (timezone !== undefined) return timezone;
  own ??= ownTimezone();
  return own;
}
