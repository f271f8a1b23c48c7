import type { Channel, ChannelHealth } from '../core/channel.ts';

export interface ChannelEntry {
  readonly name: string;
  readonly type: string;
  readonly settings: unknown;
}

/** One configured channel, through however many lives. */
export interface Instance {
  readonly entry: ChannelEntry;
  local: boolean;
  /**
   * Undefined while there is none that works: it could not be created, or it broke and the next one is not
   * made yet.
   */
  channel: Channel | undefined;
  /** Why it could not be created, until it is tried again. */
  unborn: unknown;
  /** False: there will be no other one before the next start of the process. */
  renewed: boolean;
  /** Told when `channel` or `renewed` changes. */
  readonly waiters: (() => void)[];
  /** `fail` breaks the one that was created last, once it is started. */
  life: { fail: (error: unknown) => void } | undefined;
  /** The loop that starts it, and starts it again. */
  living: Promise<void> | undefined;
  state: ChannelHealth;
  since: number;
  detail: string | undefined;
  lastMessageAt: number | undefined;
  lastSentAt: number | undefined;
  ended: boolean;
}

export function newInstance(entry: ChannelEntry, since: number): Instance {
  const nothing = { channel: undefined, unborn: undefined, life: undefined, living: undefined, detail: undefined };
  const never = { lastMessageAt: undefined, lastSentAt: undefined };
  const renewal = { renewed: true, waiters: [] };
  return {
    ...nothing,
    ...never,
    ...renewal,
    entry,
    local: false,
    state: 'starting',
    since,
    ended: false,
  };
}

/** Wakes the callers that wait for the next life, or the news that there is none. */
export function tell({ waiters }: Instance): void {
  for (const resolve of waiters.splice(0)) resolve();
}
