import type { InboundMessage, RefusalReason } from '../core/message.ts';
import type { PairingStore } from '../core/pairing.ts';
import type { Clock } from '../core/ports.ts';
import { isEmpty } from '../lib/bare-name.ts';
import type { AddressPattern } from '../lib/guarded-pattern.ts';
import { isListed, type WriterRules } from '../operator/may-write.ts';

/** Who may talk to the agent through one channel. With everything absent, no person may (decision D8). */
export interface AccessRules extends WriterRules {
  /** Immutable chat ids of groups, or `*`. */
  readonly allowedGroups: readonly string[];
  /**
   * In a group: answer only when addressed (`mention`), also where a pattern fits (`pattern`), or everything
   * (`always`).
   */
  readonly groupMode: 'mention' | 'pattern' | 'always';
  /** For `pattern`, and for what is said in voice notes. */
  readonly groupPatterns: readonly AddressPattern[];
  /** Voice notes that nothing else addresses to the agent are transcribed to see whether their words do. */
  readonly groupVoice: boolean;
}

export type AccessDecision =
  | { readonly kind: 'allowed' }
  /** A person who may write says something in a group that is allowed: see `isNamed`. */
  | { readonly kind: 'overheard' }
  /**
   * Such a person corrects a message in such a group, and the new words do not address the agent: of use only
   * if the old ones did.
   */
  | { readonly kind: 'correction' }
  | { readonly kind: 'refused'; readonly reason: RefusalReason }
  /** A stranger in a direct chat: tell them this code once. */
  | { readonly kind: 'pair'; readonly code: string };

/**
 * Decides from immutable ids only (attack A3) and asks for a pairing code only in direct chats: in a group a
 * stranger's words are refused without a reply (A4). Rejects when the pairing store cannot be written.
 */
export async function decideAccess(
  message: InboundMessage,
  rules: AccessRules,
  pairing: PairingStore,
  clock: Clock,
): Promise<AccessDecision> {
  if (message.refusal) return { kind: 'refused', reason: message.refusal };
  // Before all else, whatever they do: the owner's word beats the config, and no one is kept from their
  // terminal.
  if (!rules.local && (await pairing.isBlocked(message))) return { kind: 'refused', reason: 'blocked' };
  if (message.kind === 'message' && isEmpty(message)) return { kind: 'refused', reason: 'empty' };
  // It says nothing and is answered by nothing: all it can do is end a message of the same chat and author
  // that has not begun. Who deleted it, and whether that was addressed to us, many platforms do not tell.
  if (rules.local || message.kind === 'delete') return { kind: 'allowed' };
  if (message.isGroup && !isListed(rules.allowedGroups, message.chatId)) return { kind: 'refused', reason: 'group-not-allowed' };
  if (!isListed(rules.allowedSenders, message.senderId)) {
    const stranger = await decideStranger(message, pairing, clock);
    if (stranger) return stranger;
  }
  if (message.isGroup && !addresses(message, rules)) {
    if (message.kind === 'edit') return { kind: 'correction' };
    const isSpoken = message.kind === 'message' && message.media.some(({ kind }) => kind === 'voice');
    return rules.groupVoice && isSpoken ? { kind: 'overheard' } : { kind: 'refused', reason: 'not-mentioned' };
  }
  return { kind: 'allowed' };
}

/** Longest beginning of a message that patterns are tried on; see `guardedPattern`. UTF-16 units. */
const PATTERN_CHARS = 2_000;

function addresses({ mentionsBot, replyTo, text }: InboundMessage, { groupMode, groupPatterns }: AccessRules): boolean {
  if (groupMode === 'always' || mentionsBot || replyTo?.fromBot) return true;
  return groupMode === 'pattern' && isNamed(text, groupPatterns);
}

/** Whether what a person wrote or said addresses the agent by one of its patterns. */
export function isNamed(words: string, patterns: readonly AddressPattern[]): boolean {
  return patterns.some((pattern) => pattern.test(words.slice(0, PATTERN_CHARS)));
}

/** Undefined when the owner let this person in. A group is no place to hand out codes. */
async function decideStranger(message: InboundMessage, pairing: PairingStore, clock: Clock): Promise<AccessDecision | undefined> {
  const { channel, account, chatId, senderId, senderName, text, isGroup } = message;
  const decided = await pairing.decided({ channel, account, senderId });
  if (decided === 'approved') return undefined;
  if (decided === 'denied') return { kind: 'refused', reason: 'denied' };
  if (isGroup) return { kind: 'refused', reason: 'not-allowed' };
  const request = await pairing.request({ channel, account, chatId, senderId, senderName, text }, clock.now());
  if (request.state === 'full') return { kind: 'refused', reason: 'not-allowed' };
  return request.code === undefined ? { kind: 'refused', reason: 'pairing-required' } : { kind: 'pair', code: request.code };
}
