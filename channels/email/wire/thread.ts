/** Message-IDs we write and threads we read. Pure. */
import { shortHash } from '../../../src/core/ids.ts';
import type { OutboundPart } from '../../../src/core/message.ts';
import { domainOf } from '../in/authentication.ts';

/** `<gh-KEY.THREAD@domain>`: KEY names the part, THREAD the conversation of an answer to it; `0` = none. */
const OWN_ID = /^<gh-[0-9a-f]{32}\.([0-9a-f]{16}|0)@([^>]+)>$/;
/**
 * Printable ASCII, and short enough to stand behind a field name on one line (998 characters, RFC 5322
 * section 2.1.1).
 */
const MESSAGE_ID = /<[!-;=?-~]{1,900}>/g;

/** The same part always gets the same id: what makes a resend the same mail, and a sent one findable. */
export function ownMessageId(part: Pick<OutboundPart, 'key' | 'threadId'>, fromAddress: string): string {
  // A thread that is not of our making cannot be carried: an answer then opens the thread of this mail.
  const thread = /^[0-9a-f]{16}$/.test(part.threadId ?? '') ? part.threadId : '0';
  return `<gh-${shortHash(part.key, 32)}.${thread}@${domainOf(fromAddress)}>`;
}

/** Undefined when we did not write this id; else the thread it belongs to (absent: a message we started). */
export function readOwnId(id: string, fromAddress: string): { readonly threadId?: string } | undefined {
  const match = OWN_ID.exec(id);
  if (!match || match[2]?.toLowerCase() !== domainOf(fromAddress)) return undefined;
  return match[1] === undefined || match[1] === '0' ? {} : { threadId: match[1] };
}

export function messageIds(value: string | undefined): readonly string[] {
  return value?.match(MESSAGE_ID) ?? [];
}

/**
 * The conversation a mail belongs to: the thread of the newest mail of ours that it names (this survives
 * clients that shorten References), else that of the first mail of the chain. That is hashed, since ids may
 * have 998 characters. A sender can choose it freely; it is only ever looked at within the sender's own chat,
 * so a sender never gets into another's conversation (attack A37).
 */
export function threadOf(chain: readonly string[], ownId: string, fromAddress: string): string | undefined {
  const ours = chain.map((id) => readOwnId(id, fromAddress)).findLast((own) => own !== undefined);
  return ours ? ours.threadId : shortHash(chain[0] ?? ownId);
}
