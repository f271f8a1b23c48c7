/** What the daemon is built from: read by every file of this folder. */
import type { LoadedConfig } from '../../../config/load.ts';
import type { EventBus } from '../../bus/event-bus.ts';
import type { Terminal } from '../../core/channel.ts';
import type { GatehouseError } from '../../core/errors.ts';
import type { Emit } from '../../core/events.ts';
import type { Journal } from '../../core/journal.ts';
import type { NewPart } from '../../core/outbox.ts';
import type { Clock, Logger } from '../../core/ports.ts';
import type { ToolKit } from '../../core/tool.ts';
import type { ChannelSet, Registry } from '../channels.ts';
import type { ModelStack } from '../model-stack.ts';
import type { Operator } from './operator.ts';

export type Config = LoadedConfig['config'];

export interface DaemonOptions {
  readonly config: Config;
  readonly dataDir: string;
  readonly registry: Registry;
  /** Called once the journal is open: what was spent today is in it. */
  readonly model: (parts: { readonly journal: Journal; readonly emit: Emit; readonly operator: Operator }) => Promise<ModelStack>;
  readonly secret: (variable: string) => string;
  /** Takes every secret given out so far out of a text. Default: nothing is secret. */
  readonly redact?: (text: string) => string;
  readonly terminal?: Terminal;
  readonly clock: Clock;
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
  /** Tools beside the built-in ones. */
  readonly extraTools?: readonly ToolKit[];
  /** Stands between the daemon and its journal; for tests that break it on purpose. */
  readonly wrapJournal?: (journal: Journal) => Journal;
}

/** The keys that take effect while the daemon runs. */
export type HotSettings = Pick<Config['gateway'], 'system_prompt' | 'max_history'> & Pick<Config, 'heartbeat'>;

/** What is built first, and most other parts need. */
export interface Base {
  readonly options: DaemonOptions;
  readonly events: EventBus;
  readonly journal: Journal;
  readonly channels: ChannelSet;
  /** The entries of the config by the name of the channel. */
  readonly entries: ReadonlyMap<string, Config['gateway']['channels'][number]>;
  /** Parts are on disk: delivery may look. */
  readonly onParts: (parts: readonly NewPart[]) => void;
  /** Asked at each turn. */
  readonly hot: () => HotSettings;
}

export function redactOf({ redact }: DaemonOptions): (text: string) => string {
  return redact ?? ((text) => text);
}
