/** Mail that no person wrote: answering it starts a loop (attack A5). Pure; RFC 3834 section 2 and the signs senders really use. */
import type { MailHeader } from './mime.ts';

const AUTOMATIC_SENDERS = /^(mailer-daemon|postmaster|no-?reply|do-?not-?reply|bounces?|listserv|majordomo)([+=.-].*)?@/i;

/** The sign that gave it away, for the log; undefined for a mail that a person may have written. */
export function automaticSign(headers: readonly MailHeader[], from: string): string | undefined {
  const first = (name: string) =>
    headers
      .find((header) => header.name === name)
      ?.value.trim()
      .toLowerCase();
  const submitted = first('auto-submitted');
  if (submitted !== undefined && !/^no\b/.test(submitted)) return 'auto-submitted';
  if (/^(bulk|list|junk|auto_reply)\b/.test(first('precedence') ?? '')) return 'precedence';
  for (const name of ['list-id', 'list-unsubscribe', 'x-auto-response-suppress', 'x-autoreply', 'x-autorespond', 'feedback-id']) {
    if (first(name) !== undefined) return name;
  }
  // A bounce has no return path, so that it cannot bounce itself (RFC 5321 section 4.5.5).
  if (first('return-path') === '<>') return 'return-path';
  if ((first('content-type') ?? '').startsWith('multipart/report')) return 'multipart/report';
  return AUTOMATIC_SENDERS.test(from) ? 'sender' : undefined;
}
