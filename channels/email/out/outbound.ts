/** One part of an answer -> one mail. Pure but for the Markdown parser, which loads at its first use. */
import type { Json, OutboundPart } from '../../../src/core/message.ts';
import type { Mail } from '../wire/smtp.ts';
import { ownMessageId } from '../wire/thread.ts';
import { toHtml } from './format.ts';

export interface OutboundOptions {
  readonly from: { readonly name: string; readonly address: string };
  /** Our own mailbox gets a blind copy: the proof that a mail was sent. */
  readonly blindCopy: boolean;
  /** No HTML part. */
  readonly plain: boolean;
}

/** RFC 5322 section 3.6.4 in the form `replyContext` of inbound.ts keeps it. */
interface ReplyFacts {
  readonly subject: string | undefined;
  readonly inReplyTo: string | undefined;
  readonly references: readonly string[];
}

const REPLY_PREFIX = /^\s*(re|aw|sv|antw|odp|r)\s*(?:\[\d+\]\s*)?:/i;
const MAX_SUBJECT = 200;

/**
 * An answer goes to the author of the mail alone, never to Reply-To or Cc: those are the sender's to choose,
 * and an answer may hold what only the authenticated author may read.
 */
export async function toMail(part: OutboundPart, { from, blindCopy, plain }: OutboundOptions): Promise<Mail> {
  const { file, mail } = part;
  const facts = readReply(mail ? undefined : part.replyContext);
  const files = [...(mail?.files ?? []), ...(file ? [file] : [])];
  return {
    from,
    to: mail?.to ?? [part.chatId],
    ...(mail && mail.cc.length > 0 ? { cc: mail.cc } : {}),
    ...(blindCopy ? { blindCopy: from.address } : {}),
    subject: mail ? mail.subject.slice(0, MAX_SUBJECT) : subjectOf(part, facts.subject),
    messageId: ownMessageId(part, from.address),
    ...(facts.inReplyTo === undefined ? {} : { inReplyTo: facts.inReplyTo }),
    references: facts.references,
    text: part.text,
    ...(plain || part.text === '' ? {} : { html: await toHtml(part.text) }),
    // RFC 3834 section 5: what keeps other responders from answering this one.
    headers: {
      'Auto-Submitted': part.messageId === undefined || part.sentFor ? 'auto-generated' : 'auto-replied',
      'X-Auto-Response-Suppress': 'All',
    },
    ...(files.length === 0 ? {} : { attachments: files.map(({ path, name, mime }) => ({ path, name: safeName(name), mime })) }),
  };
}

function readReply(context: { readonly [key: string]: Json } | undefined): ReplyFacts {
  const { subject, messageId, references } = context ?? {};
  return {
    subject: typeof subject === 'string' ? subject : undefined,
    inReplyTo: typeof messageId === 'string' ? messageId : undefined,
    references: Array.isArray(references) ? references.filter((id) => typeof id === 'string') : [],
  };
}

/** `Re:` once. A mail we start takes its subject from its first line. */
function subjectOf(part: OutboundPart, subject: string | undefined): string {
  if (subject === undefined) {
    const firstLine = part.text.split('\n', 1)[0]?.replace(/^[#>*\s]+/, '') ?? '';
    return (firstLine || part.file?.name || 'Message').slice(0, 78);
  }
  const answered = subject === '' ? '(no subject)' : subject.slice(0, MAX_SUBJECT);
  return REPLY_PREFIX.test(answered) ? answered : `Re: ${answered}`;
}

/** No path, no control characters: the name was chosen by a model or a stranger (attack A23). */
function safeName(name: string): string {
  const base = name.split(/[/\\]/).at(-1) ?? '';
  const clean = base.replace(/[\p{Cc}"<>|:*?]/gu, '_').replace(/^\.+/, '');
  return clean === '' ? 'file' : clean.slice(-150);
}
