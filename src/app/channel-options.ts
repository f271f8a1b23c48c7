/** What channels are made of and what they report to: read by the set of channels and by each of them. */
import { join } from 'node:path';
import type { LoadedConfig } from '../../config/load.ts';
import type { AnyChannelDescriptor, Channel, ChannelHost, ReadSecret, Terminal, Webhooks } from '../core/channel.ts';
import type { Emit } from '../core/events.ts';
import type { Clock, Logger } from '../core/ports.ts';

export type Registry = Readonly<Record<string, () => Promise<AnyChannelDescriptor>>>;

/** Who may talk on a channel, how, and which model answers: what no adapter sees. */
export type ChannelRules = LoadedConfig['config']['gateway']['channels'][number];

export interface ChannelEntry {
  readonly name: string;
  readonly type: string;
  readonly settings: unknown;
  /** Absent where nothing is admitted, as in a trial. */
  readonly rules?: ChannelRules;
}

export interface ChannelSetOptions {
  readonly registry: Registry;
  readonly secret: ReadSecret;
  readonly terminal?: Terminal;
  /** Each instance has a directory of its own below. */
  readonly dataDir: string;
  readonly webhooks: {
    for(instance: string): Webhooks;
    /** Calls for an instance that is being replaced wait for its successor. */
    hold?(instance: string): Disposable;
  };
  readonly clock: Clock;
  /** 0 <= x < 1; for jitter. Default `Math.random`. */
  readonly random?: () => number;
  readonly logger: Logger;
  readonly emit: Emit;
  /** Takes secrets out of what platforms say of themselves. */
  readonly redact: (text: string) => string;
  /** The input of every channel there is has ended. */
  readonly onAllEnded: () => void;
}

export type StartHost = (channel: Channel, report: Pick<ChannelHost, 'health' | 'ended'>) => ChannelHost;

/** What a channel tells the set it is in. */
export interface ChannelListener {
  /** The next one is there. */
  readonly onCreated: (channel: Channel) => void;
  readonly onInputEnded: () => void;
}

/** Where an instance keeps what its platform gave it; names are the operator's and may hold anything. */
export function channelDir(dataDir: string, instance: string): string {
  return join(dataDir, 'channels', encodeURIComponent(instance).replaceAll('.', '%2E'));
}
