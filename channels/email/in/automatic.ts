/**
 * Mail that no person wrote: answering it starts a loop (attack A5). Pure; RFC 3834 section 2 and the signs
 * that senders really use.
 */
import type { MailHeader } from './mime.ts';

const AUTOMATIC_SENDERS =
  /^(mailer-daemon|postmaster|no[._-]?reply|do[._-]?not[._-]?reply|auto[._-]?(reply|respon(se|der))|bounces?|listserv|majordomo)([+=._-].*)?@/i;
const SIGNS = [
  ...['list-id', 'list-post', 'list-unsubscribe', 'x-auto-response-suppress', 'x-autoreply', 'x-auto-reply'],
  ...['x-autorespond', 'x-autoresponder', 'x-mail-autoreply', 'x-loop', 'x-failed-recipients', 'x-ms-exchange-inbox-rules-loop'],
];

/**
 * Senders of many mails name their campaign in `Feedback-ID` (Gmail's Feedback Loop). Some providers name
 * each of their users there, in mails that people write: `12345678:user:proton`, `i56a14606:Fastmail`, and
 * `rr08…:zu08…:rf08…:ZohoMail`, as these stand in mails of people on public lists.
 */
const FEEDBACK_OF_A_PERSON = /^(?:\d+:user:proton|i[\da-f]+:Fastmail|rr\w+:\s*zu\w+:\s*rf\w+:\s*ZohoMail)$/;

/**
 * The sign that gave it away, for the log; undefined for a mail that a person may have written. Each of a
 * repeated field counts.
 */
export function automaticSign(headers: readonly MailHeader[], from: string): string | undefined {
  const has = (name: string, test: RegExp) => headers.some((header) => header.name === name && test.test(header.value.trim()));
  if (has('auto-submitted', /^(?!no\s*($|[;(]))/i)) return 'auto-submitted';
  if (has('precedence', /^(bulk|list|junk|auto_reply)\b/i)) return 'precedence';
  const feedback = headers.filter(({ name }) => name === 'feedback-id');
  if (feedback.some(({ value }) => !FEEDBACK_OF_A_PERSON.test(value.trim()))) return 'feedback-id';
  const sign = SIGNS.find((name) => has(name, /^/));
  if (sign !== undefined) return sign;
  // A bounce has no return path, so that it cannot bounce itself (RFC 5321 section 4.5.5).
  if (has('return-path', /^<\s*>/)) return 'return-path';
  if (has('content-type', /^multipart\/report\b/i)) return 'multipart/report';
  return AUTOMATIC_SENDERS.test(from) ? 'sender' : undefined;
}
