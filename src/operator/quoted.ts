import type { InboundMessage } from '../core/message.ts';
import type { PairingStore } from '../core/pairing.ts';
import { mayWrite, type WriterRules } from './may-write.ts';

/** Of a message that is not shown; without a word of it, or the name of who wrote it. */
const LEFT_OUT = '1 message, left out because its author may not write to you';

/**
 * The message with what an adapter fetched because the agent was called in. Words and files of a person who
 * may not write to the agent stay out, and only that there are some is said (decisions, "Context fetched when
 * called in"); the agent's own come along. Words that come along keep the id of their author, by which an
 * erasure finds them. Rejects when the pairings cannot be read.
 */
export async function withQuoted(message: InboundMessage, rules: WriterRules, pairing: PairingStore): Promise<InboundMessage> {
  const { replyTo } = message;
  if (replyTo?.senderId === undefined) return message;
  const { media = [], text, senderId, authorId: _same, ...rest } = replyTo;
  const { channel, account } = message;
  if (!rest.fromBot && !(await mayWrite({ channel, account, senderId }, rules, pairing))) {
    return { ...message, replyTo: { ...rest, origin: LEFT_OUT } };
  }
  const quoted = { ...rest, ...(text !== undefined && { text, senderId }) };
  return { ...message, media: [...message.media, ...media], replyTo: quoted };
}
