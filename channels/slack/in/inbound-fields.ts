/** What every payload of the platform is read with: who we are, and what ids and times mean. Pure. */

/** Who we are, from `auth.test`. */
export interface Identity {
  readonly userId: string;
  readonly botId: string;
  readonly teamId: string;
}

export interface InboundContext {
  /** Instance name and account of the channel. */
  readonly channel: string;
  readonly account: string;
  readonly me: Identity;
  /** Top-level messages of a channel open a thread of their own. */
  readonly replyInThread: boolean;
  /** Replies in our threads are addressed to us. */
  readonly followThreads: boolean;
  /** Ids of other apps and workflows that may call us. */
  readonly allowedBots: ReadonlySet<string>;
  /** True for a thread that we wrote in. */
  readonly joined: (chatId: string, threadId: string) => boolean;
  /** Epoch ms, for payloads without a time of their own. */
  readonly now: number;
}

/** Seconds since the epoch with six places: the id of a message in its conversation. */
export const TS = /^\d{1,12}\.\d{1,9}$/;

/** Ids of direct conversations with one person begin with D, those of groups and channels with C or G. */
export function isGroup(chatId: string): boolean {
  return !chatId.startsWith('D');
}

/**
 * User ids are unique within a workspace only. People of other workspaces, who write in shared channels, are
 * named with theirs, so that none of them can stand for a person here (reliability.md A3).
 */
export function authorId(user: string | undefined, team: string | undefined, { me }: InboundContext): string | undefined {
  if (user === undefined || user === '') return undefined;
  return team === undefined || team === me.teamId ? user : `${team}:${user}`;
}

/** The thread that a message stands in, or opens. */
export function threadOf(chatId: string, ts: string, threadTs: string | undefined, context: InboundContext): string | undefined {
  // Its own ts marks the parent of a thread, but only in history: when it was pushed, it had no replies yet.
  if (threadTs !== undefined && threadTs !== ts && TS.test(threadTs)) return threadTs;
  return context.replyInThread && isGroup(chatId) ? ts : undefined;
}

/** Epoch ms. */
export function toMs(ts: string): number {
  return Math.floor(Number(ts) * 1_000);
}
