/** How far the mailbox is read; the host keeps it in the transaction of the mail (reliability 1.1). Pure. */
import { obj, parseObject } from '../../kit/json.ts';

export interface MailCursor {
  /** The UIDs below mean something only while the server says this UIDVALIDITY (RFC 3501 section 2.3.1.1). */
  readonly uidvalidity: string;
  /** Every mail up to here is handled. */
  readonly uid: number;
  /** When this was written, epoch ms: where a rescan begins after UIDVALIDITY changed. */
  readonly at: number;
  /** First start, epoch ms: older mail is never answered. */
  readonly floor: number;
  /** A rescan under way: mail with a UID below `below` counts only if it was received at `since` or later. */
  readonly rescan?: { readonly below: number; readonly since: number };
}

/**
 * A rescan looks a day back: clocks differ, and mail that is not handled yet may have arrived long before the
 * cursor was written.
 */
const RESCAN_MARGIN_MS = 24 * 3_600_000;

export interface MailboxState {
  readonly uidValidity: string;
  readonly uidNext: number;
}

/** The first start answers nothing that already lies in the mailbox. */
export function firstCursor(mailbox: MailboxState, now: number): MailCursor {
  return { uidvalidity: mailbox.uidValidity, uid: mailbox.uidNext - 1, at: now, floor: now };
}

/** All UIDs are new: it begins at the first, and the dates and Message-IDs tell what was handled before. */
export function rescanCursor(before: MailCursor, mailbox: MailboxState, now: number): MailCursor {
  const since = Math.max(before.floor, (before.rescan?.since ?? before.at) - RESCAN_MARGIN_MS);
  return { uidvalidity: mailbox.uidValidity, uid: 0, at: now, floor: before.floor, rescan: { below: mailbox.uidNext, since } };
}

/** The cursor after every mail up to `uid` was handled. */
export function advance({ rescan, ...cursor }: MailCursor, uid: number, now: number): MailCursor {
  const scanning = rescan !== undefined && uid < rescan.below - 1;
  return { ...cursor, uid, at: now, ...(scanning ? { rescan } : {}) };
}

/** Half a day: well within the margin, and seldom enough to cost nothing. */
const RENEW_MS = 12 * 3_600_000;

/**
 * The cursor of a mailbox in which nothing arrived for long, or undefined while it is fresh enough. A rescan
 * from a date that lies further back than the dedup keys reach (30 days) would offer mail of which it is not
 * known whether it was answered.
 */
export function renewed(cursor: MailCursor, now: number): MailCursor | undefined {
  return now - cursor.at >= RENEW_MS ? { ...cursor, at: now } : undefined;
}

/**
 * False for mail that a rescan passes over. Besides the server's date that of the mail itself counts, where
 * it has one: a migration may give all mail the date of the migration. Both are compared in seconds: IMAP's
 * INTERNALDATE has no finer grain.
 */
export function counts(cursor: MailCursor, uid: number, receivedAt: number, writtenAt?: number): boolean {
  const { rescan } = cursor;
  if (rescan === undefined || uid >= rescan.below) return true;
  return Math.min(receivedAt, writtenAt ?? receivedAt) >= Math.floor(rescan.since / 1000) * 1000;
}

/** Undefined for anything that is not a cursor of ours. */
export function parseCursor(text: string): MailCursor | undefined {
  const { uidvalidity, uid, at, floor, rescan } = obj(parseObject(text));
  if (typeof uidvalidity !== 'string' || typeof uid !== 'number' || typeof at !== 'number' || typeof floor !== 'number')
    return undefined;
  const { below, since } = obj(rescan);
  const scanning = typeof below === 'number' && typeof since === 'number';
  return { uidvalidity, uid, at, floor, ...(scanning ? { rescan: { below, since } } : {}) };
}
