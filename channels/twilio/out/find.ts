/** Was this part sent? Twilio takes no key of ours: recipient, words and time tell (reliability.md 1.2). */
import type { OutboundPart } from '../../../src/core/message.ts';
import type { Clock } from '../../../src/core/ports.ts';
import { CALL_TIMEOUT_MS, withDeadline } from '../../kit/deadline.ts';
import type { MessageList, MessageRecord, TwilioClient } from '../wire/client.ts';
import { withPlainSigns } from './format.ts';
import { toBody } from './outbound.ts';
import { SentLog } from './sent-log.ts';

export interface FindOptions {
  readonly client: Pick<TwilioClient, 'list'>;
  readonly number: string;
  readonly sent: SentLog;
  readonly graceMs: number;
  readonly clock: Clock;
  readonly signal: AbortSignal;
}

const POLL_MS = 2_000;
/** Dates in the list are whole seconds, and an answer takes a moment to tell the platform's time. */
const GRAIN_MS = 5_000;
/** Between our clock and the platform's, where it does not tell its own. */
const SKEW_MS = 120_000;
/** Older parts have expired (gateway.answer_expiry_hours, default 24). */
const LONGEST_MS = 24 * 3_600_000;
const MAX_PAGES = 10;

/**
 * Undefined when it cannot be told: a message of these words went to this person, but nothing says that it
 * was after this part was made. Rejects when the platform does not answer.
 */
export async function find(
  part: OutboundPart,
  options: FindOptions,
): Promise<{ readonly platformId: string } | 'absent' | undefined> {
  const { sent, clock, graceMs, signal } = options;
  const name = SentLog.nameOf(part);
  const known = sent.begunAt(name) ?? receivedAt(part);
  const from = known ?? clock.now() - LONGEST_MS;
  // Delivery's second try is without markup, and the row of the first may be the one in doubt.
  const bodies = new Set([normal(await toBody(part, false)), normal(part.text)]);
  const end = clock.monotonic() + graceMs;
  for (;;) {
    // A status callback came though the answer was lost: proof, and not only likeness.
    const proven = sent.sidOf(name);
    if (proven !== undefined) return { platformId: proven };
    const found = await search(part, { ...options, from, fits: (message) => bodies.has(normal(message.body)), name });
    if (found) return known === undefined ? undefined : { platformId: found };
    if (clock.monotonic() >= end) return 'absent';
    await clock.sleep(POLL_MS, signal);
  }
}

interface Search extends FindOptions {
  readonly from: number;
  readonly fits: (message: MessageRecord) => boolean;
  readonly name: string;
}

/** The oldest that fits: of several with the same words the first belongs to the first part. */
async function search(part: OutboundPart, options: Search): Promise<string | undefined> {
  const { client, number, from, fits, sent, name, clock, signal } = options;
  const call = (run: (inner: AbortSignal) => Promise<MessageList>) => withDeadline({ clock, ms: CALL_TIMEOUT_MS, signal }, run);
  // No filter by date: one that waits in the queue has none yet.
  let page: MessageList | undefined = await call((inner) => client.list({ to: part.chatId, from: number }, inner));
  // A clock that is ahead of the platform's makes its dates look too old.
  const ahead = page.serverTime === undefined ? SKEW_MS : Math.max(0, clock.now() - page.serverTime);
  const earliest = from - ahead - GRAIN_MS;
  let oldest: string | undefined;
  for (let pages = 1; page; pages += 1) {
    let reached: boolean = page.messages.length > 0;
    for (const message of page.messages) {
      if (message.at !== undefined && message.at < earliest) continue;
      reached = false;
      const withFile = message.mediaCount > 0;
      if (message.direction === 'inbound' || withFile !== (part.file !== undefined)) continue;
      if (fits(message) && !sent.isOthers(message.sid, name)) oldest = message.sid;
    }
    const next: MessageList['next'] = reached || pages >= MAX_PAGES ? undefined : page.next;
    page = next && (await call(next));
  }
  return oldest;
}

/** When the message was received that this part answers: nothing can have answered it before. */
function receivedAt(part: OutboundPart): number | undefined {
  const at = part.replyContext?.['receivedAt'];
  return typeof at === 'number' ? at : undefined;
}

/** Twilio trims, a trial account puts a sentence in front, and signs may have become plainer on the way. */
function normal(text: string): string {
  return withPlainSigns(text)
    .replace(/^Sent from your Twilio trial account - /, '')
    .replace(/\r\n?/g, '\n')
    .trim();
}
