/** The reading side: fetch in order, hand over, then move on. Runs once per connection. */
import type { ChannelHost } from '../../../src/core/channel.ts';
import type { InboundMessage } from '../../../src/core/message.ts';
import { type StoringOptions, storeMessages } from '../../kit/store-messages.ts';
import type { ImapSession } from '../wire/client.ts';
import type { Credentials } from '../wire/credentials.ts';
import { faultWords } from '../wire/failure.ts';
import { bouncedId } from './bounces.ts';
import { advance, counts, firstCursor, type MailCursor, parseCursor, renewed, rescanCursor } from './cursor.ts';
import { type InboundOptions, type MailFacts, refused, toInbound } from './inbound.ts';
import type { ReplyCap } from './reply-cap.ts';

/** Small, so that a crash fetches little again and a batch's texts fit in memory. */
const BATCH = 20;
/**
 * A mail whose fetch ended the connection this often is skipped: it would stop the mailbox for good. One bad
 * stretch of the network counts once, since what is skipped is lost.
 */
const MAX_BROKEN_FETCHES = 5;
const BROKEN_APART_MS = 5 * 60_000;
/** Enough of a mail that is too large to see who wrote it; also the bound of a header section. */
const HEAD_BYTES = 64 * 1024;

export interface ReceiveOptions extends StoringOptions {
  readonly host: ChannelHost;
  readonly pollMs: number;
  readonly maxMessageBytes: number;
  readonly markSeen: boolean;
  readonly inbound: InboundOptions;
  /** Those that the server was shown. */
  readonly credentials: Pick<Credentials, 'redact'>;
  readonly cap: ReplyCap;
  /** The cursor is known and the mailbox open: receiving. */
  readonly onReady: () => void;
  /** A mail of ours came back; by its Message-ID. */
  readonly onBounce: (id: string) => void;
  /** Everything that lay in the mailbox is handled, for now. */
  readonly onDrained: () => void;
}

/**
 * platformId -> how often its fetch failed, and when that last counted (monotonic). It lives longer than one
 * connection, to find the mail that breaks them.
 */
export type BrokenFetches = Map<string, { readonly count: number; readonly at: number }>;

/** Never returns: rejects when the connection ends, or with `signal.reason`. */
export async function receive(session: ImapSession, broken: BrokenFetches, options: ReceiveOptions): Promise<never> {
  const { pollMs, clock, signal } = options;
  let cursor = await settleCursor(session, options);
  options.onReady();
  for (;;) {
    cursor = await drain(session, cursor, broken, options);
    options.onDrained();
    const announced = await session.nextChange(pollMs, clock, signal);
    if (announced) continue;
    await session.reselect();
    if (session.uidValidity !== cursor.uidvalidity)
      throw new Error('the mailbox was replaced by another one (UIDVALIDITY changed)');
  }
}

async function settleCursor(session: ImapSession, options: ReceiveOptions): Promise<MailCursor> {
  const { host, clock, logger } = options;
  const stored = await host.cursor();
  const known = stored === undefined ? undefined : parseCursor(stored);
  if (known?.uidvalidity === session.uidValidity) return known;
  let cursor: MailCursor;
  if (known) {
    cursor = rescanCursor(known, session, clock.now());
    logger.warn('email.uidvalidity-changed', { before: known.uidvalidity, now: session.uidValidity });
  } else {
    cursor = firstCursor(session, clock.now());
    if (stored !== undefined) logger.warn('email.cursor-unreadable', { startsAtUid: cursor.uid + 1 });
  }
  // It is committed at once: else mail that arrives while the daemon is down would again lie before the first
  // start.
  await hand([], cursor, options);
  return cursor;
}

async function drain(
  session: ImapSession,
  from: MailCursor,
  broken: BrokenFetches,
  options: ReceiveOptions,
): Promise<MailCursor> {
  let cursor = from;
  const uids = await session.uidsAfter(cursor.uid);
  for (let start = 0; start < uids.length; start += BATCH) {
    const chunk = uids.slice(start, start + BATCH);
    const facts = await session.facts(chunk, { written: cursor.rescan !== undefined });
    const batch: InboundMessage[] = [];
    // By arrival: a server may number a mail late, or all of them anew in any order. Dates have seconds;
    // within one the UID decides.
    for (const fact of chunk.flatMap((uid) => facts.get(uid) ?? []).sort((a, b) => a.receivedAt - b.receivedAt)) {
      const { uid } = fact;
      if (!counts(cursor, uid, fact.receivedAt)) continue;
      if (!counts(cursor, uid, fact.receivedAt, fact.writtenAt)) {
        options.logger.warn('email.passed-over', { uid, reason: 'written before the last cursor' });
        continue;
      }
      batch.push(await readMail(session, fact, broken, options));
    }
    cursor = advance(cursor, chunk.at(-1) ?? cursor.uid, options.clock.now());
    await hand(batch, cursor, options);
    await markHandled(session, batch, options);
  }
  const fresh = renewed(cursor, options.clock.now());
  if (!fresh) return cursor;
  await hand([], fresh, options);
  return fresh;
}

async function hand(batch: readonly InboundMessage[], cursor: MailCursor, options: ReceiveOptions): Promise<void> {
  await storeMessages(batch, JSON.stringify(cursor), options);
}

async function readMail(
  session: ImapSession,
  fact: MailFacts,
  broken: BrokenFetches,
  { inbound, maxMessageBytes, cap, clock, logger, signal, onBounce }: ReceiveOptions,
): Promise<InboundMessage> {
  const platformId = `${fact.uidValidity}:${fact.uid}`;
  const failures = broken.get(platformId);
  if (failures && failures.count >= MAX_BROKEN_FETCHES) {
    logger.warn('email.unfetchable', { uid: fact.uid });
    return refused(fact, inbound, 'unreadable');
  }
  const tooLarge = fact.size > maxMessageBytes;
  let raw: Buffer | undefined;
  try {
    raw = await session.source(fact.uid, tooLarge ? HEAD_BYTES : maxMessageBytes);
  } catch (error) {
    const at = clock.monotonic();
    // Its size came over this connection a moment before, so the server was there and the mail may have
    // broken it.
    if (!signal.aborted && (!failures || at - failures.at >= BROKEN_APART_MS))
      broken.set(platformId, { count: (failures?.count ?? 0) + 1, at });
    throw error;
  }
  broken.delete(platformId);
  if (!raw) return refused(fact, inbound, 'unreadable');
  const message = await toInbound(raw, fact, inbound, (place) => tooLarge || cap.admit(place));
  if (message.refusal !== undefined) logger.info('email.refused', { uid: fact.uid, reason: message.refusal });
  const bounced = message.refusal === 'automatic-mail' ? await bouncedId(raw, inbound.account) : undefined;
  if (bounced !== undefined) {
    logger.warn('email.undeliverable', { uid: fact.uid, messageId: bounced });
    onBounce(bounced);
  }
  if (!tooLarge || message.refusal !== undefined) return message;
  logger.info('email.refused', { uid: fact.uid, reason: 'too-large', bytes: fact.size });
  return { ...refused(fact, inbound, 'too-large'), chatId: message.chatId, senderId: message.senderId };
}

/**
 * Called only after acceptance, and for people's eyes: never read back. Refused mail stays unread, so that a
 * person sees it.
 */
async function markHandled(
  session: ImapSession,
  batch: readonly InboundMessage[],
  { markSeen, logger, inbound, credentials }: ReceiveOptions,
) {
  const handled = batch.filter(({ refusal }) => refusal === undefined || refusal === 'own-message');
  if (!markSeen || handled.length === 0) return;
  try {
    await session.markSeen(handled.map(({ platformId }) => Number(platformId.split(':')[1])));
  } catch (error) {
    logger.debug('email.not-marked', { account: inbound.account, error: faultWords(error, credentials) });
  }
}
