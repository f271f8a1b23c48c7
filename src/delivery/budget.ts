import type { ChannelLimits, Rate } from '../core/channel.ts';
import { chatKey } from '../core/ids.ts';
import type { ChatRef } from '../core/message.ts';
import type { Clock } from '../core/ports.ts';

/** Where something is to be sent; with `isGroup` the rate of groups holds, too. */
export type Place = ChatRef & { readonly isGroup?: boolean };

/** One rate budget per chat, per group and per account, shared by everything that sends there. */
export interface Budget {
  /**
   * Takes a token of the chat (and of the group that it is) and of the account, now or on credit, and says
   * how long to wait before sending (ms). Callers are served in the order they ask. Give it back when the
   * send does not happen.
   */
  reserve(ref: Place, rate: ChannelLimits['rate']): Reservation;
  /** How long the platform has asked this chat and account to be silent, ms; 0 = not at all. */
  closedFor(ref: ChatRef): number;
  /** The platform asked for silence: nothing is sent to the chat, or with the account, for that long. */
  close(scope: 'chat' | 'account', ref: ChatRef, ms: number): void;
  /**
   * Whether a send could go now and half of each bucket would be left: what may be spent on typing. Takes
   * nothing.
   */
  plentiful(ref: Place, rate: ChannelLimits['rate']): boolean;
  /** Takes one of the account's edits of drafts; false when there is none to be had now. */
  takeEdit(ref: ChatRef, rate: ChannelLimits['rate']): boolean;
}

export interface Reservation {
  readonly waitMs: number;
  release(): void;
}

interface Bucket {
  /** Below 0: promised to callers that still wait. */
  tokens: number;
  /** Monotonic ms of the last refill. */
  at: number;
  closedUntil: number;
  rate: Rate | undefined;
}

/** Buckets that are full again are forgotten when there are more than this. */
const SWEEP_ABOVE = 2_048;

export function createBudget(clock: Pick<Clock, 'monotonic'>): Budget {
  const buckets = new Map<string, Bucket>();
  let sweepAt = SWEEP_ABOVE;

  return { reserve, closedFor, close, plentiful, takeEdit };

  function reserve(ref: Place, rate: ChannelLimits['rate']): Reservation {
    const taken = bucketsOf(ref, rate);
    let waitMs = 0;
    for (const one of taken) {
      one.tokens -= 1;
      if (one.rate && one.tokens < 0) waitMs = Math.max(waitMs, (-one.tokens / one.rate.perSecond) * 1_000);
    }
    let released = false;
    return {
      waitMs: Math.ceil(waitMs),
      release() {
        if (released) return;
        released = true;
        for (const one of taken) one.tokens += 1;
      },
    };
  }

  function closedFor(ref: ChatRef): number {
    const until = Math.max(buckets.get(chatKey(ref))?.closedUntil ?? 0, buckets.get(accountKey(ref))?.closedUntil ?? 0);
    return Math.max(0, until - clock.monotonic());
  }

  function close(scope: 'chat' | 'account', ref: ChatRef, ms: number): void {
    const one = bucket(scope === 'chat' ? chatKey(ref) : accountKey(ref));
    one.closedUntil = Math.max(one.closedUntil, clock.monotonic() + ms);
  }

  function plentiful(ref: Place, rate: ChannelLimits['rate']): boolean {
    if (closedFor(ref) > 0) return false;
    return bucketsOf(ref, rate).every((one) => !one.rate || one.tokens >= Math.max(1, one.rate.burst / 2));
  }

  function takeEdit(ref: ChatRef, rate: ChannelLimits['rate']): boolean {
    if (!rate?.edits) return true;
    const edits = limited(editsKey(ref), rate.edits);
    if (edits.tokens < 1) return false;
    edits.tokens -= 1;
    return true;
  }

  function bucketsOf(ref: Place, rate: ChannelLimits['rate']): readonly Bucket[] {
    const group = ref.isGroup && rate?.perGroup ? [limited(groupKey(ref), rate.perGroup)] : [];
    return [limited(chatKey(ref), rate?.perChat), ...group, limited(accountKey(ref), rate?.perAccount)];
  }

  /** With this rate from now on: settings change while the daemon runs. What was spent counts on. */
  function limited(key: string, rate: Rate | undefined): Bucket {
    const one = bucket(key);
    if (one.rate?.burst === rate?.burst && one.rate?.perSecond === rate?.perSecond) return one;
    const full = rate?.burst ?? 0;
    return Object.assign(one, { tokens: one.rate && rate ? Math.min(one.tokens, full) : full, rate });
  }

  function bucket(key: string): Bucket {
    const now = clock.monotonic();
    let one = buckets.get(key);
    if (!one) {
      sweep(now);
      one = { tokens: 0, at: now, closedUntil: 0, rate: undefined };
      buckets.set(key, one);
    }
    refill(one, now);
    return one;
  }

  function sweep(now: number): void {
    if (buckets.size < sweepAt) return;
    for (const [key, one] of buckets) {
      refill(one, now);
      if (one.closedUntil <= now && (!one.rate || one.tokens >= one.rate.burst)) buckets.delete(key);
    }
    sweepAt = Math.max(SWEEP_ABOVE, buckets.size * 2);
  }
}

function refill(one: Bucket, now: number): void {
  if (one.rate) one.tokens = Math.min(one.rate.burst, one.tokens + ((now - one.at) / 1_000) * one.rate.perSecond);
  else one.tokens = 0;
  one.at = now;
}

function groupKey(ref: ChatRef): string {
  return `##${chatKey(ref)}`;
}

function editsKey(ref: ChatRef): string {
  return `###${chatKey({ ...ref, chatId: '' })}`;
}

/** No chat's key begins like this: `#` is escaped there. */
function accountKey(ref: ChatRef): string {
  return `#${chatKey({ ...ref, chatId: '' })}`;
}
