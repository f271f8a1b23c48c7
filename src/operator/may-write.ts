import type { InboundMessage } from '../core/message.ts';
import type { PairingStore } from '../core/pairing.ts';

/** `*` lists everybody. */
export function isListed(list: readonly string[], id: string): boolean {
  return list.includes('*') || list.includes(id);
}

/** Of the channel that the person is on. */
export interface WriterRules {
  /** The terminal of the owner. */
  readonly local: boolean;
  /** Immutable sender ids, or `*`. */
  readonly allowedSenders: readonly string[];
}

/**
 * Whether a person may write to the agent: not blocked, and listed or paired. For words of theirs that come
 * with the message of another. Rejects when the pairings cannot be read.
 */
export async function mayWrite(
  who: Pick<InboundMessage, 'channel' | 'account' | 'senderId'>,
  rules: WriterRules,
  pairing: Pick<PairingStore, 'isBlocked' | 'decided'>,
): Promise<boolean> {
  if (rules.local) return true;
  if (await pairing.isBlocked(who)) return false;
  return isListed(rules.allowedSenders, who.senderId) || (await pairing.decided(who)) === 'approved';
}
